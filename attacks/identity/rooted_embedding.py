"""Looks for a small rooted graph inside a large one, compiled: its edges must be there, others may be too.

Vertices of the pattern with several neighbours (and the root) make up its core. They are placed in a fixed order,
each next to one that is placed already, so that only neighbours of placed nodes are tried. The leaves of a vertex
are interchangeable: whether there is room for all beside a core is a bipartite matching, and is not searched for.

What is undecided after so many nodes were looked at is said to be so. Such a limit gives the same answer on every
machine, which one on seconds does not.
"""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

from typing import NamedTuple

import numpy as np
from numba import njit

NO, YES, UNDECIDED = 0, 1, 2
FREE, TAKEN = -1, -2
compiled = njit(nogil=True, cache=True, error_model="numpy")


class Graph(NamedTuple):
    """Where each node's neighbours begin [n + 1], and twice the neighbours [2 m]: by id, and highest degree first.

    In the second order they are tried: a node with many links is likelier to have room around it.
    """

    start: np.ndarray
    near: np.ndarray
    tried: np.ndarray


class Pattern(NamedTuple):
    """A rooted graph: its core in the order in which it is placed, the root first.

    Attributes:
        domain: bit i says whether core vertex i may be the node at all, [n].
        begin: where each core vertex's earlier neighbours begin in ``back``, [c + 1].
        back: the core neighbours that come before it.
        leaves: how many leaves each core vertex has, [c].
        within: how many of all vertices are at most 0, 1, 2, ... steps from the root, up to all.
    """

    domain: np.ndarray
    begin: np.ndarray
    back: np.ndarray
    leaves: np.ndarray
    within: np.ndarray


@compiled
def degree(graph, node):
    """Number of neighbours."""
    return graph.start[node + 1] - graph.start[node]


@compiled
def linked(graph, one, other):
    """Whether two nodes are linked: a binary search among the neighbours of the one that has fewer."""
    if degree(graph, one) > degree(graph, other):
        one, other = other, one
    low, high = graph.start[one], graph.start[one + 1]
    while low < high:
        middle = (low + high) // 2
        if graph.near[middle] < other:
            low = middle + 1
        else:
            high = middle
    return low < graph.start[one + 1] and graph.near[low] == other


@compiled
def fits(graph, pattern, image, at, node):
    """Whether core vertex ``at`` may be this node, given where those before it are."""
    if not (pattern.domain[node] >> at) & 1:
        return False
    for placed in image[:at]:
        if placed == node:
            return False
    for j in pattern.back[pattern.begin[at] : pattern.begin[at + 1]]:  # noqa: SIM110  (numba knows no all())
        if not linked(graph, image[j], node):
            return False
    return True


@compiled
def anchor(graph, pattern, image, at):
    """Of the placed neighbours of core vertex ``at`` the node with the fewest neighbours."""
    earlier = pattern.back[pattern.begin[at] : pattern.begin[at + 1]]
    best = image[earlier[0]]
    for j in earlier[1:]:
        if degree(graph, image[j]) < degree(graph, best):
            best = image[j]
    return best


@compiled
def seated(graph, image, owner, vertex, came, through):
    """Finds one more leaf of a core vertex a node, moving others if need be (an augmenting path over vertices)."""
    came[:] = -1
    came[vertex] = vertex
    queue, first, last = np.empty(len(image), np.int64), 0, 1
    queue[0] = vertex
    while first < last:
        one = queue[first]
        first += 1
        for node in graph.near[graph.start[image[one]] : graph.start[image[one] + 1]]:
            if owner[node] == FREE:
                free = node
                while one != vertex:
                    owner[free], free, one = one, through[one], came[one]
                owner[free] = vertex
                return True
            if owner[node] >= 0 and came[owner[node]] < 0:
                came[owner[node]], through[owner[node]] = one, node
                queue[last] = owner[node]
                last += 1
    return False


@compiled
def roomy(graph, pattern, image, owner):
    """Whether all leaves find a place beside the core; ``owner`` is `FREE` everywhere [n], and is so afterwards.

    A core vertex with as many neighbours as the pattern has vertices has room for its leaves in any case.
    """
    came, through = np.empty(len(image), np.int64), np.empty(len(image), np.int64)
    room = True
    for node in image:
        owner[node] = TAKEN
    for i in range(len(image)):
        tight = degree(graph, image[i]) < pattern.within[-1]
        for _ in range(pattern.leaves[i] if tight else 0):
            room = room and seated(graph, image, owner, i, came, through)
    for i in range(len(image)):
        owner[image[i]] = FREE
        if pattern.leaves[i] and degree(graph, image[i]) < pattern.within[-1]:
            for node in graph.near[graph.start[image[i]] : graph.start[image[i] + 1]]:
                owner[node] = FREE
    return room


@compiled
def embedded(graph, pattern, root, limit, owner):
    """Whether the pattern can be laid into the graph with its root on a node: `NO`, `YES` or `UNDECIDED`."""
    core = len(pattern.leaves)
    image, beside, nexts = np.empty(core, np.int64), np.empty(core, np.int64), np.empty(core, np.int64)
    image[0], at, looked, forward = root, 1, 0, True
    while at > 0:
        if at == core:
            looked += pattern.within[-1]
            if roomy(graph, pattern, image, owner):
                return YES
            at, forward = at - 1, False
            continue
        if forward:
            beside[at] = anchor(graph, pattern, image, at)
            nexts[at] = graph.start[beside[at]]
        forward = False
        while nexts[at] < graph.start[beside[at] + 1] and not forward:
            if looked >= limit:
                return UNDECIDED
            node, looked = graph.tried[nexts[at]], looked + 1
            nexts[at] += 1
            if fits(graph, pattern, image, at, node):
                image[at], forward = node, True
        at += 1 if forward else -1
    return NO


@compiled
def spacious(graph, pattern, root, owner):
    """Whether as many nodes are within 0, 1, 2, ... steps of the root as the pattern has vertices there."""
    size = pattern.within[-1]
    seen = np.empty(size, np.int64)
    seen[0], first, last = root, 0, 1
    owner[root] = TAKEN
    for wanted in pattern.within[1:]:
        ring = last
        while first < ring and last < size:
            for node in graph.near[graph.start[seen[first]] : graph.start[seen[first] + 1]]:
                if owner[node] == FREE and last < size:
                    owner[node], seen[last] = TAKEN, node
                    last += 1
            first += 1
        if last < wanted:
            break
    owner[seen[:last]] = FREE
    return last == size


@compiled
def embedded_at(graph, pattern, roots, limit):
    """`embedded` for many roots that the domain allows, [r]."""
    owner = np.full(len(graph.start) - 1, FREE, np.int64)
    found = np.empty(len(roots), np.int8)
    for i, root in enumerate(roots):
        found[i] = NO
        if spacious(graph, pattern, root, owner):
            found[i] = embedded(graph, pattern, root, limit, owner)
    return found

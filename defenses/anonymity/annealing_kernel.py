"""The compiled search of `summaries`."""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

import math
from typing import NamedTuple

import numpy as np

from ...graphs.edge_set import below, bits_at, compiled

TABLE = 1 << 16
"""Logarithms of factorials that are looked up; those of larger numbers are computed."""
FLIP, EXCHANGE, MERGE, SPLIT, RESPLIT = range(5)
SHARES = (0.4, 0.8, 0.9, 0.95)
"""Where the moves begin after the first in [0, 1): how often each is tried."""


class Grouping(NamedTuple):
    """Groups as lists of their nodes, and what counting around two of them needs.

    Attributes:
        start, near: neighbours of each node, ``near[start[v]:start[v + 1]]``.
        group: of each node [n].
        size, head: nodes of each group, and the first of them or -1; there is room for all groups there can be.
        after, before: the next and the previous node of the same group, or -1 [n].
        found, touched: edges to each group and which groups these are, while they are counted.
        moved, origin: the nodes that the move in hand has moved, and from where [n].
        logs: logarithms of factorials.
    """

    start: np.ndarray
    near: np.ndarray
    group: np.ndarray
    size: np.ndarray
    head: np.ndarray
    after: np.ndarray
    before: np.ndarray
    found: np.ndarray
    touched: np.ndarray
    moved: np.ndarray
    origin: np.ndarray
    logs: np.ndarray


@compiled
def grouping(start, near, group, k):
    """Lists of the nodes of each group; ``group`` is changed by the search."""
    n, room = len(group), len(group) // k + 1
    logs = np.zeros(TABLE)
    for x in range(2, TABLE):
        logs[x] = logs[x - 1] + math.log(x)
    g = Grouping(
        start,
        near,
        group,
        np.zeros(room, np.int64),
        np.full(room, -1),
        np.full(n, -1),
        np.full(n, -1),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        logs,
    )
    for v in range(n):
        link(g, v, group[v])
    return g


@compiled
def link(g, v, x):
    """Puts a node that is in no group into one."""
    first = g.head[x]
    g.after[v], g.before[v] = first, -1
    if first >= 0:
        g.before[first] = v
    g.head[x] = v
    g.size[x] += 1
    g.group[v] = x


@compiled
def move(g, v, x):
    """Moves a node to another group."""
    old, left, right = g.group[v], g.before[v], g.after[v]
    if left >= 0:
        g.after[left] = right
    else:
        g.head[old] = right
    if right >= 0:
        g.before[right] = left
    g.size[old] -= 1
    link(g, v, x)


@compiled
def log_factorial(g, x):
    """The logarithm of x!."""
    return g.logs[x] if x < TABLE else math.lgamma(x + 1.0)


@compiled
def log_choices(g, room, number):
    """The logarithm of the number of ways to put edges into a number of places."""
    return log_factorial(g, room) - log_factorial(g, number) - log_factorial(g, room - number)


@compiled
def worlds_at(g, x, without):
    """What the pairs of one group with all groups but one add to the logarithm of the number of worlds."""
    count, total, v = 0, 0.0, g.head[x]
    while v >= 0:
        for place in range(g.start[v], g.start[v + 1]):
            y = g.group[g.near[place]]
            if g.found[y] == 0:
                g.touched[count] = y
                count += 1
            g.found[y] += 1
        v = g.after[v]
    for place in range(count):
        y = g.touched[place]
        if y == x:
            total += log_choices(g, g.size[x] * (g.size[x] - 1) // 2, g.found[y] // 2)
        elif y != without:
            total += log_choices(g, g.size[x] * g.size[y], g.found[y])
        g.found[y] = 0
    return total


@compiled
def deal(g, x, y, wanted, members, seed, place):
    """Deals the first nodes of ``moved`` out at random, ``wanted`` of them to x and the others to y."""
    for i in range(members):
        v = g.moved[i]
        takes = below(bits_at(seed, place), members - i) < wanted
        place += 1
        wanted -= takes
        target = x if takes else y
        if g.group[v] != target:
            move(g, v, target)
    return place


@compiled
def noted(g, x, count):
    """Notes the nodes of a group, so that they can be put back."""
    v = g.head[x]
    while v >= 0:
        g.moved[count], g.origin[count] = v, x
        count += 1
        v = g.after[v]
    return count


@compiled
def partner(g, v, seed, place):
    """A node two steps away, with the ratio of its degree and that of v (the smaller by the larger); else -1."""
    degree = g.start[v + 1] - g.start[v]
    if degree == 0:
        u = below(bits_at(seed, place), len(g.group))
        return u if g.start[u + 1] == g.start[u] else -1
    w = g.near[g.start[v] + below(bits_at(seed, place), degree)]
    u = g.near[g.start[w] + below(bits_at(seed, place + 1), g.start[w + 1] - g.start[w])]
    other = g.start[u + 1] - g.start[u]
    ratio = min(degree, other) / max(degree, other)
    return u if below(bits_at(seed, place + 2), 1 << 30) < ratio * (1 << 30) else -1


@compiled
def empty_group(g, hint):
    """A group without nodes, searched from ``hint`` on."""
    x = hint % len(g.size)
    while g.size[x] > 0:
        x = (x + 1) % len(g.size)
    return x


@compiled
def proposed(g, k, v, u, seed, place):
    """Which move, and between which groups: the kind or -1, and the two groups."""
    x, y, kind, share = g.group[v], g.group[u], 0, below(bits_at(seed, place), 1 << 30) / (1 << 30)
    while kind < len(SHARES) and share >= SHARES[kind]:
        kind += 1
    if kind == SPLIT:
        return (kind, x, empty_group(g, v)) if g.size[x] >= 2 * k else (-1, x, y)
    if x == y or (kind == FLIP and g.size[x] <= k):
        return -1, x, y
    return kind, x, y


@compiled
def carry_out(g, k, kind, v, u, x, y, seed, place):
    """Makes a move and notes how to take it back; returns how many nodes it may have moved."""
    if kind in (FLIP, EXCHANGE):
        other = u
        for _ in range(1 + below(bits_at(seed, place), g.size[y] - 1)):
            other = g.after[other] if g.after[other] >= 0 else g.head[y]
        g.moved[0], g.origin[0], g.moved[1], g.origin[1] = v, x, other, y
        move(g, v, y)
        if kind == EXCHANGE:
            move(g, other, x)
        return 1 + kind
    members = noted(g, x, 0)
    if kind == MERGE:
        for i in range(members):
            move(g, g.moved[i], y)
        return members
    members = noted(g, y, members)
    wanted = k + below(bits_at(seed, place), members - 2 * k + 1)
    deal(g, x, y, wanted, members, seed, place + 1)
    return members


@compiled
def take_back(g, count):
    """Undoes a move."""
    for i in range(count):
        if g.group[g.moved[i]] != g.origin[i]:
            move(g, g.moved[i], g.origin[i])


@compiled
def search(start, near, group, k, steps, hot, cold, seed):
    """Anneals ``group`` in place; returns how many steps it took and how many of them changed something."""
    g, n = grouping(start, near, group, k), len(group)
    place, changes = 0, 0
    for step in range(steps):
        v = below(bits_at(seed, place), n)
        u = partner(g, v, seed, place + 1)
        place += 5
        if u < 0:
            continue
        kind, x, y = proposed(g, k, v, u, seed, place - 1)
        if kind < 0:
            continue
        worlds = worlds_at(g, x, -1) + worlds_at(g, y, x)
        count = carry_out(g, k, kind, v, u, x, y, seed, place)
        place += 1 + (count if kind > MERGE else 0)
        more = worlds_at(g, x, -1) + worlds_at(g, y, x) - worlds
        temperature = hot * (cold / hot) ** (step / steps)
        chance = below(bits_at(seed, place), 1 << 30) / (1 << 30)
        place += 1
        if more > 0 and chance >= math.exp(-more / temperature):
            take_back(g, count)
        else:
            changes += more != 0
    return steps, changes

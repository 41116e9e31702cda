"""A graph for compiled loops whose edges move: neighbours, membership, and whether it is still in one piece.

Edge k has the halves 2 k and 2 k + 1, each of which stands at one of its ends. The halves at a node are a doubly
linked list, so that an edge moves in constant time whatever the degrees, and nothing grows.
"""

# ruff: noqa: ANN001, ANN201, ANN202  (numba infers types from values)
# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from ...graphs.edge_set import EdgeSet, code_of, compiled, contains, edge_set, insert, remove


class DynamicGraph(NamedTuple):
    """The node of each half [2 m], the halves before and after it at that node, and each node's first half [n].

    ``mark`` [n + 1] and ``queue`` [2, n] are scratch of searches; the last mark counts them.
    """

    ends: np.ndarray
    before: np.ndarray
    after: np.ndarray
    first: np.ndarray
    degrees: np.ndarray
    edges: EdgeSet
    mark: np.ndarray
    queue: np.ndarray


@compiled
def living_graph(ends, nodes):
    """The graph of the edges whose ends stand in turn in ``ends`` [2 m] int32, which it takes over."""
    graph = DynamicGraph(
        ends,
        np.full(len(ends), -1, np.int32),
        np.full(len(ends), -1, np.int32),
        np.full(nodes, -1, np.int32),
        np.zeros(nodes, np.int32),
        edge_set(ends, nodes),
        np.zeros(nodes + 1, np.int64),
        np.empty((2, nodes), np.int32),
    )
    for half in range(len(ends)):
        _attach(graph, half, ends[half])
    return graph


@compiled
def _attach(graph, half, node):
    graph.ends[half] = node
    graph.degrees[node] += 1
    graph.before[half], graph.after[half] = -1, graph.first[node]
    if graph.first[node] >= 0:
        graph.before[graph.first[node]] = half
    graph.first[node] = half


@compiled
def _detach(graph, half):
    before, after, node = graph.before[half], graph.after[half], graph.ends[half]
    graph.degrees[node] -= 1
    if before >= 0:
        graph.after[before] = after
    else:
        graph.first[node] = after
    if after >= 0:
        graph.before[after] = before


@compiled
def move(graph, edge, one, other):
    """Lets an edge run between other nodes, which are not linked."""
    remove(graph.edges, code_of(graph.edges, graph.ends[2 * edge], graph.ends[2 * edge + 1]))
    insert(graph.edges, code_of(graph.edges, one, other))
    for half, node in ((2 * edge, one), (2 * edge + 1, other)):
        if graph.ends[half] != node:
            _detach(graph, half)
            _attach(graph, half, node)


@compiled
def linked(graph, one, other):
    """Whether there is an edge between two nodes."""
    return contains(graph.edges, code_of(graph.edges, one, other))


@compiled
def common(graph, one, other):
    """How many neighbours two nodes share; time goes with the smaller degree."""
    if graph.degrees[one] > graph.degrees[other]:
        one, other = other, one
    found, half = 0, graph.first[one]
    while half >= 0:
        found += linked(graph, graph.ends[half ^ 1], other)
        half = graph.after[half]
    return found


@compiled
def joined(graph, one, other):
    """Whether there is a path between two nodes: searches from both, on from the one that saw fewer nodes."""
    nodes = len(graph.first)
    base = graph.mark[nodes] + 2
    graph.mark[nodes] = base
    graph.mark[one], graph.mark[other] = base, base + 1
    graph.queue[0, 0], graph.queue[1, 0] = one, other
    next_one, end_one, next_other, end_other = 0, 1, 0, 1
    while next_one < end_one and next_other < end_other:
        if end_one <= end_other:
            side, at, end = 0, next_one, end_one
            next_one += 1
        else:
            side, at, end = 1, next_other, end_other
            next_other += 1
        half = graph.first[graph.queue[side, at]]
        while half >= 0:
            node = graph.ends[half ^ 1]
            if graph.mark[node] == base + 1 - side:
                return True
            if graph.mark[node] != base + side:
                graph.mark[node] = base + side
                graph.queue[side, end] = node
                end += 1
            half = graph.after[half]
        if side == 0:
            end_one = end
        else:
            end_other = end
    return False

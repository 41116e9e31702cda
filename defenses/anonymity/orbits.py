"""Which nodes of a network automorphisms exchange."""

from collections import defaultdict
from typing import Any

import numpy as np

from ...graphs.network import Ints, Network


def orbits(network: Network) -> Ints:
    """The number of each node's orbit under the automorphisms of a network, types and weights aside, [n].

    BLISS gives generators of the group as lists of all nodes, and thousands of them would only exchange leaves. So
    nodes with the same neighbours become one, and nodes with one neighbour become a mark of it, until nothing of
    either kind is left; what remains, coloured by what has become part of it, is BLISS's.
    """
    rest = _Reduced(network)
    while rest.join_twins() + rest.fold_pendants():
        pass
    found = rest.core_orbits()
    for node, other, mark in reversed(rest.gone):
        found[node] = found[other] if mark is None else (found[other], mark)
    known: dict[Any, int] = {}
    return np.array([known.setdefault(found[node], len(known)) for node in range(network.nodes)], dtype=np.int64)


class _Reduced:
    """What is left of a network, the colours of its nodes, and what has become of the others, in order."""

    def __init__(self, network: Network) -> None:
        near = network.adjacency
        rows = np.split(near.indices, near.indptr[1:-1])[: network.nodes]
        self.near: dict[int, set[int]] = {node: set(row.tolist()) for node, row in enumerate(rows)}
        self.colour = dict.fromkeys(self.near, 0)
        self.gone: list[tuple[int, int, int | None]] = []
        self._numbers: dict[Any, int] = {}

    def join_twins(self) -> int:
        """Joins nodes of one colour with the same neighbours; returns how many are gone."""
        alike, before = defaultdict[Any, list[int]](list), len(self.near)
        for node, own in self.near.items():
            alike[self.colour[node], frozenset(own)].append(node)
        for first, *others in alike.values():
            for other in others:
                self._remove(other, first, None)
            if others:
                self._mark(first, len(others))
        return before - len(self.near)

    def fold_pendants(self) -> int:
        """Lets nodes with one neighbour, which has others, become a mark of it; returns how many are gone."""
        ends = [(node, *own) for node, own in self.near.items() if len(own) == 1]
        marks = defaultdict[int, list[int]](list)
        pendants = [
            (node, other) for node, other in ends if len(self.near[other]) > 1
        ]  # before any of them is gone
        for node, other in pendants:
            marks[other].append(self.colour[node])
            self._remove(node, other, self.colour[node])
        for other, own in marks.items():
            self._mark(other, tuple(sorted(own)))
        return len(pendants)

    def core_orbits(self) -> dict[int, Any]:
        """The orbit of each node that is left."""
        import igraph
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        nodes = {node: place for place, node in enumerate(self.near)}
        count, edges = len(nodes), [(a, b) for a, own in self.near.items() for b in own if a < b]
        graph = igraph.Graph(n=count, edges=[(nodes[a], nodes[b]) for a, b in edges])
        colours = [self.colour[node] for node in nodes]
        moved = np.array(graph.automorphism_group(sh="fl", color=colours), dtype=np.int64).reshape(-1, count)
        one, other = np.broadcast_to(np.arange(count), moved.shape).ravel(), moved.ravel()
        joined = csr_array((np.ones(len(one), dtype=bool), (one, other)), shape=(count, count))
        return dict(zip(nodes, connected_components(joined, directed=False)[1].tolist(), strict=True))

    def _remove(self, node: int, other: int, mark: int | None) -> None:
        for near in self.near.pop(node):
            self.near[near].discard(node)
        self.gone.append((node, other, mark))

    def _mark(self, node: int, mark: Any) -> None:
        """Gives a node a colour of what it was and what has become part of it."""
        self.colour[node] = self._numbers.setdefault((self.colour[node], mark), len(self._numbers) + 1)

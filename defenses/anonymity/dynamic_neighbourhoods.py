"""A network that grows by links, with the class of every node's neighbourhood kept up to date."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from ...graphs.neighbourhoods import canonical_form, digest, digests
from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes

Rank = tuple[int, int, int]
"""Degree, edges between the neighbours, and the node itself: the order in which nodes are dealt with."""


class DynamicNeighbourhoods:
    """Neighbours of each node, which nodes have isomorphic neighbourhoods, and which have too few such others.

    Attributes:
        near: the neighbours of each node.
        open: ranks of the nodes of classes with fewer than k nodes, ascending, as of the last `settle`.
        links: how many were added.
    """

    def __init__(self, network: Network, k: int, rng: np.random.Generator) -> None:
        plain = network.plain()
        self.k, self.links, self._turn = k, 0, rng.random(plain.nodes)
        rows = np.split(plain.adjacency.indices, plain.adjacency.indptr[1:-1])
        self.near: list[set[int]] = [set(row.tolist()) for row in rows][: plain.nodes]
        self.open: list[Rank] = []
        self._open_as: dict[int, Rank] = {}
        self._key: list[int] = digests(plain).tolist()
        self._alike: dict[int, set[int]] = defaultdict(set)
        for node, key in enumerate(self._key):
            self._alike[key].add(node)
        self._changed: set[int] = set()
        self._place(range(plain.nodes))

    def class_of(self, node: int) -> set[int]:
        """The nodes with its neighbourhood, itself among them, as of the last `settle`."""
        return self._alike[self._key[node]]

    def around(self, node: int) -> dict[int, set[int]]:
        """The graph of its neighbours: those of them that each is linked to."""
        own = self.near[node]
        return {one: own & self.near[one] for one in own}

    def rank(self, node: int) -> Rank:
        """Where a node stands in order."""
        return len(self.near[node]), sum(map(len, self.around(node).values())) // 2, node

    def link(self, one: int, other: int) -> None:
        """Adds an edge that is not there; `settle` brings the classes up to date."""
        self._changed |= {one, other} | (self.near[one] & self.near[other])
        self.near[one].add(other)
        self.near[other].add(one)
        self.links += 1

    def settle(self) -> None:
        """Finds the classes of all nodes whose neighbourhood has changed."""
        touched = set(self._changed)
        for node in self._changed:
            old = self.class_of(node)
            old.discard(node)
            self._key[node] = self._key_of(node)
            new = self.class_of(node)
            new.add(node)
            for some in (old, new):
                touched |= some if len(some) <= self.k else set()
        self._changed = set()
        self._place(touched)

    def by_degree(self) -> Ints:
        """All nodes, those with fewest neighbours first, in an order of their own where they have as many."""
        return np.lexsort((self._turn, np.array([len(near) for near in self.near])))

    def pairs(self) -> Ints:
        """Codes of all edges."""
        one = np.repeat(np.arange(len(self.near)), [len(near) for near in self.near])
        other = np.array([node for near in self.near for node in near], dtype=np.int64)
        return codes(one[one < other], other[one < other], len(self.near))

    def _key_of(self, node: int) -> int:
        graph = self.around(node)
        place = {other: number for number, other in enumerate(graph)}
        edges = [(place[one], place[other]) for one, linked in graph.items() for other in linked if one < other]
        return digest(canonical_form(len(place), np.array(edges, dtype=np.int64).reshape(-1, 2)))

    def _place(self, nodes: Iterable[int]) -> None:
        """Puts nodes into the list of open ones, or takes them out."""
        for node in nodes:
            if node in self._open_as:
                del self.open[bisect_left(self.open, self._open_as.pop(node))]
            if len(self.class_of(node)) < self.k:
                self._open_as[node] = self.rank(node)
                insort(self.open, self._open_as[node])

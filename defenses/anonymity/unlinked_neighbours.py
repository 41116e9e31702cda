"""Neighbourhoods without an edge, which are alike as soon as degrees are: edges are removed, few are added."""

from collections.abc import Iterable

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes
from .two_sides import without_triangles


def unlinked(network: Network, k: int, most: int, rng: np.random.Generator) -> Ints:
    """Codes of edges with which no two neighbours of a node are linked, and every degree occurs k times.

    Then a node's neighbours form a graph without an edge, and k nodes have the same. From the largest degree on
    that too few nodes have, nodes of nearly the same degree are brought to their median, by links that close no
    triangle and by removing edges.

    Args:
        network: of n >= k nodes.
        k: nodes that shall be alike.
        most: links that are made; after them edges are only removed, so that it ends: without edges all are alike.
        rng: of what is kept, and of the order of nodes with as many neighbours.

    Returns:
        The edges that are left and those added.
    """
    living = UnlinkedNeighbours(without_triangles(network, rng), k, rng)
    while (degree := living.rare()) is not None:
        members = living.around(degree)
        if living.links < most:
            living.level(members, int(np.median(living.degrees[members])))
        living.lower(members)
    return living.pairs()


class UnlinkedNeighbours:
    """A network without triangles whose degrees are made alike.

    Attributes:
        near: the neighbours of each node.
        degrees: how many these are, [n].
        times: how many nodes have each degree from 0 to n, [n + 1].
        links: those made so far.
    """

    def __init__(self, near: list[set[int]], k: int, rng: np.random.Generator) -> None:
        self.near, self.k, self.links = near, k, 0
        self.degrees: Ints = np.array([len(own) for own in near], dtype=np.int64)
        self.times: Ints = np.bincount(self.degrees, minlength=len(near) + 1)
        self._turn = rng.permutation(len(near))

    def rare(self) -> int | None:
        """The largest degree that some nodes have, and fewer than k; None if there is none."""
        few = np.flatnonzero((self.times > 0) & (self.times < self.k))
        return int(few[-1]) if len(few) else None

    def around(self, degree: int) -> Ints:
        """All nodes of a rare degree, and those of the next lower ones that make them k; of higher ones at the end.

        Of the class that the last are taken from k stay behind, or none.
        """
        order = np.lexsort((self._turn, -self.degrees))
        first = int(np.searchsorted(-self.degrees[order], -degree))
        end = first + self.k
        if end > len(order):
            first, end = self._start(order, len(order) - self.k), len(order)
        return order[first:end]

    def level(self, members: Ints, target: int) -> None:
        """Brings members to a degree, as far as there is anybody to link them to without a triangle."""
        for node in members.tolist():
            while self.degrees[node] > target:
                self.unlink(node, self._spare(node, members, target))
        for node in members.tolist():
            while self.degrees[node] < target:
                other = self._stranger(node, members, target)
                if other is None:
                    break
                self.link(node, other)

    def lower(self, members: Ints) -> None:
        """Removes edges until all members have the same degree."""
        while len(set(self.degrees[members].tolist())) > 1:
            least = int(self.degrees[members].min())
            for node in members.tolist():
                while self.degrees[node] > least:
                    self.unlink(node, self._spare(node, members, least))

    def link(self, one: int, other: int) -> None:
        """Adds an edge that is not there."""
        self.near[one].add(other)
        self.near[other].add(one)
        self.links += 1
        self._move((one, other), 1)

    def unlink(self, one: int, other: int) -> None:
        """Removes an edge."""
        self.near[one].remove(other)
        self.near[other].remove(one)
        self._move((one, other), -1)

    def pairs(self) -> Ints:
        """Codes of all edges, ascending."""
        one = np.repeat(np.arange(len(self.near)), self.degrees)
        other = np.array([node for near in self.near for node in near], dtype=np.int64)
        return np.sort(codes(one[one < other], other[one < other], len(self.near)))

    def _move(self, nodes: Iterable[int], step: int) -> None:
        for node in nodes:
            self.times[self.degrees[node]] -= 1
            self.degrees[node] += step
            self.times[self.degrees[node]] += 1

    def _start(self, order: Ints, first: int) -> int:
        """Where members begin that take some of a class above: k of it stay behind, or it is taken whole."""
        own = np.flatnonzero(self.degrees[order] == self.degrees[order[first]])
        return first if first - own[0] >= self.k else int(own[0])

    def _price(self, step: int) -> Ints:
        """The price of one neighbour more or less, by degree: classes that become too small, [n + 1]."""
        after = np.roll(self.times, -step)
        leaves = (self.times == self.k).astype(np.int64)
        price: Ints = leaves * 2 + (after < self.k)
        return price

    def _order(self, nodes: Ints, members: Ints, target: int, step: int) -> Ints:
        """Nodes by the price of changing them: first members that want it too, last the other members."""
        price = self._price(step)[self.degrees[nodes]]
        own = np.isin(nodes, members)
        wants = own & (np.sign(target - self.degrees[nodes]) == step)
        price[own] = 4
        price[wants] = -1
        return nodes[np.lexsort((self._turn[nodes], self.degrees[nodes], price))]

    def _spare(self, node: int, members: Ints, target: int) -> int:
        """The neighbour that can best spare a node."""
        near = np.fromiter(self.near[node], dtype=np.int64, count=len(self.near[node]))
        return int(self._order(np.sort(near), members, target, -1)[0])

    def _stranger(self, node: int, members: Ints, target: int) -> int | None:
        """The node that can best be linked to another and shares no neighbour with it; None if there is none."""
        near = self.near[node]
        for other in self._order(np.arange(len(self.near)), members, target, 1).tolist():
            if other != node and other not in near and near.isdisjoint(self.near[other]):
                return int(other)
        return None

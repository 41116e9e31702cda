"""Networks with given degrees: from nothing, and by changing the edges of one that is there."""

from collections import defaultdict

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes, ends, listed
from .degree_sequences import is_graphic

MANY = 50
"""With so many times more open nodes than any of them needs, pairs at random rarely meet an edge that is there."""
ROUNDS = 30
"""Times that what is left is paired up at random once more."""
PARTNERS = 20
"""Other nodes that a node which lacks neighbours is paired with at most, to replace an edge by one to each."""


def constructed(degrees: Ints, rng: np.random.Generator) -> Ints:
    """Pairs to link for a simple graph with the given degrees.

    ConstructGraph of Liu and Terzi: nodes in random order are each linked to those with most links left to make,
    which is the construction of Havel and Hakimi.

    Raises:
        ValueError: no simple graph has these degrees.
    """
    import igraph

    count, order = len(degrees), rng.permutation(len(degrees))
    if not is_graphic(degrees):
        raise ValueError("no simple graph has these degrees")
    graph = igraph.Graph.Realize_Degree_Sequence(degrees[order].tolist(), method="index")
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    return codes(order[pairs[:, 0]], order[pairs[:, 1]], count)


def overlapping(pairs: Ints, liked: Ints, nodes: int) -> Ints:
    """Exchanges edges so that more of ``liked`` are among them; all degrees stay (Liu and Terzi's greedy swap).

    For a liked pair a-b that is not linked, edges a-c and b-d that are not liked become a-b and c-d.

    Args:
        pairs: codes of the edges.
        liked: codes of the edges that there should be.
        nodes: n.

    Returns:
        Codes of as many edges.
    """
    near: list[set[int]] = [set() for _ in range(nodes)]
    fond: list[set[int]] = [set() for _ in range(nodes)]
    for coded, sets in ((pairs, near), (liked, fond)):
        for a, b in zip(*(side.tolist() for side in ends(coded, nodes)), strict=True):
            sets[a].add(b)
            sets[b].add(a)
    for a, b in zip(*(side.tolist() for side in ends(np.setdiff1d(liked, pairs), nodes)), strict=True):
        spare = [c for c in sorted(near[a] - fond[a]) if c != b]
        other = [d for d in sorted(near[b] - fond[b]) if d != a]
        four = next(((c, d) for c in spare for d in other if c != d and d not in near[c]), None)
        if four is not None and b not in near[a]:
            _exchange(near, a, b, *four)
    low = np.repeat(np.arange(nodes), [len(s) for s in near])
    high = np.array([b for s in near for b in s], dtype=np.int64)
    return np.unique(codes(low, high, nodes))


def _exchange(near: list[set[int]], a: int, b: int, c: int, d: int) -> None:
    for one, other in ((a, c), (b, d)):
        near[one].discard(other)
        near[other].discard(one)
    for one, other in ((a, b), (c, d)):
        near[one].add(other)
        near[other].add(one)


def nearby(network: Network, wanted: Ints, rng: np.random.Generator) -> Ints:
    """Pairs to link so that degrees are those wanted, as few edges replaced as is easy.

    Priority of Liu and Terzi: it begins with the edges that are there, drops those of nodes with too many, links
    nodes that need neighbours, and puts others between the ends of edges. Where some lack neighbours still, it is
    a new network, whose edges are exchanged for old ones.

    Args:
        network: to change.
        wanted: degrees that some simple graph has, [n].
        rng: of which edges change.

    Returns:
        Codes of the pairs, ascending.

    Raises:
        ValueError: no simple graph has these degrees (seen only where the network cannot be changed so).
    """
    edges, need = EdgeChanges(network), wanted - network.degrees
    _drop(edges, need, rng)
    left = joined(edges, need, rng)
    if not spread(edges, left, edges.codes(), rng):
        return edges.codes()
    return overlapping(constructed(wanted, rng), network.codes, network.nodes)


class EdgeChanges:
    """The edges of a network and the changes that are made to them."""

    def __init__(self, network: Network) -> None:
        self.network, self.nodes = network, network.nodes
        self._start, self._column = network.adjacency.indptr, network.adjacency.indices
        self.more: dict[int, set[int]] = defaultdict(set)
        self.less: dict[int, set[int]] = defaultdict(set)

    def near(self, node: int) -> Ints:
        """The neighbours of a node, and the node itself."""
        old = self._column[self._start[node] : self._start[node + 1]].astype(np.int64)
        if self.less[node]:
            old = np.setdiff1d(old, list(self.less[node]))
        return np.concatenate([old, np.array([node, *sorted(self.more[node])], dtype=np.int64)])

    def add(self, one: int, other: int) -> None:
        _note(one, other, self.more, self.less)

    def remove(self, one: int, other: int) -> None:
        _note(one, other, self.less, self.more)

    def added(self) -> Ints:
        """Codes of new edges, ascending."""
        return self._coded(self.more)

    def codes(self) -> Ints:
        """Codes of all edges, ascending."""
        stays = np.ones(self.network.size, dtype=bool)
        stays[np.searchsorted(self.network.codes, self._coded(self.less))] = False
        return np.sort(np.concatenate([self.network.codes[stays], self.added()]))

    def _coded(self, sets: dict[int, set[int]]) -> Ints:
        pairs = [a * self.nodes + b for a, others in sets.items() for b in others if a < b]
        return np.sort(np.array(pairs, dtype=np.int64))


def joined(edges: EdgeChanges, need: Ints, rng: np.random.Generator) -> dict[int, int]:
    """Links nodes that need neighbours to each other, and returns how many some of them lack in the end.

    The node that needs most is linked to those that need most of the rest, until so many are open that pairs at
    random will do.

    Args:
        edges: to add to.
        need: how many neighbours each node needs, [n]; nothing happens to one that needs none.
        rng: of who is linked to whom.
    """
    need, left = need.copy(), dict[int, int]()
    active, near = rng.permutation(np.flatnonzero(need > 0)), np.zeros(edges.nodes, dtype=bool)
    while len(active):
        place = int(need[active].argmax())
        node, number = int(active[place]), int(need[active[place]])
        if len(active) > MANY * number:
            return left | _at_random(edges, np.repeat(active, need[active]), rng)
        there = edges.near(node)
        near[there] = True
        free = active[~near[active]]
        near[there] = False
        taken = free[np.argsort(-need[free], kind="stable")[:number]]
        for other in taken.tolist():
            edges.add(node, other)
        need[taken] -= 1
        need[node] = 0
        if len(taken) < number:
            left[node] = number - len(taken)
        active = active[need[active] > 0]
    return left


def _at_random(edges: EdgeChanges, open_ends: Ints, rng: np.random.Generator) -> dict[int, int]:
    """Pairs up open ends, each a node that needs one neighbour more, and returns what is left."""
    for _ in range(ROUNDS):
        drawn, half = rng.permutation(open_ends), len(open_ends) // 2
        one, other = drawn[:half], drawn[half : 2 * half]
        good = (one != other) & ~listed(codes(one, other, edges.nodes), edges.network.codes)
        for place in np.flatnonzero(good).tolist():
            a, b = int(one[place]), int(other[place])
            if b in edges.more[a]:
                good[place] = False
            else:
                edges.add(a, b)
        open_ends = np.concatenate([one[~good], other[~good], drawn[2 * half :]])
        if len(open_ends) < 2:
            break
    return {int(node): int(number) for node, number in zip(*np.unique(open_ends, return_counts=True), strict=True)}


def spread(edges: EdgeChanges, left: dict[int, int], pool: Ints, rng: np.random.Generator) -> dict[int, int]:
    """Puts nodes that lack neighbours between the ends of edges of the pool; returns what is lacking still.

    An edge x-y becomes x-u and u-y; of two nodes that lack one each, it becomes x-u and y-v.

    Args:
        edges: to change.
        left: how many neighbours a node lacks.
        pool: codes of edges that may be replaced.
        rng: of which are.
    """
    if not left:
        return left
    left, halves = dict(left), _Halves(rng.permutation(pool), edges.nodes)
    for node in left:
        left[node] -= 2 * halves.put_between(edges, node, node, left[node] // 2)
    open_nodes = [node for node in left if left[node]]
    for place, node in enumerate(open_nodes):
        for other in open_nodes[place + 1 : place + 1 + PARTNERS]:
            done = halves.put_between(edges, node, other, min(left[node], left[other]))
            left[node] -= done
            left[other] -= done
    return {node: number for node, number in left.items() if number}


class _Halves:
    """Edges that may be replaced, each in both directions."""

    def __init__(self, pool: Ints, nodes: int) -> None:
        low, high = ends(pool, nodes)
        self.tail, self.head = np.concatenate([low, high]), np.concatenate([high, low])
        self.there = np.ones(len(self.tail), dtype=bool)

    def put_between(self, edges: EdgeChanges, node: int, other: int, most: int) -> int:
        """Replaces up to ``most`` edges x-y by x-node and y-other; returns how many."""
        if most == 0:
            return 0
        near, far = np.zeros((2, edges.nodes), dtype=bool)
        near[edges.near(node)] = far[edges.near(other)] = True
        near[other] = far[node] = True
        done, half = 0, len(self.tail) // 2
        for place in np.flatnonzero(self.there & ~near[self.tail] & ~far[self.head]).tolist():
            x, y = int(self.tail[place]), int(self.head[place])
            if near[x] or far[y] or (node == other and (near[y] or far[x])) or not self.there[place]:
                continue
            edges.remove(x, y)
            edges.add(x, node)
            edges.add(y, other)
            near[x] = far[y] = True
            self.there[[place, place - half]] = False  # both directions: one is half before or behind the other
            done += 1
            if done == most:
                break
        return done


def _note(one: int, other: int, done: dict[int, set[int]], undone: dict[int, set[int]]) -> None:
    """Takes a pair off the changes of the other kind, or counts it among those of this kind, from both ends."""
    for a, b in ((one, other), (other, one)):
        if b in undone[a]:
            undone[a].discard(b)
        else:
            done[a].add(b)


def _drop(edges: EdgeChanges, need: Ints, rng: np.random.Generator) -> None:
    """Drops edges of nodes with too many, between two of these where possible; ``need`` [n] follows in place."""
    for node in np.argsort(need, kind="stable"):
        if need[node] >= 0:
            continue
        others = rng.permutation(np.setdiff1d(edges.near(int(node)), [node]))
        others = others[np.argsort(np.minimum(need[others], 0), kind="stable")][: -need[node]]
        for other in others.tolist():
            edges.remove(int(node), other)
        need[others] += 1
        need[node] = 0

"""k-degree anonymity: every degree occurs at least k times (Liu and Terzi 2008)."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ..targets.defense import Defense
from ..targets.errors import InputError
from ..targets.network import Ints, Network, Verified
from ..targets.pair_codes import codes, ends
from ..targets.settings import Settings
from .degree_sequences import is_graphic, k_anonymous

PROBES = 30
"""Sequences that are tried at most; each begins with half as many more raised degrees as the one before."""
MANY = 50
"""With so many times more open nodes than any of them needs, pairs at random rarely meet an edge that is there."""
ROUNDS = 30
"""Times that what is left is paired up at random once more."""
PARTNERS = 20
"""Other nodes that a node which lacks neighbours is paired with at most, to replace an edge by one to each."""
Variant = Literal["supergraph", "priority", "construction"]


class KDegreeSettings(Settings):
    """Settings of `KDegree`."""

    k: int = Field(10, ge=1, description="nodes that have each degree, at least")
    variant: Variant = Field(
        "supergraph",
        description="supergraph: keep every edge; priority: reach the nearest degrees and keep most edges; "
        "construction: reach them with new edges",
    )
    deletions: bool = Field(False, description="whether degrees may also shrink (not with 'supergraph')")

    @model_validator(mode="after")
    def _supergraphs_only_grow(self) -> "KDegreeSettings":
        if self.deletions and self.variant == "supergraph":
            raise ValueError(
                "deletions need the variant 'priority' or 'construction': a supergraph keeps every edge"
            )
        return self


class KDegree(Defense):
    """Edits the network until every degree occurs at least k times.

    First the nearest k-anonymous sequence of degrees is computed, then a network that has it:

    - ``supergraph`` adds edges only, between nodes whose degrees must grow. Where these nodes cannot all be linked
      to each other, as happens with hubs that are neighbours already, the rest is linked to nodes of frequent
      degrees, which move to the next degree as far as k stay behind; then more edges are added than the nearest
      sequence asks for, and `verify` says by how many.
    - ``priority`` has exactly the nearest sequence that a graph can have. It begins with the edges that are there,
      drops those that are too many, adds, and exchanges edges where nothing can be added.
    - ``construction`` is a random network with that sequence; it shares edges with the old one by chance only.

    Source:
        Liu and Terzi, "Towards Identity Anonymization on Graphs", SIGMOD 2008: Supergraph, Priority and
        ConstructGraph. Which nodes are linked where several will do is drawn here, and stuck realisations are
        repaired by exchanges instead of restarts.
    """

    name = "k-degree"
    phrase = "with every degree at least k times"
    strength = "k"
    sweep = (2, 5, 10, 20, 50)
    alternative = "random-edit"
    guarantee = (
        "each node shares its degree with at least k - 1 others; who knows more than degrees may tell them apart"
    )
    Settings = KDegreeSettings
    settings: KDegreeSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, plain = np.random.default_rng(seed), network.plain()
        for degrees in _probes(plain.degrees):
            wanted = k_anonymous(degrees, self.settings.k, self.settings.deletions, even=True)
            found = self._realised(plain, wanted, rng)
            if found is not None:
                return network.with_edges(found, rng)
        raise InputError(
            f"no network found in which every degree occurs {self.settings.k} times: choose a smaller k or the "
            "variant 'construction'"
        )

    def verify(self, before: Network, after: Network) -> Verified:
        """Checks the degrees of ``after``; tells which edges were kept, and how near it is to the nearest one."""
        settings, old, new = self.settings, before.plain(), after.plain()
        found = verify_k_degree(after, settings.k)
        kept = int(_listed(old.codes, new.codes).sum())
        least = np.abs(k_anonymous(old.degrees, settings.k, settings.deletions, even=True) - old.degrees).sum()
        changed = np.abs(new.degrees - old.degrees).sum()
        detail = (
            f"{found.detail}; {kept} of {old.size} edges kept, {new.size - kept} added; degrees changed by "
            f"{changed} in all, {least} is the least for an even sum"
        )
        return Verified(found.guarantee, found.holds, detail)

    def _realised(self, network: Network, wanted: Ints, rng: np.random.Generator) -> Ints | None:
        """Pairs that are linked in a network with the wanted degrees, or with others that are as anonymous."""
        if self.settings.variant == "supergraph":
            return _supergraph(network, wanted, self.settings.k, rng)
        if not is_graphic(wanted):
            return None
        if self.settings.variant == "construction":
            return constructed(wanted, rng)
        return _nearby(network, wanted, rng)


def verify_k_degree(network: Network, k: int) -> Verified:
    """Whether every degree of a network occurs at least k times; pairs with several edges count once."""
    degrees, times = np.unique(network.plain().degrees, return_counts=True)
    rarest = int(times.min()) if len(times) else 0
    detail = f"{len(degrees)} degrees, the rarest occurs {rarest} times"
    return Verified(f"every degree occurs at least {k} times", len(times) == 0 or rarest >= k, detail)


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


def _probes(degrees: Ints) -> Iterator[Ints]:
    """The degrees, and then with ever more of the smallest raised by one, up to those of a complete graph.

    Liu and Terzi's probing: what is raised gives other nodes somebody to be linked to.
    """
    raised, extra, most = degrees.copy(), 1, len(degrees) - 1
    for _ in range(PROBES):
        yield raised
        raised = raised.copy()
        for _ in range(-(-extra // max(len(degrees), 1))):
            smallest = np.argsort(raised, kind="stable")[: min(extra, len(degrees))]
            raised[smallest] = np.minimum(raised[smallest] + 1, most)
        extra += 1 + extra // 2


def _supergraph(network: Network, wanted: Ints, k: int, rng: np.random.Generator) -> Ints | None:
    """Adds edges only: None where nodes are left that must have more neighbours than can be found for them."""
    edges = _Edges(network)
    left = _joined(edges, wanted - network.degrees, rng)
    left = _spread(edges, left, edges.added(), rng)
    counts = np.bincount(wanted, minlength=network.nodes + 1)
    degrees = wanted.copy()
    for node in sorted(left, key=lambda u: -left[u]):
        if not _raise_others(edges, node, left[node], degrees, counts, k, rng):
            return None
    return edges.codes()


def _nearby(network: Network, wanted: Ints, rng: np.random.Generator) -> Ints:
    """Exactly the wanted degrees, which a graph has; as few of the edges replaced as is easy."""
    edges, need = _Edges(network), wanted - network.degrees
    _drop(edges, need, rng)
    left = _joined(edges, need, rng)
    if not _spread(edges, left, edges.codes(), rng):
        return edges.codes()
    return overlapping(constructed(wanted, rng), network.codes, network.nodes)


class _Edges:
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
        for a, b in ((one, other), (other, one)):
            if b in self.less[a]:
                self.less[a].discard(b)
            else:
                self.more[a].add(b)

    def remove(self, one: int, other: int) -> None:
        for a, b in ((one, other), (other, one)):
            if b in self.more[a]:
                self.more[a].discard(b)
            else:
                self.less[a].add(b)

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


def _joined(edges: _Edges, need: Ints, rng: np.random.Generator) -> dict[int, int]:
    """Links nodes that need neighbours to each other, and returns how many some of them lack in the end.

    The node that needs most is linked to those that need most of the rest, until so many are open that pairs at
    random will do.
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


def _at_random(edges: _Edges, open_ends: Ints, rng: np.random.Generator) -> dict[int, int]:
    """Pairs up open ends, each a node that needs one neighbour more, and returns what is left."""
    for _ in range(ROUNDS):
        drawn, half = rng.permutation(open_ends), len(open_ends) // 2
        one, other = drawn[:half], drawn[half : 2 * half]
        good = (one != other) & ~_listed(codes(one, other, edges.nodes), edges.network.codes)
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


def _listed(values: Ints, ascending: Ints) -> NDArray[np.bool_]:
    """Which values are among others; on codes of pairs this is several times as fast as ``np.isin``."""
    if len(ascending) == 0:
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[place] == values
    return found


def _spread(edges: _Edges, left: dict[int, int], pool: Ints, rng: np.random.Generator) -> dict[int, int]:
    """Puts nodes that lack neighbours between the ends of edges of the pool; returns what is lacking still.

    An edge x-y becomes x-u and u-y; of two nodes that lack one each, it becomes x-u and y-v.
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

    def put_between(self, edges: _Edges, node: int, other: int, most: int) -> int:
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


def _raise_others(
    edges: _Edges, node: int, number: int, degrees: Ints, counts: Ints, k: int, rng: np.random.Generator
) -> bool:
    """Links a node to others that move to the next degree; False where k would not be left, or reached, there.

    Args:
        edges: to change.
        node: which lacks neighbours.
        number: how many.
        degrees: that nodes shall have [n], changed in place.
        counts: of nodes with each degree, changed in place.
        k: how many nodes share a degree at least.
        rng: of which nodes are taken.
    """
    free = np.ones(edges.nodes, dtype=bool)
    free[edges.near(node)] = False
    known = np.flatnonzero(counts)
    for degree in known[np.argsort(-counts[known], kind="stable")].tolist():
        if number == 0:
            break
        there = rng.permutation(np.flatnonzero(free & (degrees == degree)))
        moved = min(number, len(there))
        if moved < counts[degree]:
            moved = min(moved, int(counts[degree]) - k)
        if moved <= 0 or counts[degree + 1] + moved < k:
            continue
        for other in there[:moved].tolist():
            edges.add(node, other)
        free[there[:moved]] = False
        degrees[there[:moved]] += 1
        counts[degree] -= moved
        counts[degree + 1] += moved
        number -= moved
    return number == 0


def _drop(edges: _Edges, need: Ints, rng: np.random.Generator) -> None:
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

"""Finding one's own nodes again in a published network: a tree of partial embeddings (Backstrom et al. 2007)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes

BUDGET = 1_000_000
AT_ONCE = 2**11
"""Partial embeddings that are extended together."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """What an adversary knows of k nodes of a network.

    Attributes:
        inside: symmetric, which of them are linked, [k, k]; each but the first to an earlier one.
        degrees: theirs in the whole network, [k].

    Raises:
        ValueError: one of them is linked to no earlier one.
    """

    inside: NDArray[np.bool_]
    degrees: Ints

    def __post_init__(self) -> None:
        if not np.triu(self.inside, 1)[:, 1:].any(0).all():
            raise ValueError("a node of the pattern is linked to none before it")

    @classmethod
    def of(cls, network: Network, nodes: Ints) -> "Pattern":
        """Of nodes of a network, [k]."""
        rows = network.adjacency[nodes][:, nodes].toarray()
        return cls(rows.astype(bool), network.plain().degrees[nodes])


@dataclass(frozen=True, eq=False)
class Found:
    """Where a pattern was found.

    Attributes:
        embeddings: published nodes in the order of the pattern, one row for each embedding, [e, k].
        distance: of all of them from the pattern: how many pairs inside differ plus by how much degrees differ.
        visited: partial embeddings that were looked at.
        complete: whether all were; else the budget ran out, and others may be as near or nearer.
    """

    embeddings: Ints
    distance: int
    visited: int
    complete: bool


def find(
    published: Network,
    pattern: Pattern,
    degree_tolerance: int = 0,
    edge_tolerance: int = 0,
    budget: int = BUDGET,
) -> Found:
    """The embeddings of a pattern that are nearest to it, within the tolerances.

    An embedding gives each node of the pattern a published node of its own. Degrees differ by no more than
    ``degree_tolerance`` each; pairs that are linked in one and not in the other, missing links and links too many
    alike, are ``edge_tolerance`` at most. Without tolerance it is the search of Backstrom et al.,
    which finds all embeddings that are induced with equal degrees. With it, the search for the most similar
    subgraphs that Mauw et al. 2019 ("Robust active attacks on social graphs") put in its place; the links of the
    pattern that are left must connect all of its nodes.

    Args:
        published: any network; weights and types are not looked at.
        pattern: of k nodes.
        degree_tolerance: as above.
        edge_tolerance: as above.
        budget: how many partial embeddings to look at.
    """
    tree = _Tree.of(published, pattern, degree_tolerance, edge_tolerance)
    visited = limit = 0
    while True:  # first near the pattern: what is far from it is many times as much, and seldom needed
        found = tree.searched(min(limit, tree.limit), budget - visited)
        visited += found.visited
        if len(found.embeddings) or not found.complete or limit >= tree.limit:
            return replace(found, visited=visited)
        limit = max(1, 2 * limit)


def marks(network: Network, nodes: Ints) -> Ints:
    """For each node of a network the set of ``nodes`` that it is linked to, as bits of one number, [n].

    Args:
        network: of n nodes.
        nodes: at most 63 of them, [k]; their own sets are empty.
    """
    found = np.zeros(network.nodes, dtype=np.int64)
    rows = network.adjacency
    for bit, node in enumerate(nodes):
        found[rows.indices[rows.indptr[node] : rows.indptr[node + 1]]] |= 1 << bit
    found[nodes] = 0
    return found


def marked(published: Network, embedding: Ints, wanted: Ints, tolerant: bool) -> list[Ints]:
    """For each set of pattern nodes the published nodes outside an embedding that are linked to exactly these.

    Args:
        published: the network.
        embedding: the published node of each of the pattern, [k].
        wanted: sets of nodes of the pattern as `marks` has them, not empty, [u].
        tolerant: where there is no such node take those with the most similar sets, if these are nearer to the
            one wanted than the empty set is.

    Returns:
        Ascending published nodes for each set, none where there is none.
    """
    seen = marks(published, embedding)
    linked = np.flatnonzero(seen)
    linked = linked[np.argsort(seen[linked], kind="stable")]
    keys = seen[linked]
    first, last = np.searchsorted(keys, wanted, "left"), np.searchsorted(keys, wanted, "right")
    found = [linked[a:b] for a, b in zip(first, last, strict=True)]
    if tolerant and len(linked):
        bits = _bits(keys, len(embedding))
        for place in np.flatnonzero(first == last):
            own = _bits(wanted[place : place + 1], len(embedding))
            apart = (bits != own).sum(1)
            found[place] = np.sort(linked[apart == min(apart.min(), own.sum() - 1)])
    return found


def _bits(sets: Ints, size: int) -> NDArray[np.bool_]:
    return (sets[:, None] >> np.arange(size) & 1).astype(bool)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Partial embeddings of the same nodes of the pattern, with the same ones to come.

    Attributes:
        rows: positions of published nodes, [f, l].
        mismatches: pairs inside that differ, [f].
        cost: distances from the pattern, [f].
        placed: the nodes of the pattern that the columns are, [l].
        agenda: those to come.
        lost: for a node that was put off the placed ones that it has lost its link to; it waits for others.
        idle: how many were put off since the last one was placed.
    """

    rows: Ints
    mismatches: Ints
    cost: Ints
    placed: tuple[int, ...]
    agenda: tuple[int, ...]
    lost: Mapping[int, frozenset[int]] = field(default_factory=dict)
    idle: int = 0

    def only(self, kept: NDArray[Any]) -> "_Piece":
        """Some of the rows, by mask or position."""
        return replace(self, rows=self.rows[kept], mismatches=self.mismatches[kept], cost=self.cost[kept])

    def parts(self) -> list["_Piece"]:
        """Parts to extend one after the other from the last, which is the nearest to the pattern."""
        far = np.argsort(-self.cost, kind="stable")
        return [self.only(far[begin : begin + AT_ONCE]) for begin in range(0, len(far), AT_ONCE)]


@dataclass(frozen=True, eq=False)
class _Tree:
    """The tree of partial embeddings, over the published nodes whose degree fits a node of the pattern.

    Attributes:
        nodes: these published nodes, ascending, [q]; embeddings hold their positions here.
        graph: the network among them.
        inside: of the pattern, [k, k].
        differs: by how much the degree of a node of the pattern and of a published one differ, [k, q].
        tolerance: of degrees, and of pairs inside.
    """

    nodes: Ints
    graph: Network
    inside: NDArray[np.bool_]
    differs: Ints
    tolerance: tuple[int, int]

    @classmethod
    def of(cls, published: Network, pattern: Pattern, degree: int, edge: int) -> "_Tree":
        plain = published.plain()
        near = np.zeros(int(max(plain.degrees.max(initial=0), pattern.degrees.max())) + degree + 1, dtype=bool)
        for wanted in pattern.degrees:
            near[max(wanted - degree, 0) : wanted + degree + 1] = True
        fits = near[plain.degrees]
        nodes = np.flatnonzero(fits)
        ends = np.searchsorted(nodes, plain.edges[:, fits[plain.edges].all(0)])
        differs = np.abs(plain.degrees[nodes] - pattern.degrees[:, None])
        return cls(nodes, Network(len(nodes), ends), pattern.inside, differs, (degree, edge))

    @property
    def size(self) -> int:
        return len(self.inside)

    @property
    def limit(self) -> int:
        """The largest distance within the tolerances."""
        return self.size * self.tolerance[0] + self.tolerance[1]

    @cached_property
    def coded(self) -> Ints:
        """Codes of the edges, and one behind them all, so that a search ends at one."""
        return np.append(self.graph.codes, np.iinfo(np.int64).max)

    def searched(self, nearest: int, budget: int) -> Found:
        """The nearest embeddings among those no farther away than ``nearest``."""
        best, visited, waiting = np.empty((0, self.size), dtype=np.int64), 0, self.root().parts()
        while waiting and visited < budget:
            piece = waiting.pop()
            piece = piece.only(piece.cost <= nearest)
            visited += len(piece.rows)
            if not len(piece.rows):
                continue
            if piece.agenda:
                waiting += self.put_off(piece, nearest).parts() + self.extended(piece, nearest).parts()
                continue
            closer = int(piece.cost.min())
            kept = best[: len(best) if closer == nearest else 0]
            fresh = piece.rows[piece.cost == closer][:, np.argsort(piece.placed)]
            best, nearest = np.concatenate([kept, fresh]), closer
        return Found(self.nodes[best], nearest, visited, not waiting)

    def root(self) -> _Piece:
        first = np.flatnonzero(self.differs[0] <= self.tolerance[0])
        return _Piece(
            first[:, None], np.zeros_like(first), self.differs[0][first], (0,), tuple(range(1, self.size))
        )

    def put_off(self, piece: _Piece, nearest: int) -> _Piece:
        """The same with the next node later, where it may have lost all links to those that are placed."""
        node, *others = piece.agenda
        lost = frozenset(p for p in piece.placed if self.inside[node, p])
        more = len(lost) - len(piece.lost.get(node, ()))
        mismatches, cost = piece.mismatches + more, piece.cost + more
        good = (mismatches <= self.tolerance[1]) & (cost <= nearest) & (piece.idle < len(others))
        later = replace(
            piece,
            mismatches=mismatches,
            cost=cost,
            agenda=(*others, node),
            lost={**piece.lost, node: lost},
            idle=piece.idle + 1,
        )
        return later.only(good)

    def extended(self, piece: _Piece, nearest: int) -> _Piece:
        """All partial embeddings that are one node longer and no farther away than ``nearest``."""
        new, lost = piece.agenda[0], piece.lost.get(piece.agenda[0], frozenset())
        row, node = self._next(piece, new, lost)
        fits = self.differs[new][node] <= self.tolerance[0]
        row, node = row[fits], node[fits]
        before, gone = piece.rows[row], np.array([p in lost for p in piece.placed])
        linked = self._linked(before, node)
        wrong = (linked != self.inside[new, piece.placed])[:, ~gone].sum(1)  # lost links are counted already
        mismatches, cost = piece.mismatches[row] + wrong, piece.cost[row] + wrong + self.differs[new][node]
        unused = (before != node[:, None]).all(1) & ~linked[:, gone].any(1)
        longer = replace(
            piece,
            rows=np.column_stack([before, node]),
            mismatches=mismatches,
            cost=cost,
            placed=(*piece.placed, new),
            agenda=piece.agenda[1:],
            idle=0,
        )
        return longer.only(unused & (mismatches <= self.tolerance[1]) & (cost <= nearest))

    def _next(self, piece: _Piece, new: int, lost: frozenset[int]) -> tuple[Ints, Ints]:
        """Places that a node of the pattern can have, by row: neighbours of the nodes that it is linked to.

        Where t links may be missing it is enough to look at the neighbours of t + 1 of these nodes.
        """
        start, ends = self.graph.adjacency.indptr, self.graph.adjacency.indices
        parents = [place for place, p in enumerate(piece.placed) if self.inside[new, p] and p not in lost]
        parent = piece.rows[:, parents[: self.tolerance[1] + 1]]
        many = (start[parent + 1] - start[parent]).ravel()
        first = np.repeat(start[parent].ravel() - np.cumsum(many) + many, many)
        row = np.repeat(np.repeat(np.arange(len(parent)), parent.shape[1]), many)
        node = ends[first + np.arange(len(first))].astype(np.int64)
        if parent.shape[1] == 1:
            return row, node
        found = np.sort(row * self.graph.nodes + node)  # sorting is much faster than numpy's hashing `unique`
        found = found[np.flatnonzero(np.diff(found, prepend=-1))]
        return found // max(self.graph.nodes, 1), found % max(self.graph.nodes, 1)

    def _linked(self, rows: Ints, node: Ints) -> NDArray[np.bool_]:
        """Whether each node [f] is linked to each of its row, [f, l]."""
        asked = codes(rows, node[:, None], self.graph.nodes)
        found: NDArray[np.bool_] = self.coded[np.searchsorted(self.coded, asked)] == asked
        return found

"""Random graphs with given degrees and given numbers of edges between classes of nodes."""

from collections import Counter

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes, distinct, ends
from ..degrees.degree_realisation import EdgeChanges, joined, spread

TRIES = 200
"""Edges to switch with that are drawn for one that is a loop or there twice."""
PASSES = 5


def with_joint_degrees(degrees: Ints, target: Ints, rng: np.random.Generator) -> Network:
    """A random simple graph with these degrees and, where that can be done, these numbers of edges between classes.

    Edge ends of each class are dealt out at random to the edges that the class shall have. Loops and edges that
    are there twice are switched with others, which keeps degrees and numbers. Where some cannot be and every class
    has one degree, networkx constructs a graph, if there is one (Gjoka, Tillman and Markopoulou 2015). Else they
    are left out, and their ends linked to whatever gives the degrees (`deviation` counts what that changes).

    Args:
        degrees: of each node, [n].
        target: numbers of edges between classes, of which each has as many ends as its nodes' degrees say, [c, c]
            upper triangular. Class i has the degree i + 1, the last one also larger degrees.
        rng: of the draws.
    """
    nodes, classes = len(degrees), np.minimum(degrees, len(target)) - 1
    dealt = _Dealt(*_dealt(degrees, classes, target, rng), classes)
    if dealt.straighten(rng):
        return _network(nodes, dealt.one, dealt.other)
    if (degrees <= len(target)).all() and (found := _constructed(degrees, target, rng)) is not None:
        return found
    good = dealt.one != dealt.other
    made = _network(nodes, dealt.one[good], dealt.other[good])
    changed = EdgeChanges(made)
    left = joined(changed, degrees - made.degrees, rng)
    spread(changed, left, changed.codes(), rng)
    return Network(nodes, np.stack(ends(changed.codes(), nodes)))


def deviation(found: Ints, target: Ints) -> int:
    """How many edges lie in a cell too many, or are missing in one, whichever are more."""
    change = found - target
    return int(max(np.maximum(change, 0).sum(), np.maximum(-change, 0).sum()))


def _network(nodes: int, one: Ints, other: Ints) -> Network:
    return Network(nodes, np.stack(ends(distinct(codes(one, other, nodes)), nodes)))


def _dealt(degrees: Ints, classes: Ints, target: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Ends of edges, so many between classes as there shall be; some are loops, and some are there twice."""
    rows, columns = np.nonzero(target)
    wanted = target[rows, columns]
    slots = np.concatenate([np.repeat(rows, wanted), np.repeat(columns, wanted)])
    given = rng.permutation(np.repeat(np.arange(len(degrees)), degrees))
    dealt = np.empty_like(slots)
    dealt[np.argsort(slots, kind="stable")] = given[np.argsort(classes[given], kind="stable")]
    return dealt[: len(slots) // 2], dealt[len(slots) // 2 :]


class _Dealt:
    """Edges, among them loops and some twice, and switches that keep degrees and numbers between classes."""

    def __init__(self, one: Ints, other: Ints, classes: Ints) -> None:
        self.one, self.other, self.nodes = one, other, len(classes)
        self.classes = classes
        ends_at = np.concatenate([one, other])
        order = np.argsort(classes[ends_at], kind="stable")
        self.places = order  # ends by class: place p is the first end of edge p, or the second of edge p - m
        self.starts = np.searchsorted(classes[ends_at][order], np.arange(classes.max(initial=0) + 2))
        self.there = Counter(codes(one, other, self.nodes).tolist())

    def straighten(self, rng: np.random.Generator) -> bool:
        """Switches loops and repeated edges away; returns whether none is left."""
        for _ in range(PASSES):
            for edge in self._bad():
                self._switched(edge, rng)
        return not self._bad()

    def _bad(self) -> list[int]:
        """Loops, and edges that are there twice but for the first of them."""
        coded = codes(self.one, self.other, self.nodes)
        first = np.zeros(len(coded), dtype=bool)
        first[np.unique(coded, return_index=True)[1]] = True
        bad: list[int] = np.flatnonzero(~first | (self.one == self.other)).tolist()
        return bad

    def _switched(self, edge: int, rng: np.random.Generator) -> bool:
        """u-v and x-y become u-y and x-v, where v and y are of one class; no new edge was there."""
        size = len(self.one)
        u, v = int(self.one[edge]), int(self.other[edge])
        if rng.random() < 0.5:
            u, v = v, u
        kind = int(self.classes[v])
        drawn = self.places[rng.integers(self.starts[kind], self.starts[kind + 1], size=TRIES)]
        for place in drawn.tolist():
            second, at = place >= size, place % size
            y, x = (self.other[at], self.one[at]) if second else (self.one[at], self.other[at])
            new = [self._code(u, int(y)), self._code(int(x), v)]
            if at == edge or u == y or x == v or new[0] == new[1] or any(self.there[code] for code in new):
                continue
            self._replace(edge, u, int(y), v)
            self._replace(at, int(x), v, int(y))
            return True
        return False

    def _replace(self, edge: int, kept: int, new: int, old: int) -> None:
        """Puts another node in the place of one end of an edge."""
        self.there[self._code(int(self.one[edge]), int(self.other[edge]))] -= 1
        self.there[self._code(kept, new)] += 1
        if self.other[edge] == old:
            self.other[edge] = new
        else:
            self.one[edge] = new

    def _code(self, a: int, b: int) -> int:
        return min(a, b) * self.nodes + max(a, b)


def _constructed(degrees: Ints, target: Ints, rng: np.random.Generator) -> Network | None:
    """A graph with exactly these numbers of edges between degrees, or None where there is none."""
    import networkx as nx

    both = target + target.T  # networkx counts an edge between two nodes of one degree twice
    table = {
        a + 1: {b + 1: int(both[a, b]) for b in np.flatnonzero(both[a]).tolist()}
        for a in np.flatnonzero(both.any(axis=1)).tolist()
    }
    if not nx.is_valid_joint_degree(table):
        return None
    made = nx.joint_degree_graph(table, seed=int(rng.integers(2**32)))
    pairs = np.array(made.edges, dtype=np.int64).reshape(-1, 2)
    reached = np.bincount(pairs.ravel(), minlength=made.number_of_nodes())
    linked = rng.permutation(np.flatnonzero(degrees > 0))
    place = np.empty(len(reached), dtype=np.int64)
    place[np.argsort(reached, kind="stable")] = linked[np.argsort(degrees[linked], kind="stable")]
    return _network(len(degrees), place[pairs[:, 0]], place[pairs[:, 1]])

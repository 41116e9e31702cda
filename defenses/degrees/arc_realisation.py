"""Directed networks with given pairs of degrees, by adding arcs to one that is there."""

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from ...graphs.arcs import arcs_of
from ...graphs.network import Ints, Network

MANY = 50
"""With so many times more open nodes than one needs, heads at random rarely meet an arc that is there."""
ROUNDS = 30
"""Times that what is left is paired up at random once more."""
PARTNERS = 20
"""Other nodes that a node which lacks an arc is paired with at most, to exchange one for it."""


class MoreArcs:
    """The arcs of a network and those that are added to them.

    Attributes:
        nodes: n.
        added: heads of the new arcs of each tail, and tails of those of each head.
    """

    def __init__(self, network: Network) -> None:
        self.nodes = network.nodes
        tails, heads = arcs_of(network)
        order = np.argsort(heads, kind="stable")
        self._sorted = (tails, heads[order])
        self._others = (heads, tails[order])
        self._coded = tails * self.nodes + heads
        self.added: tuple[dict[int, set[int]], dict[int, set[int]]] = (defaultdict(set), defaultdict(set))

    def taken(self, node: int, side: int = 0) -> Ints:
        """The node itself and where arcs lead from it, or, for side 1, where they come from."""
        first, last = np.searchsorted(self._sorted[side], [node, node + 1])
        return np.concatenate([self._others[side][first:last], [node, *self.added[side][node]]]).astype(np.int64)

    def free(self, node: int, side: int) -> NDArray[np.bool_]:
        """To which nodes an arc from a node may be added, or, for side 1, from which to it, [n]."""
        found = np.ones(self.nodes, dtype=bool)
        found[self.taken(node, side)] = False
        return found

    def fits(self, tail: int, head: int) -> bool:
        """Whether an arc may be added."""
        if tail == head or head in self.added[0][tail]:
            return False
        coded = tail * self.nodes + head
        place = int(np.searchsorted(self._coded, coded))
        return place == len(self._coded) or int(self._coded[place]) != coded

    def add(self, tail: int, head: int) -> None:
        self.added[0][tail].add(head)
        self.added[1][head].add(tail)

    def remove(self, tail: int, head: int) -> None:
        self.added[0][tail].discard(head)
        self.added[1][head].discard(tail)

    def arcs(self) -> Ints:
        """Tails and heads of the new arcs, ascending, [2, a]."""
        pairs = sorted((tail, head) for tail, heads in self.added[0].items() for head in heads)
        return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def joined(arcs: MoreArcs, need: Ints, rng: np.random.Generator) -> tuple[Counter[int], Counter[int]]:
    """Adds arcs from nodes that need some to lead away to nodes that need some to lead to them.

    The node that needs most gets those that need most of the rest, in the manner of Kleitman and Wang (1973), until
    so many are open that pairs at random will do; then arcs that were added are exchanged for what is left.

    Args:
        arcs: to add to.
        need: how many arcs each node needs away from it, and to it, [n, 2].
        rng: of which of several that will do is taken.

    Returns:
        How many arcs nodes lack away from them, and to them.
    """
    out, back = need[:, 0].copy(), need[:, 1].copy()
    tails, heads = (rng.permutation(np.flatnonzero(side > 0)) for side in (out, back))
    tails, left = tails[np.argsort(-out[tails], kind="stable")], Counter[int]()
    taken = np.zeros(arcs.nodes, dtype=bool)
    for place, tail in enumerate(tails.tolist()):
        if len(heads) > MANY * out[tail]:
            rest = tails[place:]
            ends = _at_random(arcs, np.repeat(rest, out[rest]), np.repeat(heads, back[heads]), rng)
            return _exchanged(arcs, left + ends[0], ends[1], rng)
        there = arcs.taken(tail)
        taken[there] = True
        free = heads[~taken[heads]]
        taken[there] = False
        chosen = free[np.argsort(-back[free], kind="stable")[: out[tail]]]
        for head in chosen.tolist():
            arcs.add(tail, head)
        back[chosen] -= 1
        left[tail] += int(out[tail]) - len(chosen)
        heads = heads[back[heads] > 0]
    return _exchanged(arcs, +left, Counter({int(head): int(back[head]) for head in heads}), rng)


def _at_random(
    arcs: MoreArcs, tails: Ints, heads: Ints, rng: np.random.Generator
) -> tuple[Counter[int], Counter[int]]:
    """Pairs up open tails and heads, each once for each arc that it needs, and returns what is left of them."""
    for _ in range(ROUNDS):
        tails, heads = rng.permutation(tails), rng.permutation(heads)
        both = min(len(tails), len(heads))
        open_still = np.ones(both, dtype=bool)
        for place, (tail, head) in enumerate(zip(tails[:both].tolist(), heads[:both].tolist(), strict=True)):
            if arcs.fits(tail, head):
                arcs.add(tail, head)
                open_still[place] = False
        tails, heads = (np.concatenate([side[:both][open_still], side[both:]]) for side in (tails, heads))
        if not len(tails) or not len(heads):
            break
    return Counter(tails.tolist()), Counter(heads.tolist())


def _exchanged(
    arcs: MoreArcs, tails: Counter[int], heads: Counter[int], rng: np.random.Generator
) -> tuple[Counter[int], Counter[int]]:
    """Puts u-y and x-v for an added x-y where u lacks an arc away from it and v one to it; returns what is left."""
    if not tails or not heads:
        return tails, heads
    pool = rng.permutation(arcs.arcs(), axis=1)
    there = np.ones(pool.shape[1], dtype=bool)
    for u in list(tails):
        while tails[u] and (v := _exchanged_for(arcs, u, list(heads)[:PARTNERS], pool, there)) is not None:
            tails, heads = tails - Counter([u]), heads - Counter([v])
    return tails, heads


def _exchanged_for(arcs: MoreArcs, u: int, heads: list[int], pool: Ints, there: NDArray[np.bool_]) -> int | None:
    """The first of the heads that gets an arc to it while u gets one away; None if none can.

    Args:
        arcs: to change.
        u: lacks an arc away from it.
        heads: that lack one to them.
        pool: arcs that may be given up [2, a].
        there: which of them are still there [a], changed in place.
    """
    away = arcs.free(u, 0)
    for v in heads:
        if away[v]:
            arcs.add(u, v)
            return v
        places = np.flatnonzero(there & away[pool[1]] & arcs.free(v, 1)[pool[0]])
        if len(places):
            x, y = pool[:, places[0]].tolist()
            there[places[0]] = False
            arcs.remove(x, y)
            arcs.add(x, v)
            arcs.add(u, y)
            return v
    return None


def given_away(
    arcs: MoreArcs, node: int, number: int, side: int, wanted: Ints, k: int, rng: np.random.Generator
) -> bool:
    """Links a node to others who move to the next pair; False where k would not be left, or reached, there.

    Args:
        arcs: to add to.
        node: which lacks arcs away from it (side 0) or to it (side 1).
        number: how many.
        side: which of these.
        wanted: pairs that nodes shall have [n, 2], changed in place.
        k: how many nodes share a pair at least.
        rng: of who moves.
    """
    step, free = (1, arcs.nodes)[side], arcs.free(node, side)
    coded = wanted[:, 0] * arcs.nodes + wanted[:, 1]
    known, count = np.unique(coded, return_counts=True)
    counts = Counter(dict(zip(known.tolist(), count.tolist(), strict=True)))
    for pair, _ in counts.most_common():
        there = rng.permutation(np.flatnonzero(free & (coded == pair)))
        moved = min(number, len(there))
        if moved < counts[pair]:
            moved = min(moved, counts[pair] - k)
        if moved <= 0 or counts[pair + step] + moved < k:
            continue
        for one in there[:moved].tolist():
            arcs.add(*((node, one) if side == 0 else (one, node)))
        wanted[there[:moved], 1 - side] += 1
        counts[pair] -= moved
        counts[pair + step] += moved
        number -= moved
        if not number:
            return True
    return False

"""Random edges between and within groups, likelier between nodes of larger weight; no matrix of pairs."""

from collections.abc import Callable

import numpy as np

from ...graphs.network import Floats, Ints

DENSE = 8
"""With up to so many pairs for each edge that is wanted, all pairs are weighed."""
FEW_PAIRS = 10_000
ROUNDS = 60
"""Times that pairs are drawn for what is missing."""
Pairs = tuple[Ints, Ints]


def edges_between(one: Floats, other: Floats, count: int, rng: np.random.Generator) -> Pairs:
    """``count`` different pairs of a node of one group and a node of another.

    Pairs are drawn one after the other, each with probability proportional to the product of its ends' weights
    among those not drawn yet. With few pairs for each edge that is a race of exponential clocks over all pairs,
    with many it is drawing again what was there: the law is the same.

    Args:
        one: weights of the nodes of one group, 0 or more, [a].
        other: those of the other, [b].
        count: how many; fewer are returned if there are not so many pairs of positive weight, or if some are too
            unlikely to be met (`ROUNDS`).
        rng: of the draws.

    Returns:
        Places within the groups, [m] each.
    """
    left, right = np.flatnonzero(one > 0), np.flatnonzero(other > 0)
    room = len(left) * len(right)
    count = min(count, room)
    if room <= DENSE * count + FEW_PAIRS:
        places = _raced(np.outer(one[left], other[right]).ravel(), count, rng)
    else:
        tops = np.cumsum(one[left]), np.cumsum(other[right])
        places = _drawn(lambda size: _at(tops[0], size, rng) * len(right) + _at(tops[1], size, rng), count)
    return left[places // max(len(right), 1)], right[places % max(len(right), 1)]


def edges_within(weights: Floats, count: int, rng: np.random.Generator) -> Pairs:
    """``count`` different pairs of nodes of one group, drawn as by `edges_between`.

    Args:
        weights: of its nodes, 0 or more, [a].
        count: how many, or fewer.
        rng: of the draws.

    Returns:
        Places within the group, the smaller first, [m] each.
    """
    inside = np.flatnonzero(weights > 0)
    size, known = len(inside), weights[inside]
    room = size * (size - 1) // 2
    count = min(count, room)
    if room <= DENSE * count + FEW_PAIRS:
        low, high = np.triu_indices(size, 1)
        chosen = _raced(known[low] * known[high], count, rng)
        return inside[low[chosen]], inside[high[chosen]]
    top = np.cumsum(known)

    def pairs(wanted: int) -> Ints:
        a, b = _at(top, wanted, rng), _at(top, wanted, rng)
        drawn: Ints = (np.minimum(a, b) * size + np.maximum(a, b))[a != b]
        return drawn

    places = _drawn(pairs, count)
    return inside[places // size], inside[places % size]


def _raced(weights: Floats, count: int, rng: np.random.Generator) -> Ints:
    """The first so many places at which an exponential clock of that rate rings (Efraimidis and Spirakis 2006)."""
    rings = rng.exponential(size=len(weights)) / weights
    found: Ints = np.argpartition(rings, count)[:count] if count < len(rings) else np.arange(len(rings))
    return found


def _at(tops: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Places drawn by weight, given the sums of the weights up to each."""
    found: Ints = np.minimum(np.searchsorted(tops, rng.random(size) * tops[-1], side="right"), len(tops) - 1)
    return found


def _drawn(draw: Callable[[int], Ints], count: int) -> Ints:
    """The first so many different values of what repeated draws give."""
    found = np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        if len(found) >= count:
            break
        missing = count - len(found)
        both = np.concatenate([found, draw(missing + missing // 2 + 100)])
        found = both[
            np.sort(np.unique(both, return_index=True)[1])
        ]  # in the order drawn, so that no pair is favoured
    return found[:count]

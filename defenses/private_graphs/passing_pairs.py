"""Pairs of nodes that pass a filter: linked ones often, others seldom, by a law that keeps epsilon exactly.

A pair that is not linked passes with probability p, one that is linked with the lesser of e^epsilon p and
1 - e^-epsilon (1 - p). Neither answer is then over e^epsilon times as likely for the one as for the other, and no
law that keeps this lets more linked pairs pass at the same p. p is 1 - e^-rate with a rate that is a fraction. So
how far it is from one pair that passes to the next is a geometric number, and nobody has to look at each pair.
"""

from fractions import Fraction

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import distinct, pairs_beside
from ...mechanisms.exact_noise import exponential_bounds, geometric, tossed

LEAST = Fraction(1, 2**40)
"""The lowest rate: of a million nodes, one pair that is not linked passes in two draws."""
FLOAT_BITS = 120
"""Bits of a chance that is told as a float: the smallest one has 53 of its own."""


def passing(network: Network, epsilon: Fraction, rate: Fraction, rng: np.random.Generator | None) -> Ints:
    """Codes of the pairs that pass, ascending, epsilon-private in edges.

    Args:
        network: a plain one.
        epsilon: above 0.
        rate: that those which are not linked pass by; above 0, and chosen without a look at the edges.
        rng: for audits only; None draws fresh entropy.
    """
    edges = distinct(network.codes)
    kept = edges[tossed(lambda bits: linked_bounds(epsilon, rate, bits), len(edges), rng)]
    others = network.nodes * (network.nodes - 1) // 2 - len(edges)
    return np.sort(np.concatenate([kept, pairs_beside(places(others, rate, rng), edges, network.nodes)]))


def linked_bounds(epsilon: Fraction, rate: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers below and above the probability that a linked pair passes, times 2^bits."""
    one = 1 << bits
    (rate_low, rate_high), (low, high), (both_low, both_high) = (
        exponential_bounds(power, bits) for power in (rate, epsilon, rate + epsilon)
    )
    least = min((one - rate_high) * one // high, one - both_high)
    most = one - both_low
    if low:
        most = min(most, -(-(one - rate_low) * one // low))
    return max(least, 0), min(most, one)


def places(count: int, rate: Fraction, rng: np.random.Generator | None) -> Ints:
    """Which of so many pass, each with probability 1 - e^-rate on its own; ascending."""
    found, last = [np.empty(0, dtype=np.int64)], -1
    while last < count:
        expected = (count - last) * min(float(rate), 1.0)
        gaps = np.minimum(geometric(rate, int(expected + 4 * expected**0.5) + 8, rng), count)
        found.append(last + np.cumsum(gaps + 1))
        last = int(found[-1][-1])
    every = np.concatenate(found)
    return every[every < count]


def rate_for(epsilon: Fraction, wanted: int, pairs: int) -> Fraction:
    """The rate at which so many of all pairs pass on average, if so many are linked; `LEAST` or more.

    Args:
        epsilon: above 0.
        wanted: from 0 to below ``pairs``.
        pairs: how many there are.
    """
    shrunk, others = float(np.exp(-float(epsilon))), pairs - wanted
    by_ratio = wanted * shrunk / (wanted + others * shrunk) if wanted else 0.0
    by_rest = wanted * shrunk / (wanted * shrunk + others)
    return as_rate(max(by_ratio, by_rest))


def as_rate(chance: float) -> Fraction:
    """The rate of a chance below 1, a fraction that is drawn with exactly; `LEAST` or more."""
    rate = -float(np.log1p(-chance))
    return max(Fraction(int(rate * 2**60), 2**60), LEAST)


def linked_chance(epsilon: Fraction, rate: Fraction) -> float:
    """The probability that a linked pair passes, to the precision of a float."""
    return linked_bounds(epsilon, rate, FLOAT_BITS)[0] / (1 << FLOAT_BITS)

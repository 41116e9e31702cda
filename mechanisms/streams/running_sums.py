"""Sums that are told at every step with little noise: the binary tree (Chan, Shi and Song 2011; Dwork et al. 2010).

Part i of a series, i = 1 to T, is the sum of its terms i - b + 1 to i, where b is the largest power of two that
divides i (Fenwick 1994). The sum of the first i terms is that of at most log2(T) + 1 parts: i without its last
binary digits, one after the other. A term is in as many parts at most. So noise is added to parts, once to each,
and all sums are made of these: the parts depend on T alone, and no term is added to fill up a power of two.
"""

from fractions import Fraction

import numpy as np

from ...graphs.network import Ints
from ..exact_noise import discrete_laplace
from ..public_inputs import laplace_scale


def parts_of_a_term(steps: int) -> int:
    """Most parts that one term of a series of T is in: the first is in as many as T has binary digits."""
    return steps.bit_length()


def parts(series: Ints) -> Ints:
    """Sums over the part that ends at each term, [T]."""
    sums = np.concatenate([[0], np.cumsum(series)])
    last = np.arange(1, len(series) + 1)
    found: Ints = sums[last] - sums[last - (last & -last)]
    return found


def sums_of_parts(parted: Ints) -> Ints:
    """The sum up to each term, from the parts, [T]."""
    sums = np.zeros(len(parted) + 1, dtype=np.int64)
    for last in range(1, len(parted) + 1):
        sums[last] = sums[last - (last & -last)] + parted[last - 1]
    return sums[1:]


def private_sums(series: Ints, epsilon: Fraction, rng: np.random.Generator | None) -> Ints:
    """The sum up to each term, with noise that hides a change of one term by 1, [T].

    Args:
        series: whole numbers, [T].
        epsilon: of all sums together.
        rng: for audits only; None draws fresh entropy.
    """
    scale = laplace_scale(parts_of_a_term(len(series)), epsilon)
    return sums_of_parts(parts(series) + discrete_laplace(scale, len(series), rng))

"""What noisy steps promise together, and the least noise for an epsilon."""

import math
from collections.abc import Callable

import numpy as np

from ..errors import InputError
from ..graphs.network import Floats
from .renyi import ORDERS, epsilon_of_renyi, renyi_of_gaussian, renyi_of_sampled, renyi_of_terms

LEAST, MOST = 1e-2, 1e6
"""Noise multipliers between which is searched."""
CLOSE = 1e-4
"""Share of itself by which a multiplier that is found may be larger than it had to be."""

Divergence = Callable[[float], Floats]
"""Given a noise multiplier, the Renyi divergence at each of `ORDERS`."""


def whole(multiplier: float, times: int = 1) -> Floats:
    """Of Gaussian noise whose deviation is ``multiplier`` times the L2 sensitivity, again and again."""
    return times * renyi_of_gaussian(multiplier)


def sampled(multiplier: float, rate: float, steps: int) -> Floats:
    """Of steps that each see one record with probability ``rate``: at most what `renyi_of_sampled` has for them."""
    return steps * renyi_of_sampled(rate, multiplier, whole_orders=True)


def sampled_terms(multiplier: float, rate: float, steps: int, terms: int) -> Floats:
    """Of steps that see each of ``terms`` clipped terms that one node has a part in with probability ``rate``.

    Each node is drawn alone, so r of them are drawn with the chances of a binomial law (Daigavane et al. 2021 draw
    a fixed number of nodes, and theirs is hypergeometric).
    """
    from scipy.stats import binom

    if rate == 1:
        return whole(multiplier / (2 * terms), steps)
    return steps * renyi_of_terms(binom.logpmf(np.arange(terms + 1), terms, rate), multiplier)


def least_noise(epsilon: float, delta: float, divergence: Divergence) -> float:
    """The smallest noise multiplier whose epsilon is not above the one asked for.

    Raises:
        InputError: no noise reaches it, or epsilon or delta are out of their range.
    """
    if not epsilon > 0:
        raise InputError(f"epsilon is {epsilon:g}: expected a number above 0")
    floor = epsilon_of_renyi(np.zeros_like(ORDERS), delta)
    if epsilon <= floor or epsilon_of_renyi(divergence(MOST), delta) > epsilon:
        raise InputError(
            f"no noise reaches epsilon {epsilon:g} at delta {delta:g}: this accountant can show {floor:.2g} at "
            "best; ask for a larger epsilon or delta, or take fewer steps"
        )
    low, high = LEAST, MOST
    if epsilon_of_renyi(divergence(low), delta) <= epsilon:
        return low
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilon_of_renyi(divergence(middle), delta) <= epsilon else (middle, high)
    return high


def default_delta(units: int) -> float:
    """The largest power of ten that is at most a tenth of 1 / units."""
    return float(10.0 ** np.floor(np.log10(1 / (10 * units)) + 1e-9))


def what_delta_means(delta: float, units: int, unit: str) -> list[str]:
    """A sentence about a delta that means little, if it does."""
    if delta < 1 / units:
        return []
    return [
        f"delta {delta:g} is not below 1 / {units} {unit}s: publishing everything about one {unit} in "
        f"{max(1, round(1 / delta))}, drawn at random, would keep such a promise; ask for a smaller one"
    ]

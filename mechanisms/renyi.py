"""Renyi divergences of noise at many orders, and the epsilon that they amount to (Mironov 2017)."""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..graphs.network import Floats

ORDERS: Floats = np.array(
    [*(1 + step / 10 for step in range(1, 100)), *range(11, 65), 80, 96, 128, 192, 256, 384, 512, 1024], dtype=float
)
"""Orders at which divergences are added up: those of Opacus, and larger ones for small epsilons."""


def epsilon_of_renyi(divergence: Floats, delta: float) -> float:
    """The smallest epsilon at a delta that divergences at `ORDERS` allow (Balle et al. 2020, Theorem 21).

    An order without a number is left out.

    Raises:
        InputError: delta is not between 0 and 1, or there is no number at all.
    """
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta:g}: expected one above 0 and below 1, and below 1 / nodes to mean much")
    if bool(np.isnan(divergence).all()):
        raise InputError("the accountant has no number for these settings: take a larger epsilon or another rate")
    price = np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    return max(0.0, float(np.nanmin(divergence + price)))


def renyi_of_gaussian(multiplier: float) -> Floats:
    """Of Gaussian noise whose deviation is ``multiplier`` times the L2 sensitivity (Mironov 2017, Corollary 3)."""
    return ORDERS / (2 * multiplier**2)


@cache
def renyi_of_sampled(rate: float, multiplier: float, whole_orders: bool = False) -> Floats:
    """Of one step that sees each record with probability ``rate``, alone, by Opacus (Mironov, Talwar, Zhang 2019).

    Neighbours differ by adding or removing a record; the deviation of the noise is ``multiplier`` times the most
    that one record adds. (a - 1) D_a is convex in the order a and 0 at 1, so a chord between whole orders lies
    above it. Opacus' series for other orders take seconds: with ``whole_orders`` chords stand for them.
    """
    if rate == 1:
        return renyi_of_gaussian(multiplier)
    from opacus.accountants.analysis.rdp import compute_rdp

    exact = ORDERS[ORDERS % 1 == 0] if whole_orders else ORDERS
    found = np.asarray(compute_rdp(q=rate, noise_multiplier=multiplier, steps=1, orders=exact.tolist()))
    if not whole_orders:
        return found
    chords: Floats = np.interp(ORDERS, [1.0, *exact], [0.0, *((exact - 1) * found)]) / (ORDERS - 1)
    return chords


def renyi_of_terms(log_chance: ArrayLike, multiplier: float) -> Floats:
    """Of one step in which a node changes several clipped terms, of which r are drawn with a given chance.

    Each of them moves by at most two clips, and r is the same for both neighbours. By joint convexity of
    exp((a - 1) D_a) the divergence is at most

        1 / (a - 1) ln E_r exp(a (a - 1) (2 r)^2 / (2 multiplier^2)),

    Theorem 1 of Daigavane et al. (2021). It does not fall with the square of the rate, as for single records.

    Args:
        log_chance: logarithms of the chances that r = 0, 1, ... are drawn.
        multiplier: deviation of the noise, in clips.
    """
    from scipy.special import logsumexp

    chance = np.asarray(log_chance, dtype=float)
    moved = np.outer(ORDERS * (ORDERS - 1), (2 * np.arange(len(chance))) ** 2 / (2 * multiplier**2))
    found: Floats = logsumexp(chance + moved, axis=1) / (ORDERS - 1)
    return found


def terms_of(bound: int, layers: int) -> int:
    """In how many nodes' terms one node occurs, if at most ``bound`` nodes read it in each layer.

    1 + K + ... + K^r = (K^(r+1) - 1) / (K - 1); K + 1 for one layer (Daigavane et al. 2021).
    """
    return sum(bound**layer for layer in range(layers + 1))


def renyi_of_pure(epsilon: float) -> Floats:
    """The largest divergences under a pure epsilon: those of randomised response (Mironov 2017, Prop. 5)."""
    yes, no = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    both = np.logaddexp(ORDERS * yes + (1 - ORDERS) * no, ORDERS * no + (1 - ORDERS) * yes)
    return np.asarray(np.minimum(both / (ORDERS - 1), epsilon))


def renyi_of_laplace(scale: float) -> Floats:
    """Of Laplace noise, with the scale in sensitivities (Mironov 2017, Prop. 6)."""
    far = np.log(ORDERS / (2 * ORDERS - 1)) + (ORDERS - 1) / scale
    near = np.log((ORDERS - 1) / (2 * ORDERS - 1)) - ORDERS / scale
    return np.asarray(np.logaddexp(far, near) / (ORDERS - 1))

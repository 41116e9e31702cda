"""What rounds of noise promise together, in Renyi differential privacy (Mironov 2017)."""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from ..targets.errors import InputError
from ..targets.network import Floats

ORDERS: Floats = np.array(
    [*(1 + step / 10 for step in range(1, 100)), *range(11, 64), 96, 128, 192, 256, 512, 1024], dtype=np.float64
)
"""Orders at which divergences are added up: Opacus' and some larger ones, for small epsilons."""
LEAST, MOST = 1e-2, 1e6
"""Noise multipliers between which is searched."""
CLOSE = 1e-4
"""Share of itself by which a multiplier that is found may be larger than it had to be."""

Divergence = Callable[[float], Floats]
"""Given a noise multiplier, the Renyi divergence at each of `ORDERS`."""


def whole(multiplier: float, times: int = 1) -> Floats:
    """Of Gaussian noise whose deviation is ``multiplier`` times the L2 sensitivity, again and again (Mironov 2017,
    Corollary 3)."""
    return times * ORDERS / (2 * multiplier**2)


def sampled(multiplier: float, rate: float, steps: int) -> Floats:
    """Of steps that each see one record with probability ``rate``, by Opacus (Mironov, Talwar and Zhang 2019).

    Neighbours differ by adding or removing the record, each record is drawn alone (Poisson sampling), and the
    deviation of the noise is ``multiplier`` times the most that one record adds.

    Opacus' series for orders that are no whole numbers take seconds. (a - 1) D_a is convex in a and 0 at 1, so
    between whole numbers a chord lies above it: a little more is reckoned there than is spent.
    """
    from opacus.accountants.analysis.rdp import compute_rdp

    if rate == 1:
        return whole(multiplier, steps)
    exact = ORDERS[ORDERS % 1 == 0]
    found = compute_rdp(q=rate, noise_multiplier=multiplier, steps=steps, orders=exact.tolist())
    chords = np.interp(ORDERS, [1.0, *exact], [0.0, *((exact - 1) * found)])
    divergence: Floats = chords / (ORDERS - 1)
    return divergence


def sampled_terms(multiplier: float, rate: float, steps: int, terms: int) -> Floats:
    """Of steps that see each of ``terms`` clipped terms that one node has a part in with probability ``rate``.

    The node changes each of these terms, which moves it by at most twice the clip, and takes its own away. If r of
    them are drawn, the sum moves by at most 2 r clips, and r is the same for both neighbours. By joint convexity of
    exp((a - 1) D_a) the divergence of a step is at most

        1 / (a - 1) ln E_r exp(a (a - 1) (2 r)^2 / (2 multiplier^2)),      r binomial(terms, rate),

    which is Theorem 1 of Daigavane et al. (2021) with each node drawn alone in place of a fixed number of them
    (there r is hypergeometric). It does not fall with the square of the rate, as for single records.
    """
    if rate == 1:
        return whole(multiplier / (2 * terms), steps)
    drawn = np.arange(terms + 1)
    chance = gammaln(terms + 1) - gammaln(drawn + 1) - gammaln(terms - drawn + 1)
    chance = chance + xlogy(drawn, rate) + xlog1py(terms - drawn, -rate)
    cost = (ORDERS * (ORDERS - 1))[:, None] * 2 * (drawn / multiplier)[None] ** 2
    found: Floats = steps * logsumexp(chance[None] + cost, axis=1) / (ORDERS - 1)
    return found


def epsilon_of(divergence: Floats, delta: float) -> float:
    """The epsilon that follows, at the best order (Canonne, Kamath and Steinke 2020, Proposition 12).

    Raises:
        InputError: delta is not between 0 and 1.
    """
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta:g}: expected one above 0 and below 1, and below 1 / nodes to mean much")
    if bool(np.isnan(divergence).any()):
        raise InputError("the accountant has no number for these settings: take a larger epsilon or another rate")
    price = np.log1p(-1 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    return max(0.0, float(np.min(divergence + price)))


def least_noise(epsilon: float, delta: float, divergence: Divergence) -> float:
    """The smallest noise multiplier whose epsilon is not above the one asked for.

    Raises:
        InputError: no noise reaches it.
    """
    if not epsilon > 0:
        raise InputError(f"epsilon is {epsilon:g}: expected a number above 0")
    floor = epsilon_of(np.zeros_like(ORDERS), delta)
    if epsilon <= floor or epsilon_of(divergence(MOST), delta) > epsilon:
        raise InputError(
            f"no noise reaches epsilon {epsilon:g} at delta {delta:g}: this accountant can show {floor:.2g} at "
            "best; ask for a larger epsilon or delta, or take fewer steps"
        )
    low, high = LEAST, MOST
    if epsilon_of(divergence(low), delta) <= epsilon:
        return low
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilon_of(divergence(middle), delta) <= epsilon else (middle, high)
    return high

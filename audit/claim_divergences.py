"""Renyi divergences of the noise that claims rest on, and the epsilon that they amount to."""

import math
from functools import cache

import numpy as np

from ..mechanisms.gaussian import epsilon_of
from ..targets.network import Floats

ORDERS: Floats = np.array(
    [1 + x / 10 for x in range(1, 100)] + [*range(12, 64), 64, 80, 96, 128, 192, 256, 384, 512], dtype=float
)
"""Renyi orders: those of Opacus, and larger ones for small epsilons."""


def exact_epsilon(distance: float, delta: float) -> float:
    """Epsilon of Gaussian noise; beyond any that can be claimed, as much as 10,000 deviations have."""
    return epsilon_of(min(distance, 1e4), delta)


def epsilon_of_renyi(renyi: Floats, delta: float) -> float:
    """The smallest epsilon at a delta that Renyi divergences at `ORDERS` allow (Balle et al. 2020, Theorem 21)."""
    spread = (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1)
    return max(0.0, float(np.nanmin(renyi - spread + np.log1p(-1 / ORDERS))))


def renyi_of_pure(epsilon: float) -> Floats:
    """The largest divergences under a pure epsilon: those of randomised response (Mironov 2017, Prop. 5)."""
    yes, no = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    both = np.logaddexp(ORDERS * yes + (1 - ORDERS) * no, ORDERS * no + (1 - ORDERS) * yes)
    return np.asarray(np.minimum(both / (ORDERS - 1), epsilon))


def renyi_of_laplace(scale: float) -> Floats:
    """Divergences of Laplace noise, with the scale in sensitivities (Mironov 2017, Prop. 6)."""
    far = np.log(ORDERS / (2 * ORDERS - 1)) + (ORDERS - 1) / scale
    near = np.log((ORDERS - 1) / (2 * ORDERS - 1)) - ORDERS / scale
    return np.asarray(np.logaddexp(far, near) / (ORDERS - 1))


@cache
def renyi_of_sampled(rate: float, multiplier: float) -> Floats:
    """Divergences of one Poisson-sampled Gaussian step, by Opacus (Mironov, Talwar and Zhang 2019)."""
    if rate == 1:
        return np.asarray(ORDERS / (2 * multiplier**2))
    from opacus.accountants.analysis.rdp import compute_rdp  # type: ignore[import-untyped]

    orders = ORDERS.tolist()
    return np.asarray(compute_rdp(q=rate, noise_multiplier=multiplier, steps=1, orders=orders), dtype=float)


@cache
def renyi_of_coupled(examples: int, terms: int, batch: int, clips: float) -> Floats:
    """Divergences of one step on a uniform batch without replacement, of which one node changes several terms.

    1/(a-1) ln E exp(a (a-1) (2 rho)^2 / (2 clips^2)), rho ~ Hypergeometric(examples, terms, batch): so many of the
    changed terms are in the batch, and each moves by up to two clips (Daigavane et al. 2021).

    Args:
        examples: nodes that batches are drawn from.
        terms: that one node changes.
        batch: nodes in a batch.
        clips: deviation of the noise, in clips.
    """
    from scipy.special import logsumexp
    from scipy.stats import hypergeom

    touched = np.arange(min(terms, batch) + 1)
    weights = hypergeom.logpmf(touched, examples, min(terms, examples), min(batch, examples))
    moved = np.outer(ORDERS * (ORDERS - 1), (2 * touched) ** 2 / (2 * clips**2))
    return np.asarray(logsumexp(weights + moved, axis=1) / (ORDERS - 1))

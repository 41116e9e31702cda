"""A lower bound on epsilon where scores are normal: sharper than one that assumes nothing."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ...mechanisms.gaussian import epsilon_of
from .epsilon import METRIC
from .finding import Finding

FARTHEST = 100.0
"""Distances beyond this count as this: its epsilon is above 5,000."""


def gaussian_epsilon(inside: ArrayLike, outside: ArrayLike, delta: float, level: float = 0.95) -> Finding:
    """The epsilon that is exceeded with confidence ``level`` if both samples are normal with one variance.

    Two such normals are as hard to tell apart as their distance in deviations says, and that is estimated best by
    the difference of the means over the pooled deviation. Its lower bound is the estimate less the normal quantile
    times its standard error, sqrt(1/n + 1/m + d^2 / (2 (n + m - 2))) (Hedges and Olkin 1985, chapter 5).

    Args:
        inside: scores of independent runs with the unit.
        outside: scores of independent runs without it.
        delta: of the (epsilon, delta) that is tested.
        level: confidence.

    Source: Nasr et al. (USENIX Security 2023), section 4, for a bound by the distance of two normals.
    """
    one, other = (np.asarray(part, dtype=float) for part in (inside, outside))
    freedom = len(one) + len(other) - 2
    spread = np.sqrt((((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()) / freedom)
    apart = float(one.mean() - other.mean())
    estimate = min(apart / spread, FARTHEST) if spread > 0 else (FARTHEST if apart > 0 else 0.0)
    error = np.sqrt(1 / len(one) + 1 / len(other) + estimate**2 / (2 * freedom))
    distance = float(estimate - ndtri(level) * error)
    bound = epsilon_of(distance, delta) if distance > 0 else 0.0
    note = f"{len(one)} + {len(other)} trials measured; holds for normal scores alone"
    method = "distance of two normals"
    runs = len(one) + len(other)
    return Finding(METRIC, bound, bound, None, level, method, "valid", note, len(one), len(other), runs)

"""A lower bound on epsilon where scores are normal: sharper than one that assumes nothing."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainccinv, betaincinv, ndtri

from ..mechanisms.gaussian import epsilon_of
from .epsilon import METRIC
from .finding import Finding


def gaussian_epsilon(inside: ArrayLike, outside: ArrayLike, delta: float, level: float = 0.95) -> Finding:
    """The epsilon that is exceeded with confidence ``level`` if both samples are normal with one variance.

    The first half of the runs sets the threshold midway between the means; in the other half rates are bounded
    after Clopper and Pearson, and bound the distance mu of the two normals: mu is at least
    Phi^-1(TPR_low) - Phi^-1(FPR_high). Two such normals are as hard to tell apart as its epsilon at delta.

    Args:
        inside: scores of independent runs with the unit.
        outside: scores of independent runs without it.
        delta: of the (epsilon, delta) that is tested.
        level: confidence.

    Source: Nasr et al. (USENIX Security 2023), section 4.
    """
    first, rest = zip(
        *(np.array_split(np.asarray(part, dtype=float), 2) for part in (inside, outside)), strict=True
    )
    threshold = (first[0].mean() + first[1].mean()) / 2
    hits, false = (int((part >= threshold).sum()) for part in rest)
    sizes, tail = (len(rest[0]), len(rest[1])), (1 - level) / 2
    tpr = betaincinv(hits, sizes[0] - hits + 1, tail) if hits else 0.0
    fpr = betainccinv(false + 1, sizes[1] - false, tail) if false < sizes[1] else 1.0
    distance = float(ndtri(tpr) - ndtri(fpr))
    bound = epsilon_of(distance, delta) if distance > 0 else 0.0
    note = f"{sizes[0]} + {sizes[1]} trials measured; holds for normal scores alone"
    method = "Clopper-Pearson for both rates, distance of two normals"
    return Finding(METRIC, bound, bound, None, level, method, "valid", note, *sizes, sum(sizes))

"""Noise whose scale follows the data: what two neighbours tell apart whose smooth bounds differ."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from ...graphs.network import Floats
from ...mechanisms.privacy_loss import Pair, log_cells

CELLS = 6001
ROUGHEST = 300.0
"""Largest beta up to which all neighbours are tried."""
SCALES, SHIFTS = np.linspace(-1.0, 1.0, 5), (1.0, 0.5, 0.0)
"""Parts of the largest ratio of two bounds (in its logarithm), and of the largest difference, that are tried."""


def cauchy_epsilon(scale: float, beta: float) -> float:
    """Epsilon with delta 0 of Cauchy noise in proportion to a smooth bound, exactly.

    The largest ratio of the densities of Cauchy noise of scale a at 0 and of scale b at a distance d is e^epsilon
    with cosh(epsilon) = (a^2 + b^2 + d^2) / (2 a b). With a = scale, b = scale e^t and d = min(1, e^t) that is
    cosh(t) + e^-|t| / (2 scale^2), largest at t = 0 or beta. Nissim, Raskhodnikova and Smith (2007, Lemma 2.5)
    ask for scale 6 / epsilon and beta = epsilon / 6, which is enough and not the least.

    Args:
        scale: of the noise, in smooth bounds.
        beta: by which the logarithm of the smooth bound changes at most.
    """
    if beta > ROUGHEST:
        return max(beta, math.acosh(1 + 1 / (2 * scale**2)))
    return math.acosh(max(1 + 1 / (2 * scale**2), math.cosh(beta) + math.exp(-beta) / (2 * scale**2)))


def worst_scaled(law: Literal["laplace", "gaussian", "cauchy"], scale: float, beta: float, delta: float) -> float:
    """The largest epsilon at a delta above 0 of two neighbours, of which each difference is tried.

    On one of them the smooth bound is 1, on the other e^t with -beta <= t <= beta. What is released differs by at
    most the local sensitivity, which is at most the smaller of both. Outcomes are rounded to cells, so that this is
    at most what the two tell apart, and near to it.

    Args:
        law: of the noise.
        scale: of the noise, in smooth bounds.
        beta: by which the logarithm of the smooth bound changes at most.
        delta: above 0.
    """
    found, below = 0.0, _log_below(law)
    for ratio in np.exp(min(beta, ROUGHEST) * SCALES).tolist():
        for part in SHIFTS:
            shift = part * min(1.0, ratio) / scale
            edges = _edges(law, delta, ratio, shift)
            pair = Pair(log_cells(below, edges), log_cells(below, (edges - shift) / ratio))
            found = max(found, pair.epsilon(delta), pair.turned().epsilon(delta))
    return found


def _edges(law: str, delta: float, ratio: float, shift: float) -> Floats:
    """Ends of cells that reach as far as the delta matters on either law."""
    if law == "cauchy":
        return shift / 2 + max(1.0, ratio) * np.tan(np.pi * (np.arange(1, CELLS) / CELLS - 0.5))
    far = math.log(1 / delta) + 12 if law == "laplace" else math.sqrt(2 * math.log(1 / delta)) + 4
    reach = far * max(1.0, ratio) + shift
    fine = far * min(1.0, ratio) + shift
    return np.unique(np.concatenate([np.linspace(-reach, reach, CELLS), np.linspace(-fine, fine, CELLS)]))


def _log_below(law: str) -> Callable[[Floats], Floats]:
    """Logarithm of the chance that noise of scale 1 lies below a number."""
    if law == "gaussian":
        return log_ndtr
    if law == "laplace":
        return lambda at: np.where(at < 0, at - math.log(2), np.log1p(-np.exp(-np.abs(at)) / 2))
    return lambda at: np.log(np.where(at < 0, np.arctan2(1.0, -at) / np.pi, 0.5 + np.arctan(at) / np.pi))

"""What Gaussian noise promises, exactly (Balle and Wang 2018; Dong, Roth and Su 2022; Canonne et al. 2020)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..errors import InputError
from .privacy_loss import Pair

LARGEST = 1e6
"""Bounds of searches, of distances and of epsilons."""
FINE = 1e4
"""From this deviation on discrete and continuous Gaussian noise promise the same, to nine digits."""


def delta_of(distance: float, epsilon: float) -> float:
    """The smallest delta at an epsilon for telling N(0, 1) from N(distance, 1).

    Phi(d/2 - e/d) - exp(e) Phi(-d/2 - e/d), with the second term in logarithms, since exp(e) overflows.
    """
    from scipy.special import log_ndtr, ndtr

    if distance <= 0:
        return 0.0
    second = math.exp(min(epsilon + float(log_ndtr(-distance / 2 - epsilon / distance)), 0.0))
    return max(0.0, float(ndtr(distance / 2 - epsilon / distance)) - second)


def epsilon_of(distance: float, delta: float) -> float:
    """The smallest epsilon at a delta for telling N(0, 1) from N(distance, 1).

    Raises:
        InputError: delta is not between 0 and 1.
    """
    from scipy.optimize import brentq

    if not 0 < delta < 1:
        raise InputError(f"Gaussian noise promises nothing with delta {delta}: expected one above 0 and below 1")
    if delta_of(distance, 0.0) <= delta:
        return 0.0
    most = 1.0
    while delta_of(distance, most) > delta:
        most *= 2
    return float(brentq(lambda epsilon: delta_of(distance, epsilon) - delta, 0.0, most, xtol=1e-12))


@lru_cache(maxsize=1024)  # mechanisms ask for it in every run
def distance_of(epsilon: float, delta: float) -> float:
    """The largest distance, in deviations of the noise, that (epsilon, delta) allows.

    Raises:
        InputError: epsilon is not above 0 or over 10^6, or delta not between 0 and 1.
    """
    from scipy.optimize import brentq

    if not 0 < epsilon <= LARGEST or not 0 < delta < 1:
        expected = "expected one above 0 and up to 10^6, and one between 0 and 1"
        raise InputError(f"epsilon {epsilon:g} and delta {delta:g}: {expected}")
    return float(brentq(lambda distance: delta_of(distance, epsilon) - delta, 1e-12, LARGEST, xtol=1e-14))


def discrete_pair(shift: int, deviation: float) -> Pair:
    """Discrete Gaussian noise on two whole numbers that are ``shift`` apart; outcomes below e^-700 are left out.

    The chance of z is proportional to exp(-z^2 / (2 deviation^2)).
    """
    reach = math.ceil(38 * deviation) + 1 + shift
    noise = np.arange(-reach, reach + 1, dtype=float)
    here, there = -((noise / deviation) ** 2) / 2, -(((noise + shift) / deviation) ** 2) / 2
    total = math.log(float(np.exp(here).sum()))
    return Pair(here - total, there - total)


def discrete_epsilon_of(shift: int, deviation: float, delta: float) -> float:
    """The smallest epsilon at a delta of discrete Gaussian noise on whole numbers that are ``shift`` apart.

    From Canonne, Kamath and Steinke 2020, Theorem 7: with noise Y and t = epsilon s^2 / shift,

        delta = P(Y > t - shift / 2) - e^epsilon P(Y > t + shift / 2).

    Under a deviation of 1 or so it is clearly above that of continuous noise.

    Args:
        shift: the most that one unit changes the whole number.
        deviation: the parameter sigma of the noise.
        delta: above 0.

    Raises:
        InputError: delta is not between 0 and 1.
    """
    if not 0 < delta < 1 or deviation >= FINE:
        return epsilon_of(shift / deviation, delta)
    return discrete_pair(shift, deviation).epsilon(delta)

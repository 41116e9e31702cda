"""Noise in proportion to a smooth bound: densities of two neighbours, compared on a fine grid."""

import math

import numpy as np
import pytest
from scipy.stats import cauchy, laplace, norm

from gaudit.audit.lint.scaled_noise import cauchy_epsilon, worst_scaled

LAWS = {"laplace": laplace, "gaussian": norm, "cauchy": cauchy}


def neighbours(scale, beta):
    """Differences of the value, and ratios of both bounds, that a smooth bound allows."""
    for log_ratio in np.linspace(-beta, beta, 9):
        for part in (0.0, 0.3, 0.7, 1.0):
            yield part * min(1.0, math.exp(log_ratio)) / scale, math.exp(log_ratio)


@pytest.mark.parametrize(("scale", "beta"), [(6.0, 1 / 6), (1.0, 0.5), (0.3, 0.1), (2.0, 2.0)])
def test_cauchy_noise_has_the_largest_ratio_of_its_densities(scale, beta):
    at = np.concatenate([np.linspace(-30, 30, 30_001), [-1e6, 1e6]])
    most = 0.0
    for shift, ratio in neighbours(scale, beta):
        most = max(most, np.abs(cauchy.logpdf(at) - cauchy.logpdf(at, shift, ratio)).max())
    assert most == pytest.approx(cauchy_epsilon(scale, beta), rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_published_rules_are_enough(epsilon):
    """Nissim, Raskhodnikova and Smith 2007, Lemmas 2.5 to 2.7 and Example 2 (one number)."""
    assert cauchy_epsilon(6 / epsilon, epsilon / 6) <= epsilon
    for delta in (1e-8, 1e-3):
        beta = epsilon / (2 * math.log(2 / delta))
        assert worst_scaled("laplace", 2 / epsilon, beta, delta) <= epsilon
        beta, deviation = (
            epsilon / (4 * (1 + math.log(2 / delta))),
            5 * math.sqrt(2 * math.log(2 / delta)) / epsilon,
        )
        assert worst_scaled("gaussian", deviation, beta, delta) <= epsilon


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("scale", "beta", "delta"), [(1.0, 0.05, 1e-4), (2.0, 0.3, 1e-2)])
def test_worst_neighbours_have_this_delta(law, scale, beta, delta):
    epsilon = worst_scaled(law, scale, beta, delta)
    at = np.linspace(-300, 300, 60_001) if law == "cauchy" else np.linspace(-40, 40, 50_001)

    def told(rise):
        most = 0.0
        for shift, ratio in neighbours(scale, beta):
            here, there = LAWS[law].pdf(at), LAWS[law].pdf(at, shift, ratio)
            most = max(most, np.maximum(here - rise * there, 0).sum(), np.maximum(there - rise * here, 0).sum())
        return most * (at[1] - at[0])

    assert told(math.exp(epsilon)) <= delta * 1.01
    assert told(math.exp(epsilon * 0.98)) > delta


def test_local_sensitivity_without_smoothing_tells_all():
    """The larger beta, the less a smooth bound smooths; Laplace noise then keeps no delta."""
    assert worst_scaled("laplace", 10.0, 50.0, 1e-3) > 20
    assert cauchy_epsilon(10.0, 50.0) == pytest.approx(50.0, rel=1e-6)

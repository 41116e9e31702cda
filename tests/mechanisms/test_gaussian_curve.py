"""All that Gaussian noise of some size promises."""

import math

import numpy as np
import pytest

from gaudit.mechanisms.gaussian_curve import GaussianCurve


def test_curve_is_that_of_two_normals():
    """From draws of both laws; each tolerance is more than four standard errors."""
    rng, curve = np.random.default_rng(0), GaussianCurve(0.9)
    there, absent = rng.normal(0.9, 1, 200_000), rng.normal(0, 1, 200_000)
    assert (there > absent).mean() == pytest.approx(curve.most_auc(), abs=0.005)
    assert (there > np.quantile(absent, 0.99)).mean() == pytest.approx(curve.most_tpr(0.01), abs=0.003)
    for epsilon in (0.1, 1.0):
        ratio = 0.9 * there - 0.405 > epsilon
        other = 0.9 * absent - 0.405 > epsilon
        assert ratio.mean() - math.exp(epsilon) * other.mean() == pytest.approx(curve.delta(epsilon), abs=0.008)


def test_epsilon_and_delta_are_inverse():
    curve = GaussianCurve(0.9)
    assert curve.delta(curve.epsilon(1e-5)) == pytest.approx(1e-5)


def test_swaps_of_orthogonal_units_are_as_hard_as_the_curve_says():
    curve = GaussianCurve(1.3)
    assert curve.most_auc_of_swaps(math.sqrt(2)) == pytest.approx(curve.most_auc())
    assert curve.most_auc_of_swaps(0.0) == 0.5


def test_no_attack_on_swaps_beats_the_bound():
    """The best test between two worlds in which a member and another one changed places."""
    rng, curve = np.random.default_rng(1), GaussianCurve(0.8)
    here, there = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    released = here + rng.normal(size=(200_000, 2)) / curve.distance
    right = (released @ (here - there) > 0.5 * (here @ here - there @ there)).mean()
    assert right == pytest.approx(curve.most_auc_of_swaps(float(np.linalg.norm(here - there))), abs=0.005)

"""Piecewise noise on some features: densities differ by e^epsilon at most, no bias, features that come back."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm

from gaudit.audit.claims.claim_check import check_claim
from gaudit.audit.claims.feature_claims import Piecewise
from gaudit.defenses.local_privacy.feature_response import PiecewiseFeatures, piecewise, piecewise_law
from gaudit.defenses.training.no_features import NoFeatures
from gaudit.errors import InputError
from gaudit.targets.party import Client

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed
PLACES = np.linspace(-1, 1, 9)
EPSILONS = [0.3, 1.0, 5.0]


def features_of(defense, x, seed=0):
    x = torch.as_tensor(x, dtype=torch.float32)
    every, none = torch.ones(len(x), dtype=torch.bool), torch.empty((2, 0), dtype=torch.long)
    y = torch.zeros(len(x), dtype=torch.long)
    client = Client(0, torch.arange(len(x)), x, y, y, every, ~every, ~every, every, none, none, 1)
    return defense.on_data(client, None, np.random.SeedSequence(seed), lambda kind, tensors: None).x


def density(report, place, epsilon):
    """Of the definition, not of the sampler."""
    left, right, most, chance = piecewise_law(np.asarray(place), epsilon)
    near = chance / (right - left)
    away = (1 - chance) / (2 * most - (right - left))
    inside = (report >= left) & (report <= right)
    return np.where(np.abs(report) > most, 0.0, np.where(inside, near, away))


def parts(place, epsilon):
    """Ends and density of the pieces that a law is constant on."""
    left, right, most, _ = piecewise_law(np.asarray(place), epsilon)
    for begin, end in pairwise((-most, float(left), float(right), most)):
        yield begin, end, float(density((begin + end) / 2, place, epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_guarantee_densities_of_any_two_places_differ_by_a_factor_of_e_to_the_epsilon(epsilon):
    most = piecewise_law(np.zeros(1), epsilon)[2]
    reports = np.linspace(-most, most, 2001)
    table = np.array([density(reports, place, epsilon) for place in PLACES])
    assert (table > 0).all()  # no report gives a place away
    assert (table.max(0) / table.min(0)).max() == pytest.approx(np.exp(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("place", PLACES)
def test_the_law_adds_up_to_one_and_its_mean_is_the_place(epsilon, place):
    total = sum(height * (end - begin) for begin, end, height in parts(place, epsilon))
    mean = sum(height * (end**2 - begin**2) / 2 for begin, end, height in parts(place, epsilon))
    assert total == pytest.approx(1)
    assert mean == pytest.approx(place, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("place", [-1.0, -0.4, 0.7, 1.0])
def test_guarantee_reports_follow_the_law(epsilon, place):
    """5,000 reports by Kolmogorov and Smirnov."""
    drawn = piecewise(np.full(5000, place), epsilon, np.random.default_rng(0))

    def law(report):
        return sum(h * np.clip(report - begin, 0, end - begin) for begin, end, h in parts(place, epsilon))

    assert kstest(drawn, law).pvalue > LEVEL


def test_guarantee_some_features_are_drawn_and_epsilon_is_divided_among_them():
    """Reports lie within the range of a part of epsilon, and every feature is drawn as often as any other."""
    found = features_of(PiecewiseFeatures(epsilon=4.0, reports=2), np.full((20_000, 6), 0.8)).double().numpy()
    drawn = np.abs(found - 0.5) > 1e-9
    assert (drawn.sum(1) == 2).all()
    share, error = drawn.mean(0), np.sqrt(1 / 3 * 2 / 3 / 20_000)
    assert (np.abs(share - 1 / 3) <= norm.isf(LEVEL / 12) * error).all()
    most = piecewise_law(np.zeros(1), 2.0)[2] * 6 / 2 / 2
    assert 0.95 * most < np.abs(found - 0.5).max() <= most * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 6.0, 20.0])
def test_reports_have_no_bias(epsilon):
    """Means of 40,000 nodes, each feature within the normal quantile of its own error."""
    x = np.array([-2.0, -1.0, 0.0, 2.5, 4.0])
    defense = PiecewiseFeatures(epsilon=epsilon, low=-2, high=4)
    found = features_of(defense, np.tile(x, (40_000, 1))).double().numpy()
    assert (np.abs(found.mean(0) - x) <= norm.isf(LEVEL / 10) * found.std(0) / 200).all()


def test_planted_features_come_back_at_a_huge_epsilon():
    x = np.random.default_rng(0).random((50, 9)) * 5 - 3
    found = features_of(PiecewiseFeatures(epsilon=1e4, low=-3, high=2), x)
    torch.testing.assert_close(found, torch.from_numpy(x).float(), atol=1e-4, rtol=0)


def test_values_outside_of_the_range_become_its_ends():
    found = features_of(PiecewiseFeatures(epsilon=1e5), [[-5.0, 7.0, np.nan, np.inf, -np.inf, 0.3]] * 2)
    torch.testing.assert_close(found, torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 0.3]] * 2), atol=1e-4, rtol=0)


def test_trivial_alternative_reads_no_features_and_noise_tells_more():
    """At a moderate epsilon means over nodes of a class differ; without features they cannot."""
    assert PiecewiseFeatures.alternative == NoFeatures.name
    x = np.repeat(np.eye(2), 4000, axis=0)
    noisy, none = (features_of(d, x) for d in (PiecewiseFeatures(epsilon=1.0), NoFeatures()))
    assert float((noisy[:4000].mean(0) - noisy[4000:].mean(0))[0]) > 0.7
    assert float((none[:4000].mean(0) - none[4000:].mean(0)).abs().max()) == 0


@pytest.mark.parametrize(("epsilon", "reports"), [(0.1, 1), (4.9, 1), (5.1, 2), (1e9, 100)])
def test_as_many_features_are_reported_of_as_the_paper_says(epsilon, reports):
    assert PiecewiseFeatures(epsilon=epsilon).reports(100) == reports


def test_promise_is_for_one_nodes_features():
    promise = PiecewiseFeatures(epsilon=2).promise()
    assert (promise.unit, promise.adjacency, promise.model) == ("node-features", "replace", "local")
    assert {"edges", "labels"} < set(promise.public)


def test_settings_are_checked():
    with pytest.raises(InputError, match="expected high to be larger"):
        PiecewiseFeatures(low=2, high=1)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_most_of_the_claim_is_found_to_be_given_away(epsilon):
    check = check_claim(Piecewise(epsilon=epsilon), 2000, 0, level=0.99)
    assert 0.6 * epsilon <= check.measured.low <= epsilon

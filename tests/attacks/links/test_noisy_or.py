"""The noisy-or fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.stats import chi2

from gaudit.attacks.links.noisy_or import LEAST, MOST, NoisyOr, _Told, fit

LAMBDA = np.array([0.005, 0.4, 0.05, 0.7])


def drawn(rng, pairs, chances=LAMBDA, presence=None):
    """Counts of three types of observations, and links as the model makes them."""
    counts = np.stack([rng.random(pairs) < 0.05, rng.poisson(0.5, pairs), rng.random(pairs) < 0.02], 1).astype(
        float
    )
    model = NoisyOr(-np.log1p(-chances), np.zeros(4))
    if presence is None:
        return counts, rng.random(pairs) < model.probability(counts)
    seen = rng.binomial(counts.astype(int), presence)
    return counts, rng.random(pairs) < model.probability(seen.astype(float))


def test_known_chances_are_recovered_within_their_errors():
    """100,000 pairs: each of four parameters within 3 standard errors (all four 99 times in 100)."""
    counts, linked = drawn(np.random.default_rng(1), 100_000)
    found = fit(counts, linked)
    assert np.all(np.abs(found.theta + np.log1p(-LAMBDA)) < 3 * found.errors)
    assert np.all(found.errors < 0.2)


@pytest.mark.parametrize("sampled", [False, True], ids=["all pairs", "weighted sample of non-links"])
def test_errors_are_those_of_the_estimate(sampled):
    """30 repetitions: squared standardised errors sum to a chi-square of 120 degrees, but once in 1000 each way."""
    total = 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        counts, linked = drawn(rng, 10_000)
        kept = linked | (rng.random(10_000) < 0.1) if sampled else np.ones(10_000, dtype=bool)
        weights = np.where(linked, 1.0, 10.0 if sampled else 1.0)[kept]
        found = fit(counts[kept], linked[kept], weights)
        total += np.sum(((found.theta + np.log1p(-LAMBDA)) / found.errors) ** 2)
    assert chi2.ppf(0.001, 120) < total < chi2.isf(0.001, 120)


def test_averaging_over_presences_is_the_discounted_product():
    """By enumeration of which of three observations were there."""
    theta, counts = np.array([0.1, 0.8, 1.7]), np.array([[2.0, 1.0]])
    presence = np.array([[0.3, 0.6]])
    total = 0.0
    for seen in np.ndindex(2, 2, 2):
        chance = np.prod([q if s else 1 - q for s, q in zip(seen, (0.3, 0.3, 0.6), strict=True)])
        total += chance * np.exp(-theta[0] - theta[1] * (seen[0] + seen[1]) - theta[2] * seen[2])
    model = NoisyOr(theta, np.zeros(3))
    assert model.probability(counts, presence)[0] == pytest.approx(1 - total, abs=1e-12)
    assert model.probability(counts, np.zeros((1, 2)))[0] == pytest.approx(model.chances[0])


def test_chances_are_recovered_from_presences():
    rng = np.random.default_rng(5)
    presence = rng.random((100_000, 3))
    counts, linked = drawn(rng, 100_000, presence=presence)
    found = fit(counts, linked, presence=presence)
    assert np.all(np.abs(found.theta + np.log1p(-LAMBDA)) < 3.3 * found.errors)


def test_errors_with_presences_come_from_the_second_derivatives():
    """By differences of the gradient; the sandwich is near the inverse Hessian where the model holds."""
    rng = np.random.default_rng(9)
    presence = 0.3 + 0.5 * rng.random((20_000, 3))
    counts, linked = drawn(rng, 20_000, presence=presence)
    told = _Told(counts, linked, np.ones(20_000), presence)
    theta, step = fit(counts, linked, presence=presence).theta, 1e-5
    hessian = np.stack(
        [(told.loss(theta + d, 0)[1] - told.loss(theta - d, 0)[1]) / (2 * step) for d in step * np.eye(4)]
    )
    variance = np.diag(np.linalg.inv(hessian))
    np.testing.assert_allclose(told.errors(theta, np.ones(4, dtype=bool)), np.sqrt(variance), rtol=0.1)


small = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 4), st.booleans()), min_size=6, max_size=25
)


@given(small)
def test_no_other_search_finds_less(rows):
    """From any start a second method ends no lower: the optimum of a convex function."""
    table = np.array(rows, dtype=float)
    counts, linked = table[:, :2], table[:, 3] > 0
    told = _Told(counts, linked, 1 + table[:, 2], np.ones(counts.shape))
    found = fit(counts, linked, 1 + table[:, 2], shrink=0.1)
    best = told.loss(found.theta, 0.1)[0]
    free = np.append(True, np.ptp(counts, axis=0) > 0)
    bounds = [(LEAST, MOST) if f else (0, 0) for f in free]
    for start in (0.01, 1.0, 6.0):
        other = minimize(
            lambda theta: told.loss(theta, 0.1), np.where(free, start, 0.0), jac=True, method="TNC", bounds=bounds
        )
        assert best <= other.fun + 1e-5 * max(1.0, abs(other.fun))


@given(small, st.floats(0.05, 1), st.booleans())
def test_gradient_is_that_of_the_loss(rows, q, background):
    table = np.array(rows, dtype=float)
    told = _Told(table[:, :2], table[:, 3] > 0, 1 + table[:, 2], np.full((len(table), 2), q), background)
    at = np.array([0.3, 0.9, 0.2])
    scale = 1 + np.abs(told.loss(at, 0.5)[1]).sum()
    assert check_grad(lambda t: told.loss(t, 0.5)[0], lambda t: told.loss(t, 0.5)[1], at) < 1e-5 * scale


@given(small)
def test_probability_grows_with_every_observation(rows):
    table = np.array(rows, dtype=float)
    model = fit(table[:, :2], table[:, 3] > 0)
    for kind in range(2):
        more = table[:, :2] + np.eye(2)[kind]
        assert np.all(model.probability(more) >= model.probability(table[:, :2]))
    assert model.probability(np.zeros((1, 2)))[0] == pytest.approx(model.chances[0])


def test_one_type_alone_has_its_closed_form():
    """Without a leak to speak of and with one type, lambda is the share of links where it was observed."""
    counts = np.repeat([[0.0], [1.0]], [1000, 400], axis=0)
    linked = np.zeros(1400, dtype=bool)
    linked[:10] = linked[1000:1100] = True
    found = fit(counts, linked)
    assert found.chances[0] == pytest.approx(0.01, rel=1e-4)
    assert 1 - (1 - found.chances[0]) * (1 - found.chances[1]) == pytest.approx(0.25, rel=1e-4)


def test_certain_evidence_is_cut_off_and_shrinking_keeps_it_finite():
    counts = np.repeat([[1.0], [0.0]], 50, axis=0)
    linked = counts[:, 0] > 0
    sure, shrunk = fit(counts, linked), fit(counts, linked, shrink=1.0)
    assert sure.chances[1] > 1 - 1e-6
    assert np.isnan(sure.errors[0])  # there is no leak: a bound
    assert shrunk.chances[1] == pytest.approx(50 / 51, rel=1e-3)  # 50 links and one imaginary pair without


def test_a_background_of_all_pairs_stands_for_those_without_a_link():
    """With all links and all pairs the two likelihoods are one; with a part of both the estimate is near."""
    counts, linked = drawn(np.random.default_rng(6), 40_000)
    plain = fit(counts, linked)
    places = np.concatenate([np.flatnonzero(linked), np.arange(40_000)])
    known = np.arange(len(places)) < linked.sum()
    found = fit(counts[places], known, background=True)
    np.testing.assert_allclose(found.theta, plain.theta, rtol=1e-3)
    some = np.arange(len(places)) % 2 == 0
    part = fit(counts[places][some], known[some], np.full(some.sum(), 2.0), background=True)
    np.testing.assert_allclose(part.chances, plain.chances, rtol=0.25)


def test_types_that_say_nothing_have_no_part():
    rng = np.random.default_rng(2)
    counts, linked = drawn(rng, 5000)
    more = np.column_stack([counts, np.zeros(5000), np.ones(5000)])
    found, plain = fit(more, linked), fit(counts, linked)
    assert np.array_equal(found.theta[4:], [0, 0])
    assert np.all(np.isnan(found.errors[4:]))
    np.testing.assert_allclose(found.theta[:4], plain.theta, rtol=1e-4)


def test_types_that_always_come_together_have_no_errors():
    counts, linked = drawn(np.random.default_rng(3), 3000)
    found = fit(counts[:, [0, 0]], linked)
    assert np.all(np.isnan(found.errors))
    assert found.theta[1:].sum() == pytest.approx(fit(counts[:, :1], linked).theta[1], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.zeros(3)}, "pairs by types"),
        ({"counts": np.zeros((0, 2)), "linked": np.zeros(0, dtype=bool)}, "and some"),
        ({"linked": np.zeros(2, dtype=bool)}, "2 links"),
        ({"weights": -np.ones(3)}, "negative"),
        ({"presence": np.full((3, 2), 1.5)}, "probability"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        fit(**{"counts": np.ones((3, 2)), "linked": np.ones(3, dtype=bool), **change})

"""Lower bounds of epsilon: published numbers, error rates on noise and on mechanisms of known epsilon.

A bound at 95 % may exceed the truth in 5 % of all audits: tests that count such errors allow for what a binomial
with 5 % reaches with probability 99.9 %, so that a sound bound fails them (were the seeds not fixed) once in a
thousand times.
"""

import numpy as np
import pytest
from scipy.stats import beta, binom

from gaudit.audit.statistics.epsilon import (
    epsilon_lower_bound,
    epsilon_of_counts,
    epsilon_of_runs,
    one_run_epsilon,
    one_run_p_value,
)
from gaudit.audit.statistics.scored_subjects import ScoredSubjects


def at_most(simulations, rate=0.05):
    """Errors that a sound bound makes at most, but for one time in a thousand."""
    return binom.ppf(0.999, simulations, rate)


def responses(rng, epsilon, bits):
    """Randomised response: the truth with odds e^epsilon."""
    kept = rng.random(len(bits)) < 1 / (1 + np.exp(-epsilon))
    return np.where(kept, bits, ~bits).astype(float)


# --- many trials


@pytest.mark.parametrize(("trials", "ceiling"), [(100, 3.28), (1000, 5.60)])
def test_ceiling_of_a_perfect_attack(trials, ceiling):
    assert epsilon_of_counts(trials, trials, 0, trials) == pytest.approx(ceiling, abs=5e-3)
    separate = np.ones(trials), np.zeros(trials)
    assert epsilon_lower_bound(*separate, threshold=0.5).low == pytest.approx(ceiling, abs=5e-3)
    halved = epsilon_lower_bound(*separate)
    assert halved.low == pytest.approx(float(epsilon_of_counts(trials // 2, trials // 2, 0, trials // 2)))
    assert f"cannot show more than {halved.low:.2f}" in halved.note


def test_bound_is_that_of_clopper_and_pearson():
    tpr, fpr = beta.ppf(0.025, 80, 21), beta.ppf(0.975, 11, 90)
    delta = 0.01
    expected = max(np.log((tpr - delta) / fpr), np.log((1 - fpr - delta) / (1 - tpr)))
    assert epsilon_of_counts(80, 100, 10, 100, delta=delta) == pytest.approx(expected)
    # the second ratio is the larger one where few members are missed
    assert epsilon_of_counts(99, 100, 50, 100) == pytest.approx(epsilon_of_counts(50, 100, 1, 100))
    assert epsilon_of_counts(80, 100, 10, 100, level=0.99) < epsilon_of_counts(80, 100, 10, 100)
    assert epsilon_of_counts([0, 50, 0], 100, [0, 50, 100], 100).tolist() == [0.0, 0.0, 0.0]
    assert epsilon_of_counts(100, 100, 0, 100, delta=0.99) == 0.0


def test_null_shows_nothing():
    rng, errors, simulations = np.random.default_rng(0), 0, 400
    for seed in range(simulations):
        score = rng.normal(size=400)
        errors += epsilon_lower_bound(score[:200], score[200:], seed=seed).low > 0
    assert errors <= at_most(simulations)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_laplace_mechanism_is_bounded_from_below(epsilon):
    """A count that one person changes by 1, with noise of scale 1 / epsilon."""
    rng, simulations = np.random.default_rng(1), 200
    bounds = []
    for seed in range(simulations):
        noisy = [bit + rng.laplace(scale=1 / epsilon, size=1000) for bit in (1, 0)]
        bounds.append(epsilon_lower_bound(*noisy, validity="valid", seed=seed).low)
    assert np.sum(np.array(bounds) > epsilon) <= at_most(simulations)
    assert np.mean(bounds) > 0.6 * epsilon


@pytest.mark.parametrize("sign", [1, -1])
def test_randomised_response_is_bounded_from_below_whatever_the_sign_of_the_scores(sign):
    rng, simulations, bounds = np.random.default_rng(2), 300, []
    for seed in range(simulations):
        answers = [sign * responses(rng, 2.0, np.full(1000, bit)) for bit in (True, False)]
        bounds.append(epsilon_lower_bound(*answers, validity="valid", seed=seed).low)
    assert np.sum(np.array(bounds) > 2.0) <= at_most(simulations)
    assert np.mean(bounds) > 1.6


def test_delta_is_taken_off():
    """With probability delta the mechanism tells everything, else it is randomised response."""
    rng, delta, epsilon = np.random.default_rng(3), 0.02, 0.5
    with_delta, without = [], []
    for seed in range(100):
        scores = []
        for bit in (True, False):
            score = responses(rng, epsilon, np.full(4000, bit))
            told = rng.random(4000) < delta
            scores.append(np.where(told, 10.0 if bit else -10.0, score))
        with_delta.append(epsilon_lower_bound(*scores, delta=delta, seed=seed).low)
        without.append(epsilon_lower_bound(*scores, seed=seed).low)
    assert np.sum(np.array(with_delta) > epsilon) <= at_most(100)
    assert np.mean(without) > 1.5


def test_best_of_all_thresholds_and_ratios():
    """An error of an audited tool: the largest of all thresholds' bounds, uncorrected, exceeds far too often."""
    rng, simulations = np.random.default_rng(4), 200
    greedy, ours = 0, 0
    for seed in range(simulations):
        score = rng.normal(size=1000)
        cuts = np.unique(score)
        hits, false = ((part >= cuts[:, None]).sum(1) for part in (score[:500], score[500:]))
        bounds = [epsilon_of_counts(hits, 500, false, 500), epsilon_of_counts(500 - hits, 500, 500 - false, 500)]
        greedy += np.max(bounds) > 0
        ours += epsilon_lower_bound(score[:500], score[500:], seed=seed).low > 0
    assert greedy > at_most(simulations)
    assert ours <= at_most(simulations)


def test_validity_is_what_the_caller_says():
    scores = np.arange(100.0) + 50, np.arange(100.0)
    found = epsilon_lower_bound(*scores)
    assert (found.validity, found.metric, found.high) == ("indicative", "epsilon", None)
    assert found.estimate == found.low
    assert "no proof" in found.note
    assert (found.members, found.non_members, found.seeds) == (50, 50, 1)
    valid = epsilon_lower_bound(*scores, validity="valid")
    assert (valid.validity, valid.low, valid.seeds) == ("valid", found.low, 200)
    assert "no proof" not in valid.note
    with pytest.raises(ValueError, match="validity is one of"):
        epsilon_lower_bound(*scores, validity="proven")


def test_runs_are_pooled_and_people_counted_once():
    rng = np.random.default_rng(5)
    truth = np.arange(300) < 100
    runs = [ScoredSubjects(np.arange(300), rng.normal(size=300) + 3 * truth, truth) for _ in range(4)]
    found = epsilon_of_runs(runs)
    assert found.low > 1
    assert (found.members, found.non_members, found.seeds, found.validity) == (
        50,
        100,
        4,
        "indicative",
    )  # each person once
    with pytest.raises(ValueError, match="one row per run"):
        epsilon_of_runs(runs, validity="valid")
    single = [ScoredSubjects(np.array([7]), np.array([float(k % 2)]), np.array([k % 2 == 1])) for k in range(200)]
    found = epsilon_of_runs(single, validity="valid")
    assert (found.validity, found.members, found.seeds) == ("valid", 50, 200)
    assert found.low == pytest.approx(float(epsilon_of_counts(50, 50, 0, 50)))


def test_rows_of_one_subject_do_not_choose_and_measure():
    """Noise, but twenty equal rows per subject: were they torn apart, one half would foretell the other."""
    rng, together, apart = np.random.default_rng(6), [], []
    truth = np.arange(40) < 20
    for seed in range(60):
        score = rng.normal(size=40)
        together.append(epsilon_of_runs([ScoredSubjects(np.arange(40), score, truth)] * 20, seed=seed).low)
        apart.append(epsilon_lower_bound(np.tile(score[truth], 20), np.tile(score[~truth], 20), seed=seed).low)
    assert np.mean(together) < 0.6 * np.mean(apart)


@pytest.mark.parametrize(
    ("scores", "settings", "words"),
    [
        (([1.0], []), {}, "both needed"),
        (([np.nan, 1.0], [0.0]), {}, "NaN"),
        (([1.0, 2.0], [0.0, 1.0]), {"delta": 1.0}, "delta"),
        (([1.0, 2.0], [0.0, 1.0]), {"level": 95}, "fraction"),
    ],
)
def test_unusable_trials_are_refused(scores, settings, words):
    with pytest.raises(ValueError, match=words):
        epsilon_lower_bound(*scores, **settings)
    with pytest.raises(ValueError, match="at least one run"):
        epsilon_of_runs([])


def test_one_trial_cannot_be_halved():
    found = epsilon_lower_bound([1.0], [0.0])
    assert (found.estimate, found.low) == (None, None)
    assert "either half" in found.note
    assert epsilon_lower_bound([1.0], [0.0], threshold=0.5).low == 0.0


# --- one run


def all_right(guesses):
    included = np.arange(guesses) < guesses // 2
    return one_run_epsilon(included, included.astype(float), guesses // 2, guesses - guesses // 2).low


@pytest.mark.parametrize(("guesses", "ceiling"), [(50, 2.78), (100, 3.49), (1000, 5.81)])
def test_one_run_ceiling(guesses, ceiling):
    assert all_right(guesses) == pytest.approx(ceiling, abs=5e-3)


@pytest.mark.parametrize(("delta", "bound"), [(0.0, 2.172), (1e-5, 2.165), (1e-3, 0.594)])
def test_one_run_with_95_of_100_right_among_1000_canaries(delta, bound):
    # in the order of the scores: three of the lowest fifty were in, two of the highest fifty were out
    included = np.array([False] * 47 + [True] * 3 + [True, False] * 450 + [True] * 48 + [False] * 2)
    found = one_run_epsilon(included, np.arange(1000), 50, 50, delta=delta, validity="valid")
    assert found.note.startswith("95 of 100 guesses right")
    assert found.low == pytest.approx(bound, abs=6e-4)


def test_one_run_without_delta_is_clopper_and_pearson():
    included = np.arange(60) >= 30
    score = np.arange(60.0)
    score[[2, 40]] = [59.5, -1.0]  # one of twenty guesses wrong on each side
    share = beta.ppf(0.05, 38, 3)
    found = one_run_epsilon(included, score, 20, 20)
    assert found.low == pytest.approx(np.log(share / (1 - share)))
    assert (found.estimate, found.high, found.validity) == (found.low, None, "indicative")
    assert (found.members, found.non_members) == (30, 30)


def test_one_run_p_value_is_that_of_the_theorem():
    right, guesses, correct, canaries, delta = 1 / (1 + np.exp(-0.7)), 40, 30, 200, 1e-4
    tails = [binom.sf(correct - 1 - i, guesses, right) - binom.sf(correct - 1, guesses, right) for i in range(41)]
    alpha = max(tails[i] / i for i in range(1, correct + 1))
    expected = binom.sf(correct - 1, guesses, right) + 2 * canaries * delta * alpha
    assert one_run_p_value(correct, guesses, canaries, 0.7, delta) == pytest.approx(expected)
    assert one_run_p_value(0, guesses, canaries, 0.7, delta) == 1.0
    grid = [one_run_p_value(correct, guesses, canaries, e, 1e-3) for e in np.linspace(0, 8, 200)]
    assert (np.diff(grid) >= 0).all()  # so that the largest rejected epsilon is found by bisection


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_one_run_bounds_randomised_response_from_below(epsilon):
    rng, simulations, bounds = np.random.default_rng(7), 400, []
    for _ in range(simulations):
        coins = rng.random(500) < 0.5
        # randomised response tells one bit each; what breaks ties among equal bits is noise
        score = responses(rng, epsilon, coins) + 0.5 * rng.random(500)
        bounds.append(one_run_epsilon(coins, score, 100, 100, validity="valid").low)
    assert np.sum(np.array(bounds) > epsilon) <= at_most(simulations)
    assert np.mean(bounds) >= 0.6 * epsilon


def test_maximum_over_numbers_of_guesses():
    """An error of an audited tool: the bound was the best of a grid of (k_plus, k_minus), on the same scores."""
    rng, simulations, numbers = np.random.default_rng(8), 100, (0, 5, 10, 20, 40, 80, 120, 160)
    greedy, ours = 0, 0
    for _ in range(simulations):
        coins, score = rng.random(400) < 0.5, rng.random(400)
        grid = [(up, down) for up in numbers for down in numbers if up + down]
        greedy += max(one_run_epsilon(coins, score, up, down).low for up, down in grid) > 0
        ours += one_run_epsilon(coins, score, 80, 80).low > 0
    assert greedy > 0.25 * simulations
    assert ours <= at_most(simulations)


@pytest.mark.parametrize("in_first", [True, False])
def test_one_run_is_not_taken_in_by_ties_and_order(in_first):
    coins = (np.arange(100) < 50) == in_first
    found = one_run_epsilon(coins, np.zeros(100), 50, 50)
    assert (found.low, found.note[found.note.index("0 of") :][:25]) == (0.0, "0 of 100 guesses right; a")
    rng = np.random.default_rng(9)
    score = np.round(rng.normal(size=100) + 2 * coins, 1)
    order = rng.permutation(100)
    assert one_run_epsilon(coins, score, 20, 20) == one_run_epsilon(coins[order], score[order], 20, 20)


@pytest.mark.parametrize(
    ("numbers", "words"), [((0, 0), "guesses are possible"), ((6, 5), "10 guesses"), ((-1, 3), "guesses")]
)
def test_impossible_numbers_of_guesses_are_refused(numbers, words):
    coins = np.arange(10) < 5
    with pytest.raises(ValueError, match=words):
        one_run_epsilon(coins, np.arange(10.0), *numbers)
    with pytest.raises(ValueError, match="both needed"):
        one_run_epsilon(np.ones(10, dtype=bool), np.arange(10.0), 2, 2)


def test_more_runs_on_the_same_people_are_no_more_trials():
    """Nothing leaks, but scores go with persons: with the same members in all runs a bound above 0 is an error."""
    wrong, runs = 0, 150
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        truth, person = np.arange(600) < 100, rng.normal(size=600)
        again = [ScoredSubjects(np.arange(600), person + 0.3 * rng.normal(size=600), truth) for _ in range(10)]
        wrong += epsilon_of_runs(again).low > 0
    assert wrong <= at_most(runs)
    assert epsilon_of_runs(again).members <= 100


def test_runs_with_new_members_are_more_trials():
    rng = np.random.default_rng(0)
    few, more = ([leaking(rng) for _ in range(count)] for count in (1, 8))
    assert epsilon_of_runs(more).low > epsilon_of_runs(few).low
    assert epsilon_of_runs(more).members > 8 * 40


def leaking(rng):
    truth = rng.permutation(300) < 100
    return ScoredSubjects(np.arange(300), rng.normal(size=300) + 2 * truth, truth)

"""Rates at a threshold: exact cases, what cannot be measured, and coverage in worlds whose truth is known.

A coverage test passes when the share of intervals that hold the truth is at least 95 % minus two standard
errors of that share; an interval with exactly 95 % coverage would fail it with probability 2.5 %, were the seeds
not fixed. benchmarks/interval_coverage.py measures more settings with more repetitions.
"""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, norm

from gaudit.audit.statistics.balanced_accuracy import (
    advantage_finding,
    balanced_accuracy_finding,
    crossed_thresholds,
    halves,
)
from gaudit.audit.statistics.rates import roc, tpr_at_fpr, tpr_at_fpr_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects


def world(rng, *, runs=1, members=140, others=1000, shift=1.0, drift=0.0, wander=0.0, subjects="same"):
    """Binormal runs; half of a score's variance belongs to the subject.

    ``drift`` is the standard deviation of the members' shift over runs, ``wander`` that of all scores of a run.
    """
    size, out = members + others, []
    own = rng.normal(size=size)
    for run in range(runs):
        truth, ids = np.arange(size) < members, np.arange(size)
        if subjects == "fresh":
            own, ids = rng.normal(size=size), ids + run * size
        if subjects == "redrawn":
            truth = rng.permutation(truth)
        score = np.sqrt(0.5) * (own + rng.normal(size=size))
        score += truth * (shift + drift * rng.normal()) + wander * rng.normal()
        out.append(ScoredSubjects(ids, score, truth))
    return out


def true_tpr(shift, fpr, drift=0.0, wander=0.0):
    threshold = norm.isf(fpr) * np.sqrt(1 + wander**2)
    return norm.sf((threshold - shift) / np.sqrt(1 + drift**2 + wander**2))


def assert_covers(make, truth, simulations, seed=0):
    rng = np.random.default_rng(seed)
    found = [make(rng) for _ in range(simulations)]
    covered = np.mean([f.low <= truth <= f.high for f in found])
    assert covered >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / simulations), covered
    return found


# --- TPR at a fixed FPR


def brute_tpr(truth, score, fpr):
    best = 0.0
    for threshold in [-np.inf, *score]:
        if (score[~truth] > threshold).mean() <= fpr + 1e-12:
            best = max(best, float((score[truth] > threshold).mean()))
    return best


@pytest.mark.parametrize("ties", [True, False])
def test_tpr_is_the_best_achievable_one(ties):
    rng = np.random.default_rng(7)
    for _ in range(20):
        truth = np.arange(340) < 40
        score = rng.normal(size=340) + truth
        if ties:
            score = np.round(score * 2)
        assert tpr_at_fpr(truth, score, 0.05) == pytest.approx(brute_tpr(truth, score, 0.05))


def test_tpr_needs_ten_false_positives():
    truth = np.arange(200) < 100
    score = np.random.default_rng(8).normal(size=200)
    assert tpr_at_fpr(truth, score, 0.01) is None
    assert tpr_at_fpr(truth, score, 0.1) is not None
    found = tpr_at_fpr_finding([ScoredSubjects(np.arange(200), score, truth)], 0.01)
    assert (found.estimate, found.low, found.high) == (None, None, None)
    assert "needs at least 1000 non-members" in found.note
    assert found.text() == "not measurable"


def test_tpr_at_the_resolution_limit_is_measurable_in_spite_of_rounding():
    for fpr, others in ((0.01, 1000), (0.001, 10_000), (0.07, 143), (0.003, 3334)):
        truth = np.arange(10 + others) < 10
        assert tpr_at_fpr(truth, np.arange(10.0 + others)[::-1], fpr) == 1.0


def test_tpr_interval_repeats_with_its_seed():
    runs = world(np.random.default_rng(9), runs=2)
    first, again = (tpr_at_fpr_finding(runs, 0.01, resamples=100, seed=3) for _ in range(2))
    assert first == again
    assert first != tpr_at_fpr_finding(runs, 0.01, resamples=100, seed=4)


@pytest.mark.parametrize(
    ("name", "shift", "drift", "options", "simulations"),
    [
        ("null", 0.0, 0.0, {}, 150),
        ("weak", 1.0, 0.0, {}, 150),
        ("strong", 2.5, 0.0, {}, 150),
        ("five seeds, same subjects", 1.0, 0.2, {"runs": 5}, 150),
        ("five seeds, new subjects", 1.0, 0.2, {"runs": 5, "subjects": "fresh"}, 150),
    ],
)
def test_tpr_interval_covers_the_population_tpr_at_the_population_threshold(
    name, shift, drift, options, simulations
):
    def make(rng):
        runs = world(rng, shift=shift, drift=drift, **options)
        return tpr_at_fpr_finding(runs, 0.01, resamples=200, seed=int(rng.integers(2**31)))

    found = assert_covers(make, true_tpr(shift, 0.01, drift), simulations, seed=len(name))
    assert {f.validity for f in found} == {"heuristic"}


@pytest.mark.parametrize(("members", "others", "shift"), [(1000, 1000, 0.9), (1000, 1000, 2.5), (140, 1000, 0.9)])
def test_each_end_at_ten_false_positives_is_a_bound_by_itself(members, others, shift):
    """Either end of a 90 % interval misses in 5 % of worlds at most; if exactly so many, this errs once in 1000."""
    rng, times, missed = np.random.default_rng(12), 300, np.zeros(2)
    truth = true_tpr(shift, 0.01)
    for _ in range(times):
        runs = world(rng, members=members, others=others, shift=shift)
        found = tpr_at_fpr_finding(runs, 0.01, 0.9, resamples=200)
        missed += found.low > truth, found.high < truth
    assert missed.max() <= binom.isf(0.001, times, 0.05)


def test_ten_seeds_with_the_same_thirty_members_do_not_show_that_nobody_is_exposed():
    """One in 25 is, who may not be among the thirty: the upper end is too low in 5 % of worlds, and was in 30 %."""
    rng, members, simulations = np.random.default_rng(11), 30, 60
    truth, ids, share = np.arange(members + 1000) < members, np.arange(members + 1000), 0.04
    below = 0
    for _ in range(simulations):
        exposed = 6 * (rng.random(members) < share)
        scores = rng.normal(size=(10, members + 1000))
        scores[:, :members] += exposed
        found = tpr_at_fpr_finding(
            [ScoredSubjects(ids, score, truth) for score in scores], 0.01, 0.9, resamples=200
        )
        below += found.high < share + (1 - share) * 0.01
    assert below <= 0.05 * simulations + 3 * np.sqrt(0.05 * 0.95 * simulations)


def test_interpolating_thresholds_below_one_in_n():
    """An error of an audited tool: 100 non-members gave a "TPR at 0.00001 % FPR", 171 a TPR of 0 at 0.1 %."""
    truth = np.arange(200) < 100
    score = np.random.default_rng(10).normal(size=200) + 3 * truth
    for fpr in (1e-7, 0.001, 0.05):
        assert tpr_at_fpr(truth, score, fpr) is None
        assert tpr_at_fpr_finding([ScoredSubjects(np.arange(200), score, truth)], fpr).estimate is None
    curve = roc([ScoredSubjects(np.arange(200), score, truth)])
    assert set(np.round(curve.fpr * 100, 9)) <= set(range(101))
    assert curve.measurable == 0.1


def test_rates_in_percent():
    """An error of an audited tool: a rate in percent made TPR@FPR a hundred times too lenient."""
    (run,) = world(np.random.default_rng(11), others=5000)
    flagged = np.sort(run.score[~run.truth])[-50 - 1]  # 1 % of 5000 score above
    assert tpr_at_fpr(run.truth, run.score, 0.01) == (run.score[run.truth] > flagged).mean()
    for percent in (1.0, 5, 0.0, -0.1):
        with pytest.raises(ValueError, match="a fraction between 0 and 1"):
            tpr_at_fpr(run.truth, run.score, percent)


@pytest.mark.parametrize("members_first", [True, False])
def test_constant_scores_flag_nobody(members_first):
    truth = (np.arange(2000) < 1000) == members_first
    run = ScoredSubjects(np.arange(2000), np.full(2000, 0.3), truth)
    assert tpr_at_fpr(truth, run.score, 0.01) == 0.0
    found = tpr_at_fpr_finding([run], 0.01, resamples=50)
    assert (found.estimate, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 1000))
    assert "all scores equal" in found.note
    for measure, chance in ((balanced_accuracy_finding, 0.5), (advantage_finding, 0.0)):
        found = measure([run])
        assert found.estimate == chance
        assert found.low < chance < found.high
    assert (roc([run]).fpr.tolist(), roc([run]).tpr.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_tied_scores_are_not_flagged():
    truth = np.arange(1200) < 200
    score = np.where(truth, 1.0, np.arange(1200) % 20 == 0)  # 5 % of the non-members score like members
    assert tpr_at_fpr(truth, score, 0.04) == 0.0
    assert tpr_at_fpr(truth, score, 0.05) == 1.0
    note = tpr_at_fpr_finding([ScoredSubjects(np.arange(1200), score, truth)], 0.04, resamples=50).note
    assert "tied scores: achieved FPR only 0" in note


# --- TPR at an FPR that only all runs together resolve


def test_five_runs_together_measure_what_one_cannot():
    runs = world(np.random.default_rng(12), runs=5, others=300, subjects="redrawn")
    found = tpr_at_fpr_finding(runs, 0.01, resamples=100)
    pooled = [np.concatenate([getattr(run, part) for run in runs]) for part in ("truth", "score")]
    assert found.estimate == tpr_at_fpr(*pooled, 0.01)
    assert found.low < found.estimate < found.high
    assert "scores pooled over runs" in found.note
    assert "jackknife by run" in found.method
    for too_few in (runs[:4], world(np.random.default_rng(12), runs=5, others=180)):
        assert tpr_at_fpr_finding(too_few, 0.01).estimate is None
    enough = world(np.random.default_rng(12), runs=2, others=1000)
    assert "pooled" not in tpr_at_fpr_finding(enough, 0.01, resamples=50).note
    assert "needs at least 10000 non-members" in tpr_at_fpr_finding(runs, 0.001).note
    assert "has 1500 in 5 runs" in tpr_at_fpr_finding(runs, 0.001).note


def test_pooled_tpr_does_not_depend_on_the_order_of_rows_and_runs_or_on_the_scale():
    rng = np.random.default_rng(13)
    runs = world(rng, runs=6, others=300, drift=0.3)
    shuffled = [run.where(rng.permutation(len(run.truth))) for run in runs]
    stretched = [ScoredSubjects(run.subjects, np.exp(3 * run.score) - 5, run.truth) for run in runs]
    plain = tpr_at_fpr_finding(runs, 0.01, resamples=300)
    for other in (shuffled, stretched):
        same = tpr_at_fpr_finding(other, 0.01, resamples=300)
        assert (same.estimate, same.low, same.high) == pytest.approx((plain.estimate, plain.low, plain.high))
    back = tpr_at_fpr_finding(runs[::-1], 0.01, resamples=300)  # other bootstrap weights for the pseudo-subjects
    assert (back.estimate, back.low, back.high) == pytest.approx((plain.estimate, plain.low, plain.high), rel=0.1)


def test_equal_runs_say_no_more_about_the_subjects_than_their_sample():
    """Ten copies of a run that resolves nothing alone: the subjects' noise must not shrink with the copies."""
    (run,) = world(np.random.default_rng(14), members=400, others=300)
    five, twenty = (tpr_at_fpr_finding([run] * count, 0.01, resamples=600) for count in (5, 20))
    assert five.estimate == twenty.estimate
    assert twenty.high - twenty.low == pytest.approx(five.high - five.low, rel=0.1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("same subjects", {"members": 600, "others": 300}),
        ("membership redrawn", {"members": 140, "others": 300, "subjects": "redrawn"}),
        ("new subjects", {"members": 140, "others": 300, "subjects": "fresh"}),
        ("fifteen runs of the same subjects", {"members": 140, "others": 150, "runs": 15}),
        ("members differ from run to run", {"members": 300, "others": 300, "drift": 0.4}),
        ("all scores differ from run to run", {"members": 300, "others": 300, "wander": 0.4, "runs": 10}),
    ],
)
def test_pooled_tpr_interval_covers_the_population_tpr(name, options):
    options = {"runs": 5, **options}

    def make(rng):
        return tpr_at_fpr_finding(world(rng, **options), 0.01, resamples=150, seed=int(rng.integers(2**31)))

    truth = true_tpr(1.0, 0.01, options.get("drift", 0.0), options.get("wander", 0.0))
    found = assert_covers(make, truth, 120, seed=len(name))
    assert {f.validity for f in found} == {"heuristic"}


# --- ROC


@pytest.mark.parametrize("ties", [True, False])
def test_roc_vertices_are_achievable_and_thinned(ties):
    runs = world(np.random.default_rng(15), runs=3, others=3000)
    if ties:
        runs = [ScoredSubjects(run.subjects, np.round(run.score * 20), run.truth) for run in runs]
    truth, score = (np.concatenate([getattr(run, part) for run in runs]) for part in ("truth", "score"))
    curve = roc(runs)
    assert len(curve.fpr) == len(curve.tpr) <= 200
    assert (np.diff(curve.fpr) > 0).all()
    assert (np.diff(curve.tpr) >= 0).all()
    assert (curve.fpr[0], curve.fpr[-1], curve.tpr[-1]) == (0.0, 1.0, 1.0)
    assert (curve.measurable, curve.members, curve.non_members) == (10 / 9000, 420, 9000)
    thresholds = np.append(np.unique(score), np.inf)
    false, true = (
        1 - np.searchsorted(np.sort(score[kind]), thresholds, side="left") / kind.sum() for kind in (~truth, truth)
    )
    for fpr, tpr in zip(curve.fpr, curve.tpr, strict=True):
        assert np.abs(false - fpr).min() < 1e-12
        assert tpr == pytest.approx(true[false <= fpr + 1e-12].max())


def test_roc_of_a_large_sample_is_fine_where_the_axis_is_logarithmic():
    curve = roc(world(np.random.default_rng(16), runs=5, others=20_000))
    assert len(curve.fpr) <= 200
    for decade in (1e-4, 1e-3, 1e-2, 1e-1):
        assert ((curve.fpr >= decade) & (curve.fpr < 10 * decade)).sum() >= 15


def test_roc_says_that_nothing_is_measurable():
    assert roc([ScoredSubjects(np.arange(6), np.arange(6.0), np.arange(6) > 2)]).measurable > 1


# --- advantage and balanced accuracy


def test_a_threshold_set_beforehand_is_used_as_it_is():
    (run,) = world(np.random.default_rng(17))
    tpr, fpr = ((run.score[kind] >= 0.7).mean() for kind in (run.truth, ~run.truth))
    assert advantage_finding([run], threshold=0.7).estimate == pytest.approx(tpr - fpr)
    found = balanced_accuracy_finding([run], threshold=0.7)
    assert found.estimate == pytest.approx((tpr + 1 - fpr) / 2)
    variance = tpr * (1 - tpr) / 139 + fpr * (1 - fpr) / 999
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * np.sqrt(variance) / 2, rel=0.03)
    assert "set beforehand" in found.method


def test_the_maximum_over_thresholds_is_not_reported():
    """On pure noise the maximum over thresholds is positive; what is reported is not."""
    rng, best, ours = np.random.default_rng(18), [], []
    for _ in range(200):
        (run,) = world(rng, members=60, others=60, shift=0.0)
        thresholds = np.unique(run.score)
        rates = [(run.score[kind] >= thresholds[:, None]).mean(1) for kind in (run.truth, ~run.truth)]
        best.append((rates[0] - rates[1]).max())
        ours.append(advantage_finding([run]).estimate)
    assert np.mean(best) > 0.1
    assert abs(np.mean(ours)) < 3 * np.std(ours) / np.sqrt(200)


def test_halves_keep_a_subject_together_and_share_out_the_members():
    runs = world(np.random.default_rng(19), runs=3, subjects="redrawn")
    again = ScoredSubjects(np.tile(runs[0].subjects, 2), np.tile(runs[0].score, 2), np.tile(runs[0].truth, 2))
    first, second, _, both = halves([*runs, again], seed=0)
    assert np.array_equal(first, second)
    assert np.array_equal(both, np.tile(first, 2))
    assert (first[runs[0].truth].sum(), first[~runs[0].truth].sum()) == (70, 500)
    assert not np.array_equal(first, halves(runs, seed=1)[0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("null", {"shift": 0.0}),
        ("one run", {}),
        ("strong", {"shift": 2.5}),
        ("balanced", {"members": 600, "others": 600}),
        ("five runs", {"runs": 5, "drift": 0.3}),
        ("five runs, membership redrawn", {"runs": 5, "drift": 0.3, "subjects": "redrawn"}),
    ],
)
def test_advantage_interval_covers_the_population_advantage_at_its_thresholds(name, options):
    shift, drift = options.get("shift", 1.0), options.get("drift", 0.0)

    def rates(thresholds):
        return norm.sf((thresholds - shift) / np.sqrt(1 + drift**2)), norm.sf(thresholds)

    def covered(runs):
        found, parts = advantage_finding(runs), []
        for run, cuts in zip(runs, crossed_thresholds(runs), strict=True):
            inside, outside = (np.nan_to_num(rate) for rate in rates(cuts))  # NaN flags nobody
            parts.append(inside[run.truth].mean() - outside[~run.truth].mean())
        return found.low <= np.mean(parts) <= found.high

    simulations, rng = 300, np.random.default_rng(len(name))
    share = np.mean([covered(world(rng, **options)) for _ in range(simulations)])
    assert share >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / simulations), share
    inside, outside = rates(0.5)
    assert_covers(
        lambda rng: advantage_finding(world(rng, **options), threshold=0.5), inside - outside, simulations
    )


@pytest.mark.parametrize("threshold", [2.5, -2.5])
@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_advantage_of_a_threshold_that_flags_few_or_nearly_all_covers(threshold, shift):
    """Often no member at all is flagged: the sample then shows no variance where there is one."""
    truth = norm.sf(threshold - shift) - norm.sf(threshold)
    assert_covers(lambda rng: advantage_finding(world(rng, shift=shift), threshold=threshold), truth, 300)


def test_advantage_is_the_balanced_accuracy_on_another_scale():
    runs = world(np.random.default_rng(20), runs=3)
    gain, share = advantage_finding(runs), balanced_accuracy_finding(runs)
    assert (gain.metric, share.metric, gain.validity) == ("advantage", "balanced accuracy", "valid")
    for name in ("estimate", "low", "high"):
        assert getattr(gain, name) == pytest.approx(2 * getattr(share, name) - 1)
    assert "other half" in gain.method
    assert advantage_finding(world(np.random.default_rng(20), members=10)).validity == "indicative"
    perfect = np.arange(80) < 40
    found = advantage_finding([ScoredSubjects(np.arange(80), perfect.astype(float), perfect)])
    assert (found.estimate, found.low) == (1.0, pytest.approx(2 * 0.025 ** (1 / 40) - 1))


def test_a_single_member_cannot_be_halved():
    run = ScoredSubjects(np.arange(50), np.arange(50.0), np.arange(50) == 49)
    found = advantage_finding([run])
    assert (found.estimate, found.validity) == (None, "indicative")
    assert "either half" in found.note
    assert advantage_finding([run], threshold=49.0).estimate == 1.0


@pytest.mark.parametrize(
    "measure", [partial(tpr_at_fpr_finding, fpr=0.1), advantage_finding, balanced_accuracy_finding, roc]
)
def test_unusable_scores_are_refused(measure):
    for truth, score, words in (
        ([True, True], [0.1, 0.2], "members and non-members are both needed"),
        ([True, False], [0.1, np.nan], "1 of 2 scores are NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            measure([ScoredSubjects(np.arange(2), np.array(score), np.array(truth))])
    with pytest.raises(ValueError, match="at least one run"):
        measure([])

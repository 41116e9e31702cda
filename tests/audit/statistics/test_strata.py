"""Comparison within strata of what is public, and intervals by cluster: brute force, and coverage by simulation.

A coverage test passes at 95 % minus two standard errors of the share.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from gaudit.audit.statistics.metrics import auc_difference, auc_finding, auc_of_run
from gaudit.audit.statistics.rates import tpr_at_fpr_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects

SIZES = (64, 77, 120, 180, 200, 359)
"""Non-members of each class; members are twenty of each, as in the splits of citation graphs."""


def by_class(rng, shift=0.0, told=1.5, seeds=1, sizes=SIZES, members=20):
    """Scores that also tell the class."""
    strata = np.concatenate([np.full(size + members, c) for c, size in enumerate(sizes)])
    truth = np.concatenate([np.arange(size + members) < members for size in sizes])
    own = rng.normal(size=(1 + seeds, len(truth))) / np.sqrt(2)
    scores = [own[0] + noise + shift * truth - told * strata for noise in own[1:]]
    return [ScoredSubjects(np.arange(len(truth)), score, truth, strata=strata) for score in scores]


def in_communities(rng, groups=30, size=33, correlation=0.3, seeds=1, follow=True):
    """Nobody is told; people of one community have scores alike, and communities are in as wholes if ``follow``."""
    cluster = np.repeat(np.arange(2 * groups), size)
    truth = cluster < groups
    if not follow:
        truth = rng.permutation(truth)
    alike = np.sqrt(correlation) * rng.normal(size=2 * groups)[cluster]
    own = alike + np.sqrt(1 - correlation) * rng.normal(size=len(cluster))
    scores = [(own + rng.normal(size=len(own)) * (seeds > 1)) for _ in range(seeds)]
    return [ScoredSubjects(np.arange(len(own)), score, truth, clusters=cluster) for score in scores]


def covers(make, truth, worlds=300):
    rng = np.random.default_rng(0)
    found = [make(rng) for _ in range(worlds)]
    share = np.mean([f.low <= truth <= f.high for f in found])
    assert share >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / worlds), share
    return found


def test_the_auc_within_strata_is_the_members_mean_of_the_strata():
    run = by_class(np.random.default_rng(3), shift=0.7, sizes=(9, 30, 4), members=6)[0]
    parts = [roc_auc_score(run.truth[run.strata == c], run.score[run.strata == c]) for c in range(3)]
    assert auc_of_run(run) == pytest.approx(np.mean(parts))
    assert auc_finding([run]).estimate == pytest.approx(np.mean(parts))


def test_a_score_that_is_the_class_tells_nothing_within_it():
    run = by_class(np.random.default_rng(0))[0]
    run = replace(run, score=-run.strata.astype(float))
    assert auc_finding([replace(run, strata=None)]).low > 0.55  # plainly, the class alone tells
    assert auc_finding([run]).estimate == 0.5
    assert tpr_at_fpr_finding([run.standardised()], 0.05).estimate == 0.0


@pytest.mark.parametrize("shift", [0.0, 0.9, 2.5])
@pytest.mark.parametrize("seeds", [1, 3])
def test_intervals_within_strata_hold_the_truth(shift, seeds):
    covers(lambda rng: auc_finding(by_class(rng, shift, seeds=seeds)), norm.cdf(shift / np.sqrt(2)))


def test_intervals_within_small_strata_hold_the_truth():
    covers(
        lambda rng: auc_finding(by_class(rng, 0.9, sizes=(3, 5, 8, 10, 20), members=4)), norm.cdf(0.9 / np.sqrt(2))
    )


@pytest.mark.parametrize("shift", [0.0, 0.9])
def test_the_rate_within_strata_holds_the_truth(shift):
    def rate(rng):
        return tpr_at_fpr_finding([r.standardised() for r in by_class(rng, shift)], 0.05, resamples=200)

    covers(rate, norm.sf(norm.isf(0.05) - shift), worlds=200)


def test_standardised_scores_keep_order_and_ties_within_a_stratum():
    rng = np.random.default_rng(1)
    run = by_class(rng, sizes=(40, 60), members=10)[0]
    run = replace(run, score=run.score.round(0))
    told = run.standardised()
    for c in range(2):
        inside = run.strata == c
        best = run.score[inside & ~run.truth].max()
        before, after = np.minimum(run.score[inside], best), told.score[inside]
        assert np.array_equal(np.sign(before[:, None] - before), np.sign((after[:, None] - after).round(12)))


def test_whoever_is_compared_with_nobody_is_left_out():
    run = ScoredSubjects(
        np.arange(6), np.arange(6.0), np.array([1, 0, 1, 1, 0, 0], bool), strata=np.array([0, 0, 1, 1, 2, 2])
    )
    assert run.compared().subjects.tolist() == [0, 1]
    assert auc_of_run(run) == 0.0
    alone = run.where(np.array([2, 3, 4, 5]))
    assert auc_of_run(alone) is None
    assert auc_finding([alone]).estimate is None
    assert "no member shares" in auc_finding([alone]).note
    assert auc_difference([alone], [alone]).estimate is None


def test_the_null_control_permutes_within_strata():
    run = by_class(np.random.default_rng(2))[0]
    mixed = run.scrambled(np.random.default_rng(0))
    assert not np.array_equal(mixed.truth, run.truth)
    assert np.array_equal(np.bincount(run.strata[run.truth]), np.bincount(mixed.strata[mixed.truth]))


@pytest.mark.parametrize(("groups", "size"), [(30, 33), (5, 200), (3, 300)])
def test_intervals_by_cluster_hold_the_truth(groups, size):
    found = covers(lambda rng: auc_finding(in_communities(rng, groups, size)), 0.5)
    assert all("design effect" in f.note for f in found)


def test_intervals_that_take_people_of_a_community_for_independent_do_not():
    rng = np.random.default_rng(0)
    naive = [auc_finding([replace(run, clusters=None) for run in in_communities(rng)]) for _ in range(300)]
    assert np.mean([f.low <= 0.5 <= f.high for f in naive]) < 0.6


def test_intervals_by_cluster_over_seeds_hold_the_truth():
    covers(lambda rng: auc_finding(in_communities(rng, seeds=3)), 0.5)


def test_differences_by_cluster_hold_the_truth():
    def beside_noise(rng):
        runs = in_communities(rng)
        return auc_difference(runs, [replace(r, score=rng.normal(size=len(r.score))) for r in runs])

    covers(beside_noise, 0.0)


@pytest.mark.parametrize(("groups", "size"), [(30, 33), (10, 100)])
def test_rates_by_cluster_hold_the_truth(groups, size):
    covers(lambda rng: tpr_at_fpr_finding(in_communities(rng, groups, size), 0.05, resamples=200), 0.05, 200)


def test_members_of_one_cluster_have_no_valid_interval():
    runs = in_communities(np.random.default_rng(0), groups=1)
    found = auc_finding(runs)
    assert found.validity == "indicative"
    assert "too few clusters" in found.note

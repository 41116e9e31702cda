"""Metrics whose subjects are pairs of nodes: two pairs that share a node are not independent."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from gaudit.audit.statistics.average_precision import (
    average_precision_finding,
    precision_at_members,
    precision_finding,
)
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.audit.statistics.rates import tpr_at_fpr_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects

LEVEL = 0.95


def drawn(rng: np.random.Generator, nodes: int, effect: float, density: float = 0.15) -> ScoredSubjects:
    """Edges at random; scores with an effect of each node on the pairs that it is an end of."""
    low, high = np.triu_indices(nodes, 1)
    node = effect * rng.normal(size=nodes)
    # a node's effect counts for its edges and against its non-edges: then it moves the AUC
    truth = rng.random(len(low)) < density
    sign = np.where(truth, 1.0, -1.0)
    score = 0.5 * truth + sign * (node[low] + node[high]) + rng.normal(size=len(low))
    return ScoredSubjects(low * nodes + high, score, truth, nodes)


def coverage(finding, effect: float, repetitions: int, aware: bool, nodes: int = 50) -> float:
    rng = np.random.default_rng(0)
    runs = [drawn(rng, nodes, effect) for _ in range(repetitions)]
    asked = runs if aware else [ScoredSubjects(r.subjects, r.score, r.truth) for r in runs]
    found = [finding([r]) for r in asked]
    target = np.mean([f.estimate for f in found])
    return float(np.mean([f.low <= target <= f.high for f in found]))


def test_auc_intervals_cover_where_nodes_have_effects():
    """Binomial standard error of 200 repetitions at 95 %: 1.5 points."""
    assert coverage(auc_finding, 0.5, 200, aware=True) > 0.89
    assert coverage(auc_finding, 0.5, 200, aware=False) < 0.6  # what taking pairs for independent does


def test_auc_intervals_cover_where_they_have_none():
    assert 0.91 < coverage(auc_finding, 0.0, 200, aware=True) <= 1


def test_tpr_intervals_cover_where_nodes_have_effects():
    def finding(runs):
        return tpr_at_fpr_finding(runs, 0.05, resamples=200)

    assert coverage(finding, 0.5, 60, aware=True) > 0.85
    assert coverage(finding, 0.5, 60, aware=False) < 0.8


@pytest.mark.parametrize("times", [1, 4])
def test_a_non_edge_counts_as_many_times_as_it_stands_for(times):
    rng = np.random.default_rng(1)
    truth = rng.random(400) < 0.2
    score = (rng.normal(size=400) + truth).round(1)  # with ties
    run = ScoredSubjects(np.arange(400), score, truth, None, float(times))
    repeated = np.concatenate([np.flatnonzero(truth), np.repeat(np.flatnonzero(~truth), times)])
    expected = average_precision_score(truth[repeated], score[repeated])
    assert average_precision_finding([run]).estimate == pytest.approx(expected)
    assert precision_at_members(run) == _guessed(truth[repeated], score[repeated])


def _guessed(truth: np.ndarray, score: np.ndarray):
    """By drawing the order of ties at random many times."""
    rng, count = np.random.default_rng(0), int(truth.sum())
    shares = []
    for _ in range(4000):
        order = np.lexsort((rng.random(len(score)), -score))
        shares.append(truth[order[:count]].mean())
    return pytest.approx(float(np.mean(shares)), abs=0.002)


def test_precision_of_a_perfect_and_of_a_blind_guess():
    truth = np.arange(1000) < 50
    perfect = ScoredSubjects(np.arange(1000), truth.astype(float), truth, None, 10.0)
    blind = ScoredSubjects(np.arange(1000), np.zeros(1000), truth, None, 10.0)
    assert precision_at_members(perfect) == 1
    assert precision_at_members(blind) == pytest.approx(50 / (50 + 9500))
    assert "% of all pairs are edges" in precision_finding([blind]).note

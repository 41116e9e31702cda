"""The null control: it holds for sound scoring, fails for what knows the truth, and says where it cannot."""

from itertools import combinations

import numpy as np
import pytest

from gaudit.audit.statistics.metrics import auc
from gaudit.audit.statistics.null_control import CANNOT_TELL, _under_permutation, null_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects


def run_of(rng, members: int, others: int, leak: float = 0.0, kind: type[ScoredSubjects] = ScoredSubjects):
    truth = np.arange(members + others) < members
    return kind(np.arange(members + others), rng.normal(size=len(truth)) + leak * truth, truth)


def holds(found) -> bool:
    return found.low <= 0.5 <= found.high


class Unscrambled(ScoredSubjects):
    """Its permutation permutes nothing."""

    def scrambled(self, rng):
        return self


class Follower(ScoredSubjects):
    """Its scores are read off the permuted truth, weakly."""

    def scrambled(self, rng):
        truth = rng.permutation(self.truth)
        return ScoredSubjects(self.subjects, self.score + 1.0 * truth, truth)


@pytest.mark.parametrize("kind", [Unscrambled, Follower])
@pytest.mark.parametrize(
    ("seeds", "members", "others"), [(1, 140, 1000), (3, 20, 200), (3, 140, 1000), (5, 20, 20)]
)
def test_scoring_that_knows_the_permuted_truth_fails_with_one_and_with_three_seeds(kind, seeds, members, others):
    """With Student's t over three seeds such an interval was [0, 1]."""
    rng = np.random.default_rng(0)
    found = null_finding([run_of(rng, members, others, 1.0, kind) for _ in range(seeds)])
    assert not holds(found)
    assert found.high - found.low < 0.5


def test_knowing_one_permutation_of_many_is_enough_to_fail():
    truth = np.arange(400) < 150
    known = np.random.default_rng(0).permutation(truth).astype(float)
    assert not holds(null_finding([ScoredSubjects(np.arange(400), known, truth)]))


@pytest.mark.parametrize(
    "score",
    [
        lambda rng, truth: rng.normal(size=len(truth)) + 3 * truth,
        lambda rng, truth: (rng.random(len(truth)) < 0.02).astype(float),
        lambda rng, truth: (np.arange(len(truth)) == 0).astype(float),
        lambda rng, truth: np.exp(8 * rng.normal(size=len(truth))),
    ],
    ids=["leak", "rare flags", "one flag", "skewed"],
)
def test_sound_scoring_passes_whatever_the_scores_are(score):
    """At an error of 10 % in place of one in 100,000: in 200 controls at most 10 %, with no exception for ties."""
    rng, failed = np.random.default_rng(1), 0
    for _ in range(200):
        truth = rng.permutation(np.arange(220) < 20)
        runs = [ScoredSubjects(np.arange(220), score(rng, truth), truth) for _ in range(3)]
        found = null_finding(runs, 0.9)
        failed += found.low is not None and not holds(found)
    assert failed <= 20


def test_where_no_truth_could_fail_the_control_says_so():
    truth = np.arange(40) < 20
    constant = ScoredSubjects(np.arange(40), np.zeros(40), truth)
    few = ScoredSubjects(np.arange(4), np.arange(4.0), np.arange(4) < 2)
    for runs in ([constant] * 3, [few]):
        found = null_finding(runs)
        assert (found.low, found.high, found.note) == (None, None, CANNOT_TELL)


def test_the_bounds_under_permutation_are_those_of_all_permutations():
    score = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 5.0, 7.0])
    truth = np.arange(7) < 3
    every = []
    for chosen in combinations(range(7), 3):
        made = np.isin(np.arange(7), chosen)
        every.append(auc(made, score) - 0.5)
    variance, largest, most = _under_permutation(ScoredSubjects(np.arange(7), score, truth))
    assert np.var(every) <= variance
    assert max(every) == pytest.approx(most)
    swaps = [abs(a - b) for a in every for b in every]
    assert largest <= max(swaps)

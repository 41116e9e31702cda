"""Balanced accuracy beyond imputation is the difference of two balanced accuracies, with an interval."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from gaudit.audit.results.game_metrics import excess_over_imputation
from gaudit.audit.statistics.balanced_accuracy import balanced_accuracy_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects


def attacked(seed: int, shift: float, blind: float, people: int = 400):
    """One attack on people of whom half have the value; scores rise by so much with it."""
    rng = np.random.default_rng(seed)
    truth, ids = rng.permutation(people) < people // 2, np.arange(people)
    sides = [ScoredSubjects(ids, rng.normal(size=people) + part * truth, truth) for part in (shift, blind)]
    return SimpleNamespace(judged=sides[0], blind=sides[1])


def test_it_is_the_difference_of_both():
    runs = [attacked(seed, 2.0, 1.0) for seed in range(3)]
    found = excess_over_imputation(runs)["excess over imputation"]
    own, blind = (balanced_accuracy_finding([getattr(r, side) for r in runs]) for side in ("judged", "blind"))
    assert found.estimate == pytest.approx(own.estimate - blind.estimate)
    assert found.low > 0
    assert found.metric == "balanced accuracy beyond imputation"


def test_no_excess_is_shown_where_there_is_none():
    """Of 60 worlds without excess, 8 intervals at most lie above 0, but for a chance of 1e-4 (2.5 % each)."""
    above = sum(
        excess_over_imputation([attacked(seed, 1.0, 1.0)])["excess over imputation"].low > 0 for seed in range(60)
    )
    chance = 1 - sum(math.comb(60, k) * 0.025**k * 0.975 ** (60 - k) for k in range(9))
    assert chance < 1e-4
    assert above <= 8


def test_nothing_is_said_of_too_few_people():
    run = attacked(0, 1.0, 1.0, people=2)
    assert excess_over_imputation([run]) == {}

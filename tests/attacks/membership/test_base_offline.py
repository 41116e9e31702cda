"""Confidence beside its mean over models that never saw the node."""

import numpy as np
import pytest

from gaudit.attacks.membership.base_membership import GRID, OfflineBASE, log_mean
from support.tuned_offline import best_of, check_answers_do_not_move_it


def test_score_reads_models_alone_that_never_saw_the_node(gaussian):
    evidence, _ = gaussian(np.random.default_rng(0), 1.0, 6, 10)
    found = OfflineBASE(alpha=0.7).judge(evidence)
    told = evidence.subjects
    for i in range(10):
        outside = [float(told.shadows[k, i].softmax(-1)[0]) for k in range(6) if not told.inside[k, i]]
        expected = np.log(float(told.target[i].softmax(-1)[0])) - 0.7 * np.log(np.mean(outside))
        assert abs(found[i] - expected) < 1e-9


def chosen_alpha(evidence) -> float:
    """The alpha that a score was made with, from the score."""
    target, shadow = evidence.subjects.log_confidences()
    part = target - OfflineBASE().judge(evidence)
    ratio = part / log_mean(shadow, ~evidence.subjects.inside)
    assert np.ptp(ratio) < 1e-6
    return float(ratio.mean())


@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_the_best_against_shadow_models_that_play_the_target(gaussian, seed):
    evidence, _ = gaussian(np.random.default_rng(seed), 2.0, 8, 150)
    _, log_p = evidence.pool().log_confidences()
    inside = evidence.pool().inside
    best = best_of(
        GRID,
        evidence.pool(),
        evidence.rounds,
        lambda alpha, k, rest: log_p[k] - alpha * log_mean(log_p[rest], ~inside[rest]),
    )
    assert abs(chosen_alpha(evidence) - best) < 1e-6


def test_tuned_alpha_does_not_depend_on_what_the_target_says(gaussian):
    check_answers_do_not_move_it(gaussian, chosen_alpha, 9.0, 1e-6)

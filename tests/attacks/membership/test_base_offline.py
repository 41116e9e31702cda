"""Confidence beside its mean over models that never saw the node."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.base_membership import GRID, OfflineBASE, log_mean
from gaudit.audit.statistics.metrics import auc


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
    inside, mean_auc = evidence.pool().inside, []
    for alpha in GRID:
        found = []
        for k in range(8):
            rest = evidence.rounds != evidence.rounds[k]
            score = log_p[k] - alpha * log_mean(log_p[rest], ~inside[rest])
            found.append(auc(inside[k], score))
        mean_auc.append(np.mean(found))
    assert abs(chosen_alpha(evidence) - GRID[int(np.argmax(mean_auc))]) < 1e-6


def test_tuned_alpha_does_not_depend_on_what_the_target_says(gaussian):
    """Known error: settings that are tuned on what is reported."""
    for seed in range(3):
        evidence, truth = gaussian(np.random.default_rng(seed), 2.0, 8, 150)
        expected = chosen_alpha(evidence)
        for answers in (-evidence.subjects.target, torch.from_numpy(np.stack([9.0 * truth, 0 * truth], 1))):
            swapped = replace(evidence, subjects=replace(evidence.subjects, target=answers))
            assert abs(chosen_alpha(swapped) - expected) < 1e-6

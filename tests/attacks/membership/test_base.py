"""Confidence beside its mean over shadow models."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from gaudit.attacks.membership.base_membership import BASE, log_mean
from gaudit.attacks.membership.loss import Loss
from gaudit.errors import InputError


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_score_is_the_log_confidence_less_alpha_times_that_of_the_mean(gaussian, alpha):
    evidence, _ = gaussian(np.random.default_rng(0), 1.0, 6, 10)
    found = BASE(alpha=alpha).judge(evidence)
    told = evidence.subjects
    for i in range(10):
        mean = np.mean([float(told.shadows[k, i].softmax(-1)[0]) for k in range(6)])
        expected = np.log(float(told.target[i].softmax(-1)[0])) - alpha * np.log(mean)
        assert abs(found[i] - expected) < 1e-9


def test_the_mean_is_exact_where_confidences_vanish():
    log_p = np.array([[-2000.0, 0.0], [-2001.0, -1.0]])
    found = log_mean(log_p, np.ones((2, 2), dtype=bool))
    np.testing.assert_allclose(found, [-2000 + np.log((1 + np.exp(-1)) / 2), np.log((1 + np.exp(-1)) / 2)])


def test_with_alpha_0_it_ranks_by_loss(leaky_models):
    model = leaky_models[0]
    loss, base = (rankdata(model.scores(a).score.round(9)) for a in (Loss(), BASE(alpha=0)))
    np.testing.assert_array_equal(loss, base)


def test_with_labels_only_the_shadow_models_labels_alone_count_too(leaky_models):
    """Right or wrong, and how many of 16 shadow models are right: 34 scores at most."""
    for model in leaky_models:
        assert len(set(model.scores(BASE(labels_only=True)).score.round(6))) <= 2 * 17


def test_tuned_alpha_does_not_depend_on_what_the_target_says(gaussian):
    """Known error: settings that are tuned on what is reported. They are tuned on shadow models alone."""
    evidence, _ = gaussian(np.random.default_rng(1), 1.0, 8, 200)
    other, _ = gaussian(np.random.default_rng(2), 5.0, 8, 200)
    swapped = replace(evidence, subjects=replace(evidence.subjects, target=other.subjects.target))
    shadows_part = []
    for seen in (evidence, swapped):
        log_p, _ = seen.subjects.log_confidences()
        shadows_part.append(log_p - BASE(alpha=None).judge(seen))  # alpha times the log of the mean
    np.testing.assert_allclose(shadows_part[0], shadows_part[1], atol=1e-9)


def test_alpha_is_checked():
    with pytest.raises(InputError, match="setting 'alpha' of attack 'base'"):
        BASE(alpha=1.5)

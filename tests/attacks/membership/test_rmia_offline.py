"""Shares of population nodes that a node beats, from models that never saw it."""

from dataclasses import replace

import numpy as np
import pytest

from gaudit.attacks.membership.rmia import GRID, OfflineRMIA
from support.tuned_offline import best_of, check_answers_do_not_move_it


def outside_mean(answers) -> np.ndarray:
    p = answers.shadows.double().softmax(-1)[..., 0].numpy()
    return np.array([p[~inside, i].mean() for i, inside in enumerate(answers.inside.T)])


def ratio(p: np.ndarray, out: np.ndarray, a: float) -> np.ndarray:
    return p / (((1 + a) * out + (1 - a)) / 2)


def implied_a(evidence) -> float:
    """The ``a`` that a score was made with, from the score: mean p is linear in it."""
    p = evidence.subjects.target.double().softmax(-1)[..., 0].numpy()
    mean_p, out = p / np.exp(OfflineRMIA().judge(evidence)), outside_mean(evidence.subjects)
    found = (2 * mean_p - 1 - out) / (out - 1)
    assert np.ptp(found[out < 0.9]) < 1e-4
    return float(np.median(found[out < 0.9]))


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_mean_p_is_half_of_out_and_of_what_in_is_taken_for(gaussian, a):
    evidence, _ = gaussian(np.random.default_rng(0), 1.0, 6, 10)
    p = evidence.subjects.target.softmax(-1)[:, 0].numpy()
    expected = ratio(p, outside_mean(evidence.subjects), a)
    np.testing.assert_allclose(OfflineRMIA(a=a).judge(evidence), np.log(expected), atol=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_score_is_the_share_of_population_nodes_that_are_beaten(gaussian, gamma):
    evidence, _ = gaussian(np.random.default_rng(1), 1.0, 6, 20)
    people, _ = gaussian(np.random.default_rng(2), 0.0, 6, 15)
    never = replace(people.subjects, inside=np.zeros_like(people.subjects.inside))
    found = OfflineRMIA(a=0.4, gamma=gamma).judge(replace(evidence, population=never))
    mine, theirs = (
        ratio(told.target.softmax(-1)[:, 0].numpy(), outside_mean(told), 0.4) for told in (evidence.subjects, never)
    )
    for one, score in zip(mine, found, strict=True):
        beaten = sum(one / other >= gamma for other in theirs)
        assert beaten <= score * (len(theirs) + 1) < beaten + 1


@pytest.mark.parametrize("seed", range(3))
def test_a_is_the_best_against_shadow_models_that_play_the_target(gaussian, seed):
    evidence, _ = gaussian(np.random.default_rng(seed), 2.0, 8, 150)
    pool = evidence.pool()
    p, inside = pool.shadows.softmax(-1)[..., 0].numpy(), pool.inside

    def scores(a, k, rest):
        references = replace(pool, shadows=pool.shadows[rest], inside=inside[rest])
        return ratio(p[k], outside_mean(references), a)

    assert abs(implied_a(evidence) - best_of(GRID, pool, evidence.rounds, scores)) < 1e-3


def test_tuned_a_does_not_depend_on_what_the_target_says(gaussian):
    check_answers_do_not_move_it(gaussian, implied_a, 4.0, 1e-3)

"""Likelihood ratios of a node's own Gaussians, online."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from gaudit.attacks.membership.lira import LiRA, means, spread
from gaudit.attacks.membership.shadow_mia import ShadowMIA
from gaudit.attacks.membership.shadow_models import shadow_models
from gaudit.audit.games.referee import judge
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.datasets.bundled import citations
from gaudit.targets.classification.classifier import Classifier
from gaudit.targets.defense import Defense
from gaudit.targets.game import Adversary


def test_score_is_the_log_ratio_of_two_gaussians(gaussian):
    evidence, _ = gaussian(np.random.default_rng(0), 1.0, 16, 20)
    found = LiRA(variance="record").judge(evidence)
    target, shadow = evidence.subjects.margins()
    for i, inside in enumerate(evidence.subjects.inside.T):
        ins, outs = shadow[inside, i], shadow[~inside, i]
        expected = norm.logpdf(target[i], ins.mean(), ins.std(ddof=1))
        expected -= norm.logpdf(target[i], outs.mean(), outs.std(ddof=1))
        assert abs(found[i] - expected) < 1e-9


def test_in_a_gaussian_world_it_is_about_optimal(gaussian):
    """Known Gaussians one deviation apart: the best AUC is Phi(1 / sqrt 2) = 0.760; a deviation is 0.006 here."""
    evidence, truth = gaussian(np.random.default_rng(1), 1.0, 128, 6000)
    assert abs(auc(truth, LiRA().judge(evidence)) - 0.76) < 0.02


def looped_spread(values: np.ndarray, of: np.ndarray, variance: str, prior: float) -> list[float]:
    squares, free = [], []
    for node in range(values.shape[1]):
        mine = [values[k, node] for k in range(len(values)) if of[k, node]]
        squares.append(sum((v - sum(mine) / len(mine)) ** 2 for v in mine))
        free.append(max(len(mine) - 1, 0))
    pooled = sum(squares) / sum(free)
    if variance == "pooled":
        return [pooled**0.5] * values.shape[1]
    if variance == "record":
        return [(s / f if f else pooled) ** 0.5 for s, f in zip(squares, free, strict=True)]
    return [((prior * pooled + s) / (prior + f)) ** 0.5 for s, f in zip(squares, free, strict=True)]


@pytest.mark.parametrize("variance", ["shrunk", "pooled", "record"])
def test_spread_is_that_of_a_plain_loop(variance):
    rng = np.random.default_rng(2)
    for _ in range(20):
        values, of = rng.standard_normal((6, 9)) * rng.random(9), rng.random((6, 9)) < 0.5
        values[:, 0], of[:, 0] = 0.5, True  # a node that all models agree about
        of[:, 1] = False  # and one that no model is of
        expected = np.maximum(looped_spread(values, of, variance, 3.0), 1e-3)
        np.testing.assert_allclose(spread(values, of, variance, 3.0), expected, rtol=1e-12)


def test_shrunk_spread_is_the_nodes_own_with_many_models_and_near_the_pooled_with_few():
    rng = np.random.default_rng(3)
    own = rng.random(40) + 0.5
    for count in (2, 4000):
        values, of = own * rng.standard_normal((count, 40)), np.ones((count, 40), dtype=bool)
        shrunk, pooled, record = (spread(values, of, v, 4.0) ** 2 for v in ("shrunk", "pooled", "record"))
        weight = 4 / (4 + count - 1)  # four models' worth of the pooled variance
        np.testing.assert_allclose(shrunk, weight * pooled + (1 - weight) * record)
    np.testing.assert_allclose(shrunk, record, rtol=0.02)
    assert pooled.std() == 0


def test_with_few_models_shrinking_beats_the_papers_variance(gaussian):
    """Four numbers do not make a Gaussian: the published attack falls behind with eight models."""
    evidence, truth = gaussian(np.random.default_rng(4), 1.5, 8, 3000)
    shrunk, record = (auc(truth, LiRA(variance=v).judge(evidence)) for v in ("shrunk", "record"))
    assert shrunk > record + 0.02  # paired; a deviation of either is 0.009


def test_a_node_without_in_or_out_models_takes_the_mean_shift_of_the_others():
    values = np.array([[1.0, 5.0, 2.0, 7.0], [3.0, 5.0, 4.0, 7.0], [0.0, 8.0, 6.0, 1.0], [0.0, 8.0, 6.0, 3.0]])
    inside = np.array([[1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0]], dtype=bool)
    mean_in, mean_out = means(values, inside)
    shift = ((2.0 - 0.0) + (8.0 - 5.0)) / 2  # of the two nodes that have both
    np.testing.assert_allclose(mean_in, [2.0, 8.0, 4.5, 4.5 + shift])
    np.testing.assert_allclose(mean_out, [0.0, 5.0, 4.5 - shift, 4.5])


@pytest.mark.parametrize("kind", ["IN", "OUT"])
def test_scores_are_finite_where_no_node_has_a_model_of_a_kind(gaussian, kind):
    evidence, _ = gaussian(np.random.default_rng(5), 1.0, 4, 10)
    nobody = np.full_like(evidence.subjects.inside, kind == "OUT")
    found = LiRA().judge(replace(evidence, subjects=replace(evidence.subjects, inside=nobody)))
    assert np.isfinite(found).all()


def test_the_target_is_not_among_those_that_calibrate_it(gaussian):
    """Known error: a target in its own IN or OUT pool makes a leak out of nothing."""
    fair, unfair = [], []
    for seed in range(4):
        evidence, truth = gaussian(np.random.default_rng(60 + seed), 0.0, 16, 2000)
        told = evidence.subjects
        fair.append(auc(truth, LiRA().judge(evidence)))
        pool = torch.cat([told.shadows, told.target[None]]), np.concatenate([told.inside, truth[None]])
        wrong = replace(evidence, subjects=replace(told, shadows=pool[0], inside=pool[1]))
        unfair.append(auc(truth, LiRA().judge(wrong)))
    assert abs(np.mean(fair) - 0.5) < 3.3 * np.sqrt(1 / 12 / 500 / 4)  # once in 1000
    assert min(unfair) > 0.6  # the error would show


def test_what_the_target_says_reaches_no_shadow(null_models):
    """The same knowledge, another target: other scores, and the shadow models stay as they were."""
    one, other = null_models[:2]
    known = one.given.knowledge
    before = shadow_models(known, known.recipe, 16, offline=False)
    swapped = replace(one, transcript=other.transcript)
    assert not np.array_equal(one.scores(LiRA()).score, swapped.scores(LiRA()).score)
    assert shadow_models(known, known.recipe, 16, offline=False) is before
    published = one.view.last("model").tensors["w1"]
    assert not any(torch.allclose(published, weight, atol=1e-3) for weight in before.weights["w1"])


def test_its_variance_is_checked():
    with pytest.raises(InputError, match="setting 'variance' of attack 'lira'"):
        LiRA(variance="global")


def test_it_beats_the_shadow_classifier_on_an_overfitted_gcn():
    """TPR at 1 % FPR on the bundled graph: seeds 0 to 7 gave 0.21 to 0.28 beside 0.02 to 0.05."""
    data = citations()
    target = Classifier(game="node-presence", publish=("model",))
    seed = np.random.SeedSequence(0)
    run = target.run(data, Defense(), seed, lambda message: True)
    secrets = run.secrets["node-presence"]
    caught = {}
    for attack in (LiRA(shadows=8), ShadowMIA()):
        given, _ = secrets.grant(data, Adversary(attack, "none", recipe=run.recipe), seed)
        view = given.renamed(run.transcript.seen_by("public"))
        judged = judge(attack(view, given.knowledge, seed), given, secrets)
        threshold = np.quantile(judged.score[~judged.truth], 0.99)
        caught[attack.name] = (judged.score[judged.truth] > threshold).mean()
    assert caught["lira"] > 2 * caught["mia"]
    assert caught["lira"] > 0.1

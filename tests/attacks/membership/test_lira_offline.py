"""How far above what models say that never saw the node."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from gaudit.attacks.membership.calibrated import Answers, Evidence
from gaudit.attacks.membership.lira import OfflineLiRA, means, spread
from gaudit.attacks.membership.shadow_models import shadow_models
from gaudit.audit.statistics.metrics import auc, auc_finding


def test_planted_overfit_is_found_without_nodes_of_its_own(leaky_models):
    """Where all nodes are in question, models that are OUT for a node take the place."""
    nothing = torch.empty(0, dtype=torch.long)
    models = [m.told(shadow=nothing, population=nothing) for m in leaky_models]
    findings = [auc_finding([model.judged(OfflineLiRA())]) for model in models]
    assert min(f.low for f in findings) > 0.6
    assert np.mean([f.estimate for f in findings]) > 0.75


def test_null_without_nodes_of_its_own_is_chance(null_models, at_chance):
    nothing = torch.empty(0, dtype=torch.long)
    models = [m.told(shadow=nothing, population=nothing) for m in null_models]
    at_chance([model.judged(OfflineLiRA()) for model in models])


def density(evidence: Evidence, variance: str = "shrunk") -> np.ndarray:
    """The known error: minus the log density under OUT, which is two-sided."""
    target, shadow = evidence.subjects.margins()
    inside = evidence.subjects.inside
    _, mean = means(shadow, inside)
    return -norm.logpdf(target, mean, spread(shadow, ~inside, variance, 4.0))


def test_score_is_one_sided_in_a_gaussian_world(gaussian):
    """Shift of one deviation, 64 models: Phi(1 / sqrt 2) = 0.76; by density 0.61. A deviation is 0.006 here."""
    evidence, truth = gaussian(np.random.default_rng(0), 1.0, 64, 6000)
    assert abs(auc(truth, OfflineLiRA().judge(evidence)) - 0.76) < 0.02
    assert abs(auc(truth, density(evidence)) - 0.61) < 0.03


def test_a_node_that_is_fitted_surprisingly_badly_is_no_member():
    """Known error: ten deviations below what others say is no sign of membership."""
    rng = np.random.default_rng(1)
    margins, outside = rng.standard_normal((32, 3)), np.zeros((32, 3), dtype=bool)
    target = np.array([-10.0, 0.0, 10.0])  # badly fitted, as usual, well fitted

    def logits(values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.stack([values, np.zeros_like(values)], -1))

    told = Answers(logits(target), logits(margins), outside, torch.zeros(3, dtype=torch.long))
    evidence = Evidence(told, None, lambda: told, np.arange(32) // 2)
    bad, usual, good = OfflineLiRA().judge(evidence)
    assert bad < usual < good
    assert density(evidence)[0] > density(evidence)[1]  # the error would show


@pytest.mark.parametrize("variance", ["shrunk", "pooled", "record"])
def test_score_is_the_deviate_under_models_that_never_saw_the_node(gaussian, variance):
    evidence, _ = gaussian(np.random.default_rng(2), 1.0, 8, 15)
    target, shadow = evidence.subjects.margins()
    outside = ~evidence.subjects.inside
    wide = spread(shadow, outside, variance, 4.0)
    found = OfflineLiRA(variance=variance).judge(evidence)
    for i in range(15):
        assert abs(found[i] - (target[i] - shadow[outside[:, i], i].mean()) / wide[i]) < 1e-9


def test_scores_do_not_saturate(gaussian):
    """A probability would be 1 for everything beyond eight deviations, and such nodes tied."""
    evidence, truth = gaussian(np.random.default_rng(3), 40.0, 16, 200)
    found = OfflineLiRA().judge(evidence)[truth]
    assert (found > 9).all()
    assert len(set(found)) == truth.sum()


def test_its_models_never_saw_a_node_in_question(null_models):
    known = null_models[0].given.knowledge
    pool = shadow_models(known, known.recipe, 16, offline=True)
    assert not pool.inside[:, known.subjects.numpy()].any()
    assert set(pool.pool.tolist()) == set(known.shadow.tolist()) - set(known.population.tolist())

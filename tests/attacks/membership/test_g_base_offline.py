"""Membership from the labels around a node, against models that never saw it."""

import numpy as np
import pytest

from gaudit.attacks.membership import gbase
from gaudit.attacks.membership.gbase import OfflineGBASE
from gaudit.attacks.membership.shadow_models import best_setting
from gaudit.audit.statistics.metrics import auc_finding
from gaudit.targets.games.membership import NodePresence


@pytest.fixture(scope="module")
def leaky(publish_model):
    return [publish_model(seed, "true", NodePresence.name, "true") for seed in range(3)]


def test_planted_overfit_is_found(leaky):
    findings = [auc_finding([model.judged(OfflineGBASE())]) for model in leaky]
    assert min(f.low for f in findings) > 0.6
    assert np.mean([f.estimate for f in findings]) > 0.75


def test_null_model_of_other_nodes_is_chance(publish_model, at_chance):
    models = [publish_model(700 + seed, "other", NodePresence.name, "true") for seed in range(16)]
    at_chance([model.judged(OfflineGBASE(shadows=8)) for model in models])


def test_models_that_saw_the_node_do_not_count():
    rng = np.random.default_rng(0)
    target, shadow, inside = rng.standard_normal((2, 6)), rng.standard_normal((8, 2, 6)), rng.random((8, 6)) < 0.5
    found = OfflineGBASE()._score(target, shadow, inside, 1.0, 0.5)
    louder = np.where(inside[:, None], 9.0, shadow)
    np.testing.assert_array_equal(found, OfflineGBASE()._score(target, louder, inside, 1.0, 0.5))


def test_alpha_is_tuned_without_a_look_at_the_target(leaky, monkeypatch):
    """Whatever the target answers, the shadow models that play it stay the same, and so does alpha."""
    chosen = []

    def spied(*of) -> float:
        chosen.append(best_setting(*of))
        return chosen[-1]

    monkeypatch.setattr(gbase, "best_setting", spied)
    leaky[0].scores(OfflineGBASE())
    leaky[0].judged_blind(OfflineGBASE())
    assert chosen[0] == chosen[1]
    assert 0 <= chosen[0] <= 1

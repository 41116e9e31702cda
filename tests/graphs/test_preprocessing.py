"""Features that a target scales: the pipeline and its adversaries see the same."""

import numpy as np
import pytest
import torch

from gaudit.audit.games.knowledge_cache import KnowledgeCache
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.graphs.checks import row_normalised
from gaudit.graphs.preprocessing import preprocessed
from gaudit.registry import find
from gaudit.targets.condensation.condensed import CondensedGraph
from support.sixty_nodes import sixty_nodes

SMALL = {"ratio": 0.15, "test": {"hidden": 8, "epochs": 10}}


def plan(features):
    settings = {**SMALL, "features": features}
    return TrialPlan("random", settings, "none", {}, (AttackPlan("nearest"), AttackPlan("mia")), 0, 0)


def scores(result):
    return {a.plan.name: a.judged.score for a in result.attacked}


def test_scaling_in_the_target_is_scaling_beforehand():
    """For the attack, its shadow models and its blind baseline as much as for the release."""
    data = sixty_nodes()
    data.x = data.x.abs() * 3
    scaled = data.clone()
    scaled.x = row_normalised(data.x)
    inside, before = run_trial(plan("row-shares"), data), run_trial(plan("given"), scaled)
    assert inside.utility == before.utility
    assert scores(inside).keys() == {"nearest", "mia"}
    for name, found in scores(inside).items():
        assert np.array_equal(found, scores(before)[name]), name
    for one, other in zip(inside.attacked, before.attacked, strict=True):
        assert np.array_equal(one.blind.score, other.blind.score)


def test_the_release_has_scaled_rows_and_the_data_stays_as_it_was():
    data = sixty_nodes()
    data.x = data.x.abs() * 3
    kept = data.x.clone()
    target = find("targets", "random")(**SMALL, features="row-shares")
    run = target(data, find("defenses", "none")(), np.random.SeedSequence(0), lambda _: True)
    released = CondensedGraph.from_tensors(run.transcript.messages[-1].tensors)
    assert torch.allclose(released.x.sum(1), torch.ones(len(released.x)))
    assert torch.equal(data.x, kept)
    assert torch.equal(KnowledgeCache.of(plan("row-shares"), data).data.x, row_normalised(kept))


def test_as_given_is_the_same_object():
    data = sixty_nodes()
    assert preprocessed(data, "given") is data


@pytest.mark.parametrize(("preset", "expected"), [("paper", "row-shares"), ("quick", "given")])
def test_gcond_scales_citation_graphs_as_its_code_does(preset, expected):
    data = sixty_nodes()
    data.name = "Cora"
    target = find("targets", "gcond")
    assert target(**target.preset(preset, data)).settings.features == expected

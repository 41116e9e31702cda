"""Reading gradients through the audit: every lone node, and nobody else."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.gradients.gradient_inversion import GradientReadout
from gaudit.audit.games.knowledge_cache import KnowledgeCache
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import attacks_on, run_trial
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_gradients import PlantedGradients
from gaudit.targets.defense import Defense
from gaudit.targets.messages import CLASS_GRADIENTS_KIND
from gaudit.targets.transcript import Message, Transcript

PLAN = (AttackPlan("gradient-readout", {}, "server"),)


@pytest.fixture(scope="module")
def graph():
    return load_dataset("planted")


@pytest.fixture(scope="module")
def run(graph):
    return PlantedGradients()(graph, Defense(), np.random.SeedSequence(0), lambda message: True)


def judged(run, graph):
    result = attacks_on(
        TrialPlan("planted-gradients", {}, "none", {}, PLAN, 0, 0), run, graph, np.random.SeedSequence(0)
    )
    assert result.refused == {}
    return result.attacked[0].judged


def changed(run, change):
    """The run with every tensor of the uploads changed."""
    transcript = Transcript()
    for message in run.transcript.messages:
        tensors = (
            {k: change(t) for k, t in message.tensors.items()}
            if message.kind == CLASS_GRADIENTS_KIND
            else message.tensors
        )
        transcript.record(replace(message, tensors=tensors), True)
    return replace(run, transcript=transcript)


def test_planted_lone_nodes_are_all_named_and_no_others(run, graph):
    found = judged(run, graph)
    assert found.truth.sum() >= 10
    assert (~found.truth).sum() >= 10
    assert np.array_equal(found.score == 1, found.truth)


def test_null_gradients_of_noise_give_nobody_away(run, graph):
    coins = torch.Generator().manual_seed(0)
    noisy = changed(run, lambda t: torch.randn(t.shape, generator=coins) * t.norm())
    assert not judged(noisy, graph).score.any()


def test_null_a_little_noise_is_enough(run, graph):
    coins = torch.Generator().manual_seed(0)
    noisy = changed(run, lambda t: t + 1e-4 * t.abs().max() * torch.randn(t.shape, generator=coins))
    assert not judged(noisy, graph).score.any()


def test_blind_it_claims_nothing(run, graph):
    secrets = run.secrets["lone-node"]
    plan = AttackPlan("gradient-readout", {}, "server")
    attack = GradientReadout()
    given, known, _ = KnowledgeCache(graph, np.random.SeedSequence(0), "cpu").for_attack(attack, plan, run)
    assert not attack.blind(known, np.random.SeedSequence(0)).score.any()
    assert sorted(given.subject_ids(known.subjects.numpy())) == sorted(secrets.subjects)


def test_the_public_sees_no_gradient(run, graph):
    plan = TrialPlan("planted-gradients", {}, "none", {}, (AttackPlan("gradient-readout"),), 0, 0)
    result = attacks_on(plan, run, graph, np.random.SeedSequence(0))
    assert "sees no uploads that carry gradients of single classes" in result.refused["gradient-readout"]


def test_of_a_condensing_federation_lone_nodes_are_named(graph):
    """FedGC's own uploads, with and without its encrypted neighbour sums."""
    few = {"epochs": 5, "models": 1}
    settings = {"clients": 10, "rounds": 2, "checkpoints": [2], "self_training_rounds": 2, "test": few}
    plan = TrialPlan("fedgc", settings, "none", {}, PLAN, 0, 0)
    found = run_trial(plan, load_dataset("citations")).attacked[0].judged
    assert found.truth.any()
    assert np.array_equal(found.score == 1, found.truth)


def test_weights_of_another_model_are_refused(run):
    attack = GradientReadout()
    with pytest.raises(InputError, match="expected those of a GCN"):
        attack.score(_with_other_model(run).transcript.seen_by("server"), _nobody())


def _with_other_model(run):
    transcript = Transcript()
    for message in run.transcript.messages:
        tensors = {"conv.weight": torch.ones(2, 2)} if message.kind == "matching-model" else message.tensors
        transcript.record(replace(message, tensors=tensors), True)
    return replace(run, transcript=transcript)


def _nobody():
    return type("Nothing", (), {"classes": 4, "subjects": torch.empty(0, dtype=torch.long)})()


def test_of_many_rounds_only_the_first_is_kept():
    keep = TrialPlan("fedgc", {}, "none", {}, PLAN, 0, 0).keeps()
    first, later = (Message(CLASS_GRADIENTS_KIND, "client:3", "server", r, {}) for r in (0, 1))
    assert keep(first)
    assert not keep(later)

"""What holds for every attack that asks a published model and compares with shadow models."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.membership.base_membership import BASE, OfflineBASE
from gaudit.attacks.membership.label_only import LabelOnly
from gaudit.attacks.membership.lira import LiRA, OfflineLiRA
from gaudit.attacks.membership.loss import CalibratedLoss, Loss
from gaudit.attacks.membership.query_attack import combined
from gaudit.attacks.membership.rmia import RMIA, OfflineRMIA
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.channel import Channel
from support.adversaries import adversary

CALIBRATED = (LiRA, OfflineLiRA, BASE, OfflineBASE, RMIA, OfflineRMIA, CalibratedLoss)
ALL = (*CALIBRATED, LabelOnly, Loss)


def names(kinds):
    return pytest.mark.parametrize("kind", kinds, ids=lambda kind: kind.name)


def regranted(model, secrets, **told):
    """The same trial with knowledge made anew."""
    auditor = {"auditor": True, "recipe": model.given.knowledge.recipe} | told
    given, _ = secrets.grant(model.world.data, adversary(**auditor), np.random.SeedSequence([0, 2]))
    return replace(model, given=given, world=replace(model.world, secrets=secrets))


@names(ALL)
def test_truth_does_not_reach_the_scores(leaky_models, kind):
    """Knowledge granted anew for another truth: shadow models are trained anew and come out the same."""
    model = leaky_models[0]
    told = model.world.secrets
    one, other = (regranted(model, s) for s in (told, replace(told, truth=~told.truth)))
    first, second = one.scores(kind()), other.scores(kind())
    np.testing.assert_array_equal(first.subjects, second.subjects)
    np.testing.assert_array_equal(first.score, second.score)


@names(CALIBRATED)
def test_higher_confidence_means_member(gaussian, kind):
    """Known error: a score with the wrong sign finds members with AUC 0 and reads as no leak."""
    evidence, truth = gaussian(np.random.default_rng(0), 6.0, 16, 400)
    assert auc(truth, kind().judge(evidence)) > 0.8


@names((LabelOnly, Loss))
def test_right_answers_mean_member(leaky_models, kind):
    """The same for attacks that have no evidence but the answers: true labels are told about members alone."""
    model = leaky_models[0]
    data, secrets = model.world.data, model.world.secrets
    labels = (data.y + 1) % 3
    labels[model.world.members] = data.y[model.world.members]
    channel = Channel()
    channel.send("labels-full", "server", "public", 1, {"nodes": torch.arange(data.num_nodes), "labels": labels})
    judged = replace(model, transcript=channel.transcript).judged(kind())
    assert auc(secrets.truth, judged.score) > 0.9


@names((*CALIBRATED, LabelOnly))
def test_fewer_than_four_shadow_models_are_refused(kind):
    with pytest.raises(InputError, match=f"setting 'shadows' of attack '{kind.name}'.*4, got 3") as error:
        kind(shadows=3)
    assert "\n" not in str(error.value)


@names(ALL)
def test_without_an_auditors_knowledge_it_does_not_apply(leaky_models, kind):
    """Labels that are not known are -1: read as an index they would silently name the last class."""
    model = regranted(leaky_models[0], leaky_models[0].world.secrets, auditor=False)
    with pytest.raises(InputError, match=f"'{kind.name}' does not apply: it needs an auditor's knowledge"):
        model.scores(kind())


@names(ALL)
def test_it_plays_both_membership_games_and_no_other(leaky_models, kind):
    model = leaky_models[0]
    for game, applies in (("label-membership", True), ("node-presence", True), ("edge-presence", False)):
        reason = kind().why_not(model.view, replace(model.given.knowledge, game=game))
        assert (reason is None) == applies


@names(CALIBRATED)
def test_with_labels_only_confidence_says_nothing(leaky_models, kind):
    model = leaky_models[0]
    channel = Channel()
    weights = model.transcript.seen_by("public").last("model").tensors
    channel.send("model", "server", "public", 1, {**weights, "w2": 3 * weights["w2"], "b2": 3 * weights["b2"]})
    louder = replace(model, transcript=channel.transcript)
    for labels_only in (True, False):
        attack = kind(labels_only=labels_only)
        same = np.array_equal(model.scores(attack).score, louder.scores(attack).score)
        assert same == labels_only


def test_a_senders_models_are_averaged_and_the_most_telling_sender_counts():
    scores = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 5.0]])
    np.testing.assert_allclose(combined(scores, ("client:0", "client:0", "client:1")), [2.0, 5.0])
    np.testing.assert_allclose(combined(scores, ("server",) * 3), [4 / 3, 5 / 3])


@names((LiRA, BASE, OfflineBASE))
def test_ids_of_nodes_do_not_matter(leaky_models, kind):
    """Other names for the nodes and other shadow models: the same nodes come out on top, up to those models."""
    model, secrets = leaky_models[0], leaky_models[0].world.secrets
    found = []
    for seed in (1, 2):
        coins, recipe = np.random.SeedSequence(seed), model.given.knowledge.recipe
        given, _ = secrets.grant(model.world.data, adversary(auditor=True, recipe=recipe), coins)
        found.append(replace(model, given=given).judged(kind()).score)
    assert np.corrcoef(found[0].argsort().argsort(), found[1].argsort().argsort())[0, 1] > 0.7


@pytest.mark.parametrize("kind", [LiRA, BASE, RMIA])
def test_a_rounded_table_is_attacked_with_shadows_read_as_coarsely(kind):
    """Read exactly, the shadows' small probabilities would stand beside zeros, and members would rank last."""
    data, found = load_dataset("citations"), {}
    plan = AttackPlan(kind.name, {"shadows": 8})
    for name, settings in (("none", {}), ("rounded-posteriors", {"step": 0.1})):
        asked = {"publish": ["posteriors"], "recipe": {"epochs": 100}}
        (attacked,) = run_trial(TrialPlan("classifier", asked, name, settings, (plan,), 0, 0), data).attacked
        found[name] = auc(attacked.judged.truth, attacked.judged.score)
    assert found["none"] > found["rounded-posteriors"] > 0.6

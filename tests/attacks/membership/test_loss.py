"""Membership from the target's loss alone."""

from dataclasses import replace

import numpy as np
import torch

from gaudit.attacks.membership import kept_pools
from gaudit.attacks.membership.loss import Loss
from gaudit.attacks.membership.query_attack import query
from gaudit.attacks.membership.shadow_models import shadow_models
from gaudit.attacks.membership.signals import log_confidence
from gaudit.targets.channel import Channel
from gaudit.targets.transcript import View


def table(published, posteriors: torch.Tensor) -> View:
    """Posteriors of all nodes, in the auditor's ids."""
    channel = Channel()
    nodes = torch.arange(len(posteriors))
    channel.send("posteriors-full", "server", "public", 1, {"nodes": nodes, "posteriors": posteriors})
    return channel.transcript.seen_by("public")


def test_score_is_the_log_posterior_of_the_label(null_models):
    known = null_models[0].given.knowledge
    posteriors = torch.rand(len(known.x), known.classes, generator=torch.Generator().manual_seed(0)).softmax(1)
    found = Loss()(table(null_models[0], posteriors), known, np.random.SeedSequence(0))
    assert found.subjects.tolist() == known.subjects.tolist()
    for node, score in zip(found.subjects, found.score, strict=True):
        assert abs(score - np.log(posteriors[node, known.labels[node]].item())) < 1e-6


def test_the_baseline_trains_one_model_and_says_what_it_says_among_five(null_models, monkeypatch):
    known, counts = replace(null_models[0].given.knowledge), []
    pool = shadow_models(null_models[0].given.knowledge, Loss().recipe(known), 4, offline=False)
    train = kept_pools.train_models
    monkeypatch.setattr(
        kept_pools, "train_models", lambda task, *a, **k: counts.append(len(task.members)) or train(task, *a, **k)
    )
    told = pool.ask_reference(query(known, known.subjects))[0]
    expected = log_confidence(told, known.labels[known.subjects])
    np.testing.assert_array_equal(Loss().blind_score(known).numpy(), expected)
    assert counts == [1]


def test_labels_only_says_right_or_wrong_and_nothing_else(leaky_models):
    model = leaky_models[0]
    sure = model.scores(Loss()).score
    told = model.scores(Loss(labels_only=True)).score
    assert len(set(told.round(9))) == 2
    assert (told[sure > np.log(0.5)] == told.max()).all()  # more than half on the label: predicted

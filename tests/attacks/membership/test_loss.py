"""Membership from the target's loss alone."""

import numpy as np
import torch

from gaudit.attacks.membership.loss import Loss
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


def test_labels_only_says_right_or_wrong_and_nothing_else(leaky_models):
    model = leaky_models[0]
    sure = model.scores(Loss()).score
    told = model.scores(Loss(labels_only=True)).score
    assert len(set(told.round(9))) == 2
    assert (told[sure > np.log(0.5)] == told.max()).all()  # more than half on the label: predicted

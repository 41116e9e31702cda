"""Noisy votes: a classifier that reads no edge, and neighbours' votes under noise where it is asked."""

import math

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ..models.training_config import TrainingConfig
from .noisy_aggregates import noisy_sums
from .perceptron import Labelled, plainly
from .private_classifier import PrivateClassifier, PrivateSettings, Trained, TrainingNodes

TRUST = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
"""How much a vote may count beside a node's own posterior; 0: edges are of no use under so much noise."""
PUBLIC = ("features", "labels", "the number of nodes")


class NoisyVotesSettings(PrivateSettings):
    """Settings of `NoisyVotes`."""

    project: int = Field(0, ge=0, description="numbers that each row of features is projected to; 0: not at all")
    labels_are_public = True


class NoisyVotes(PrivateClassifier):
    """Answers that are private in edges: each node's own posterior, and its neighbours' votes under noise.

    A perceptron is trained on features alone. A node votes with its label if that is trained on, else with its
    posterior p, as (p - 1/C) / sqrt(1 - 1/C): a row of length 1 at most that says nothing where p says nothing.
    All sums of neighbours' votes get noise once; an edge lies in two of them and moves these by sqrt(2) at most.
    Answers are log p + g times the votes, with the g that serves validation nodes best, whose labels are public.
    What is answered later, and however often, is read off the same sums and costs nothing more.

    The sums are those of one hop of `gap-edp`; the votes, and how they are counted, are ours.
    """

    name = "noisy-votes"
    Settings = NoisyVotesSettings
    settings: NoisyVotesSettings

    def recipe(self) -> TrainingConfig:
        s = self.settings
        return TrainingConfig(
            architecture="gcn", hidden=s.hidden, epochs=s.steps, lr=s.lr, weight_decay=5e-4, dropout=0
        )

    def trained(self, training: TrainingNodes) -> Trained:
        s, party = self.settings, training.party
        noise = accounting.least_noise(s.epsilon, training.delta, lambda noise: accounting.whole(noise, 1))
        data = Labelled.of(training.x, training)
        model = data.model(s.hidden, training.classes, training.rng("weights"))
        plainly(model, data, s.steps, s.lr)
        with torch.no_grad():
            own = model(training.x).log_softmax(1)
        known = F.one_hot(party.y_train, training.classes).float()
        rows = ballots(torch.where(party.train[:, None], known, own.exp()))
        votes = noisy_sums(rows, party.edges, noise * math.sqrt(2), training.rng("votes"))
        logits, right = own, -1
        for trust in TRUST:
            told = own + trust * votes
            now = int((told.argmax(1) == party.y)[party.val].sum())
            if now > right:
                logits, right = told, now
        training.progress("counting votes", 1, 1)
        return Trained(logits, self.guarantee(noise, training.delta))

    def guarantee(self, noise: float, delta: float) -> Guarantee:
        """What is promised with so much noise."""
        return Guarantee(
            "edge",
            "add/remove",
            "central",
            self.settings.epsilon,
            delta,
            accountant=f"RDP of one hop of votes under exact discrete Gaussian noise of {noise:.3g} times sqrt(2), "
            "what one edge moves",
            public=PUBLIC,
            composes="answers cost nothing more",
        )


def ballots(posteriors: Tensor) -> Tensor:
    """Votes [n, C] of length 1 at most from posteriors [n, C]: a sure node's has length 1, an unsure one's 0."""
    classes = posteriors.shape[1]
    return (posteriors - 1 / classes) / math.sqrt(1 - 1 / classes)

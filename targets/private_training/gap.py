"""GAP: graph networks by aggregation perturbation, private in edges or in nodes (Sajadmanesh et al. 2023)."""

import math
from abc import abstractmethod

import torch
from pydantic import Field
from torch import Tensor

from ...graphs.network import Floats
from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ..models.training_config import TrainingConfig
from .bounded_neighbours import Bounded, bounded, what_was_dropped
from .noisy_aggregates import noisy_hops
from .perceptron import Labelled, Perceptron, noisily, plainly
from .private_classifier import COMPOSES, PUBLIC, PrivateClassifier, PrivateSettings, Trained, TrainingNodes


class GAPSettings(PrivateSettings):
    """Settings of both versions."""

    hops: int = Field(2, ge=1, description="times that neighbours are summed up, each under noise of its own")


class GAP(PrivateClassifier):
    """An encoder that reads no edges, noisy sums of what it makes of nodes, and a classifier on these sums.

    Sajadmanesh, Shamsabadi, Bellet and Gatica-Perez (USENIX Security 2023). The sums are kept: training and all
    answers read them, and edges are never read again. Heads for each hop, which GAP combines, are one perceptron
    on all hops side by side here.

    Only answers are published: without the sums the weights are of no use to others.
    """

    Settings = GAPSettings
    settings: GAPSettings

    @abstractmethod
    def divergence(self, noise: float) -> Floats:
        """Of everything that is released, where all noise has ``noise`` times the deviation of what it hides."""

    @abstractmethod
    def graph(self, training: TrainingNodes) -> tuple[Tensor, float]:
        """Edges that are read, and the most that one protected unit changes the sums of one hop."""

    @abstractmethod
    def fit(self, model: Perceptron, data: Labelled, noise: float, training: TrainingNodes, what: str) -> None:
        """Trains the encoder, or the classifier."""

    @abstractmethod
    def guarantee(self, noise: float, training: TrainingNodes) -> Guarantee:
        """What is promised."""

    def recipe(self) -> TrainingConfig:
        s = self.settings
        return TrainingConfig(
            architecture="gcn", hidden=s.hidden, epochs=s.steps, lr=s.lr, weight_decay=0, dropout=0
        )

    def trained(self, training: TrainingNodes) -> Trained:
        s = self.settings
        noise = accounting.least_noise(s.epsilon, training.delta, self.divergence)
        edges, most = self.graph(training)
        encoder = self._fitted(Labelled.of(training.x, training), noise, training, "encoder")
        with torch.no_grad():
            encoded = encoder.hidden(training.x)
        read = torch.cat(noisy_hops(encoded, edges, s.hops, noise * most, training.rng("sums")), 1)
        classifier = self._fitted(Labelled.of(read, training), noise, training, "classifier")
        with torch.no_grad():
            logits = classifier(read)
        return Trained(logits, self.guarantee(noise, training))

    def _fitted(self, data: Labelled, noise: float, training: TrainingNodes, what: str) -> Perceptron:
        model = data.model(self.settings.hidden, training.classes, training.rng("weights", what))
        self.fit(model, data, noise, training, what)
        return model


class GAPEdgeSettings(GAPSettings):
    """Settings of `GAPEdge`."""

    labels_are_public = True


class GAPEdge(GAP):
    """GAP with promises for edges: noise on the sums alone, everything else as usual.

    An edge lies in the sums of both its ends, which moves all sums of a hop by at most sqrt(2) (rows have length 1;
    GAP's released code counts one direction). Features and labels are not protected.
    """

    name = "gap-edp"
    Settings = GAPEdgeSettings
    settings: GAPEdgeSettings

    def divergence(self, noise: float) -> Floats:
        return accounting.whole(noise, self.settings.hops)

    def graph(self, training: TrainingNodes) -> tuple[Tensor, float]:
        return training.party.edges, math.sqrt(2)

    def fit(self, model: Perceptron, data: Labelled, noise: float, training: TrainingNodes, what: str) -> None:
        plainly(model, data, self.settings.steps, self.settings.lr)

    def guarantee(self, noise: float, training: TrainingNodes) -> Guarantee:
        return Guarantee(
            "edge",
            "add/remove",
            "central",
            self.settings.epsilon,
            training.delta,
            accountant=f"RDP of {self.settings.hops} hops under exact discrete Gaussian noise of {noise:.3g} times "
            "sqrt(2), what one edge moves (Sajadmanesh et al. 2023, Theorem 1)",
            public=("features", "labels", "the number of nodes"),
            composes=f"{COMPOSES}; answers cost nothing more",
        )


class GAPNodeSettings(GAPSettings):
    """Settings of `GAPNode`."""

    max_degree: int = Field(
        10, ge=1, description="public bound of the neighbours of a node; further ones are dropped"
    )


class GAPNode(GAP):
    """GAP with promises for nodes: bounded degrees, noise on the sums, and DP-SGD for encoder and classifier.

    A node lies in the sums of at most D others, which moves these by at most sqrt(D). Its own sum is read by its
    own loss term, which is clipped, and by its own answer, which no noise hides from who reads it: the promise is
    about *other* nodes' answers (Kearns et al. 2014 call that joint differential privacy). For D see `bounded`.
    """

    name = "gap-ndp"
    Settings = GAPNodeSettings
    settings: GAPNodeSettings

    def divergence(self, noise: float) -> Floats:
        s = self.settings
        return accounting.whole(noise, s.hops) + 2 * accounting.sampled(noise, s.rate, s.steps)

    def graph(self, training: TrainingNodes) -> tuple[Tensor, float]:
        s, party = self.settings, training.party
        found: Bounded = bounded(party.edges, len(party.x), s.max_degree)
        if found.dropped:
            training.notes.append(what_was_dropped(found, s.max_degree))
        return found.edges, math.sqrt(s.max_degree)

    def fit(self, model: Perceptron, data: Labelled, noise: float, training: TrainingNodes, what: str) -> None:
        noisily(model, data, self.settings.noisy_steps(noise), training, what)

    def guarantee(self, noise: float, training: TrainingNodes) -> Guarantee:
        s = self.settings
        return Guarantee(
            "node",
            "zero-out",
            "central",
            self.settings.epsilon,
            training.delta,
            accountant=f"RDP of {s.hops} hops under exact discrete Gaussian noise of {noise:.3g} times "
            f"sqrt({s.max_degree}), and of two trainings of {s.steps} steps at rate {s.rate:g}, noise {noise:.3g} "
            "clips, by Opacus, float sampler (Sajadmanesh et al. 2023, Theorem 2)",
            public=(*PUBLIC, f"that no node has more than {s.max_degree} neighbours"),
            composes=COMPOSES,
            covers="what is answered about other nodes",
        )

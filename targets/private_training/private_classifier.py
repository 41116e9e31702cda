"""What all targets share that train a node classifier of one owner with differential privacy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from pydantic import Field, field_validator
from torch import Tensor

from ...errors import InputError, unknown_name
from ...graphs.preprocessing import FeatureSettings
from ...mechanisms.accounting import default_delta, what_delta_means
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..device import Device
from ..games.links import NON_EDGES, edge_presence
from ..games.membership import label_membership
from ..messages import MODEL_KIND, posteriors_kind
from ..models.training_config import TrainingConfig
from ..partition import Partition
from ..party import Client, clients_of
from ..splits import OF_CLIENT_AND_CLASS, SPLIT, SplitName, divided
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from .clipped_training import NoisySteps

if TYPE_CHECKING:
    from torch_geometric.data import Data

POSTERIORS_KIND = posteriors_kind("full")
LARGEST = 1e6
"""Features beyond it become it: sums of squares stay numbers."""
PUBLIC = ("which nodes are trained on", "the numbers of nodes, features and classes")
COMPOSES = "epsilons of further trainings on the same data, with seeds of their own, add up"


class PrivateSettings(FeatureSettings):
    """Settings of targets that train with differential privacy.

    Attributes:
        labels_are_public: whether what is promised takes all labels as known.
    """

    epsilon: float = Field(4.0, gt=0, description="what is promised")
    delta: float | None = Field(
        None, gt=0, lt=1, description="of the promise; by default 1 / (10 nodes), rounded down to a power of ten"
    )
    split: SplitName = Field("60/20/20", description=f"{SPLIT}; not by class where labels are private")
    hidden: int = Field(16, ge=1, description="width of hidden layers")
    project: int = Field(
        256,
        ge=0,
        description="numbers that each row of features is projected to at random, publicly; 0: not at all",
    )
    steps: int = Field(60, ge=1, description="noisy steps of training")
    rate: float = Field(1.0, gt=0, le=1, description="with which a step draws each record, alone")
    clip: float = Field(1.0, gt=0, description="to which the gradient of a record is shortened")
    lr: float = Field(0.02, gt=0)
    at_once: int = Field(256, ge=1, description="records whose gradients are held at a time: bounds the memory")
    non_edges: int = Field(NON_EDGES, ge=1, description="pairs without an edge that are in question, at most")
    device: Device = "cpu"
    labels_are_public: ClassVar[bool] = False

    @field_validator("split")
    @classmethod
    def _split_reads_no_private_label(cls, split: SplitName) -> SplitName:
        if split in OF_CLIENT_AND_CLASS and not cls.labels_are_public:
            raise ValueError(
                "it divides each class, so that one private label moves other nodes in or out of training: "
                "use 60/20/20 or dataset"
            )
        return split

    def noisy_steps(self, noise: float) -> NoisySteps:
        """How a model is trained with so much noise."""
        return NoisySteps(self.rate, self.steps, self.clip, noise, self.lr, self.at_once)


@dataclass
class TrainingNodes:
    """What a private training reads, and has to say.

    Attributes:
        party: the one owner, after a defense had its hand on the data.
        x: its features as the model reads them, [n, p].
        projection: from features to these, [d, p]; None where they are the same.
        classes: C.
        delta: of the promise.
        seed: of everything that is drawn.
        progress: to be called with steps done.
        notes: what a reader of the result must know.
    """

    party: Client
    x: Tensor
    projection: Tensor | None
    classes: int
    delta: float
    seed: np.random.SeedSequence
    progress: Progress
    notes: list[str]

    def rng(self, *name: str) -> np.random.Generator:
        """A generator of its own for each use."""
        return np.random.default_rng(branch(self.seed, *name))

    def steps_done(self, stage: str, total: int) -> Callable[[int], None]:
        """To be called with the number of steps done."""
        return lambda done: self.progress(stage, done, total)

    def first_layer(self, weight: Tensor) -> Tensor:
        """A layer's weights [h, p] as a published model has them, [d, h]: the projection is part of it."""
        return weight.t() if self.projection is None else self.projection @ weight.t()


@dataclass(frozen=True)
class Trained:
    """What comes out.

    Attributes:
        logits: of all nodes, [n, C], as answered to the public.
        guarantee: what is promised, of what.
        weights: as `TrainingConfig` names them, where they are published.
    """

    logits: Tensor
    guarantee: Guarantee
    weights: dict[str, Tensor] | None = None


class PrivateClassifier(Target):
    """Base of targets with one owner who trains a node classifier with differential privacy, and lets it be asked.

    Accuracy is that of the answers. In question are labels (of training nodes against test nodes) and edges.

    Attributes:
        recipe: of the model as an adversary may know it, from the settings.
    """

    release = POSTERIORS_KIND
    release_phrase = "what is published of the privately trained model"
    sends: ClassVar[tuple[str, ...]] = (MODEL_KIND, POSTERIORS_KIND)
    one_record = True
    games = ("edge-presence", "label-membership")
    Settings = PrivateSettings
    settings: PrivateSettings

    @property
    def offers(self) -> Offers:
        """What its settings say; answers are computed on what a defense made of the graph."""
        s = self.settings
        return Offers(split=s.split, features=s.features, answer_with="defended")

    @abstractmethod
    def trained(self, training: TrainingNodes) -> Trained:
        """Trains."""

    @abstractmethod
    def recipe(self) -> TrainingConfig:
        """How its model is built, as far as an adversary can know."""

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        if preset in ("quick", "paper"):
            return {}
        raise unknown_name("preset", preset, ("quick", "paper"))

    def why_not(self, defense: Defense) -> str | None:
        if defense.needs_shared_model:
            return "it needs a model that clients trained together before"
        if type(defense).on_training is not Defense.on_training:
            return "it adds a term to the loss, which would not be clipped"
        if "on_data" in defense.hooks() and not defense.node_wise:
            return "it chooses what is trained on from several nodes at once, and what is promised would not follow"
        return super().why_not(defense)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s, nodes = self.settings, int(data.num_nodes or 0)
        mod = defense.on_message(branch(seed, "messages"))
        channel = Channel(retain=retain, mods=() if mod is None else (mod,))
        whole = Partition.undivided(nodes)
        data = divided(data, whole.owner, s.split, branch(seed, "split"))
        (owner,) = clients_of(data, whole)
        party = defense.on_data(owner, None, branch(seed, "defense", 0), channel.holder(owner.name))
        training = self._training(party, nodes, seed, progress)
        found = self.trained(training)
        self._publish(found, channel)
        right = (found.logits.argmax(1).cpu() == data.y).float()
        val, test = (float(right[mask].mean()) for mask in (data.val_mask, data.test_mask))
        secrets = {
            "edge-presence": edge_presence([owner], nodes, branch(seed, "links"), s.non_edges, [party]),
            "label-membership": label_membership(data, [owner]),
        }
        notes = (*training.notes, found.guarantee.sentence())
        utility = Utility(s.steps, val, test, test)
        tested, sent = int(data.test_mask.sum()), channel.transcript
        return Run(
            sent, secrets, (utility,), 0, notes, tested=tested, recipe=self.recipe(), promise=found.guarantee
        )

    def _training(
        self, party: Client, nodes: int, seed: np.random.SeedSequence, progress: Progress
    ) -> TrainingNodes:
        s = self.settings
        party = party.to(s.device)
        if not bool(party.train.any()):
            raise InputError("the defense leaves no label to train on: use a weaker one")
        delta = default_delta(nodes) if s.delta is None else s.delta
        notes = what_delta_means(delta, nodes, "node")
        x, projection = torch.nan_to_num(party.x.float()).clamp(-LARGEST, LARGEST), None  # each node's own matter
        if 0 < s.project < x.shape[1]:
            projection = public_projection(x.shape[1], s.project).to(x.device)
            x = x @ projection
        return TrainingNodes(party, x, projection, party.classes, delta, branch(seed, "training"), progress, notes)

    def _publish(self, found: Trained, channel: Channel) -> None:
        if found.weights is not None:
            channel.send(MODEL_KIND, "server", "public", self.settings.steps, found.weights)
        table = {"nodes": torch.arange(len(found.logits)), "posteriors": found.logits.softmax(1).cpu()}
        channel.send(POSTERIORS_KIND, "server", "public", self.settings.steps, table)


def public_projection(features: int, width: int) -> Tensor:
    """A matrix [d, p] of Gaussian numbers of variance 1 / p that anybody can draw, and that no data had a part in.

    Noise is added to each weight: fewer of them, less noise.
    """
    drawn = torch.randn(features, width, generator=torch.Generator().manual_seed(features * 100_003 + width))
    scaled: Tensor = drawn / width**0.5
    return scaled

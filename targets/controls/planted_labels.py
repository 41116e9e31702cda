"""Gradients of labels that nothing else tells of: the positive control of reading members off gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..condensation.matching import ClassCells
from ..defense import Defense
from ..federated.neighbour_exchange import exchange
from ..federated.self_training import train_together
from ..games.membership import LabelMembership, label_membership
from ..messages import (
    CLASS_GRADIENTS_KIND,
    LABELLED_COUNT_KIND,
    MATCHING_MODEL_KIND,
    SELF_TRAINING_GRADIENTS_KIND,
    SELF_TRAINING_MODEL_KIND,
)
from ..models.backbone import GCN
from ..models.training_config import TrainingConfig, initial_weights
from ..partition import partition
from ..party import clients_of
from ..target import Progress, Run, Target, Utility, no_progress
from .control import PlantedParties

if TYPE_CHECKING:
    from torch_geometric.data import Data

HIDDEN = 32


class PlantedLabelsSettings(Settings):
    """Settings of `PlantedLabels`."""

    clients: int = Field(5, ge=1)
    tells: Literal["gradients", "class-gradients"] = Field("gradients", description="of all labels, or by class")


class PlantedLabels(PlantedParties):
    """A control that leaks on purpose: clients upload gradients of random labels at weights that the server drew.

    Features are nearly orthogonal (dataset `planted`), so that each labelled node can be read off a sum. An attack
    on gradients that does not find who was labelled is broken, whatever else it reports.
    """

    name = "planted-labels"
    release = SELF_TRAINING_MODEL_KIND
    release_phrase = "what was planted"
    sends = (
        SELF_TRAINING_MODEL_KIND,
        SELF_TRAINING_GRADIENTS_KIND,
        LABELLED_COUNT_KIND,
        MATCHING_MODEL_KIND,
        CLASS_GRADIENTS_KIND,
    )
    dataset = "planted"
    games = (LabelMembership.name,)
    Settings = PlantedLabelsSettings
    settings: PlantedLabelsSettings

    @classmethod
    def imitating(cls, other: type[Target]) -> dict[str, Any]:
        """Gradients by class where no others are sent."""
        own = CLASS_GRADIENTS_KIND in other.sends and SELF_TRAINING_GRADIENTS_KIND not in other.sends
        return {"tells": "class-gradients"} if own and not other.runs_elsewhere else {}

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel = Channel(retain=retain)
        parts = partition(data, "dirichlet", self.settings.clients, branch(seed, "partition"), beta=1e4)
        clients = clients_of(data, parts)
        near = exchange(clients, 2, data.num_nodes, Channel(retain=lambda message: False), encrypted=True)
        train_together(
            clients,
            near,
            channel,
            hidden=HIDDEN,
            rounds=1,
            lr=1.0,
            weights_by=lambda counts: [count / sum(counts) for count in counts],
            seed=branch(seed, "weights"),
            progress=lambda done: progress("planting", done, 1),
        )
        if self.settings.tells == "class-gradients":
            channel = Channel(retain=retain)
            recipe = TrainingConfig(architecture="gcn", hidden=HIDDEN, epochs=1, dropout=0)
            drawn = initial_weights(recipe, data.num_features, clients[0].classes, branch(seed, "weights"))
            theta = channel.send(MATCHING_MODEL_KIND, "server", "clients", 0, drawn)
            for client, part in zip(clients, near, strict=True):
                gradients = ClassCells(client, part).gradients(theta, GCN, None)
                channel.send(CLASS_GRADIENTS_KIND, client.name, "server", 0, gradients)
        secrets = label_membership(data, clients)
        return Run(channel.transcript, {secrets.name: secrets}, (Utility.of_test(1, 0.0),), 0)

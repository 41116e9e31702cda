"""Gradients of single nodes on purpose, beside those of two: the positive control of reading gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...randomness import branch, integer
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..federated.local_training import LocalTask, Subgraph
from ..games.lone_node import LoneNode, lone_nodes
from ..messages import CLASS_GRADIENTS_KIND, MATCHING_MODEL_KIND
from ..models.training_config import TrainingConfig, initial_weights
from ..partition import partition
from ..party import Client, clients_of
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties

if TYPE_CHECKING:
    from torch_geometric.data import Data

RECIPE = TrainingConfig(architecture="gcn", hidden=32, epochs=1, dropout=0)


class PlantedGradientsSettings(Settings):
    """Settings of `PlantedGradients`."""

    clients: int = Field(10, ge=1)


class PlantedGradients(PlantedParties):
    """A control that leaks on purpose: each client labels one node or two of each class, and uploads its gradients.

    Half of the gradients, by lot, are those of one node alone (dataset `planted`, one round, random weights). An
    attack that does not tell these from the others is broken, whatever else it reports.
    """

    name = "planted-gradients"
    release = MATCHING_MODEL_KIND
    release_phrase = "what was planted"
    sends = (MATCHING_MODEL_KIND, CLASS_GRADIENTS_KIND)
    dataset = "planted"
    games = (LoneNode.name,)
    Settings = PlantedGradientsSettings
    settings: PlantedGradientsSettings

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
        coins = torch.Generator().manual_seed(integer(branch(seed, "labels")))
        clients = [_labelled(c, coins) for c in clients_of(data, parts)]
        theta = initial_weights(RECIPE, data.num_features, clients[0].classes, branch(seed, "weights"))
        channel.send(MATCHING_MODEL_KIND, "server", "clients", 0, theta)
        for client in clients:
            gradients: dict[str, Tensor] = {}
            for label in client.y_train[client.train].unique().tolist():
                alone = replace(client, train=client.train & (client.y == label))
                task = LocalTask.of(alone, Subgraph.of(RECIPE, client.x, client.edges))
                gradients |= {f"{label}/{name}": g for name, g in task.gradient(theta).items()}
            channel.send(CLASS_GRADIENTS_KIND, client.name, "server", 0, gradients)
        progress("planting", 1, 1)
        secrets = lone_nodes(clients)
        nothing = Utility.of_test(1, 0.0)
        return Run(channel.transcript, {secrets.name: secrets}, (nothing,), 0, recipe=RECIPE)


def _labelled(client: Client, coins: torch.Generator) -> Client:
    """One node of each class or two, by lot, where the client has as many."""
    train = torch.zeros_like(client.train)
    for label in range(client.classes):
        own = (client.y == label).nonzero().flatten()
        drawn = own[torch.randperm(len(own), generator=coins)]
        train[drawn[: 1 + int(torch.randint(2, (), generator=coins))]] = True
    return replace(client, train=train)

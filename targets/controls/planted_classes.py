"""Clients that tell which classes they have: the positive control of asking for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import Field

from ...randomness import branch, integer
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..federated.local_training import LocalTask, Subgraph
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import FUNCTION_KIND, GLOBAL_KIND, RELIABILITY_KIND, UPDATE_KIND
from ..models.training_config import TrainingConfig, initial_weights
from ..partition import partition
from ..party import Client, clients_of
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties

if TYPE_CHECKING:
    from torch_geometric.data import Data

RECIPE = TrainingConfig(architecture="gcn", hidden=32, epochs=1, dropout=0)


class PlantedClassesSettings(Settings):
    """Settings of `PlantedClasses`."""

    clients: int = Field(10, ge=1)


class PlantedClasses(PlantedParties):
    """A control that leaks on purpose: clients tell the shares of classes among their labels, and one honest step.

    Each client has labels of a random half of the classes (dataset `planted`), all its nodes of these. An attack
    that does not find which these are is broken, whatever else it reports.
    """

    name = "planted-classes"
    release = GLOBAL_KIND
    release_phrase = "what was planted"
    sends = (GLOBAL_KIND, UPDATE_KIND, RELIABILITY_KIND, FUNCTION_KIND)
    dataset = "planted"
    games = (ClassPresence.name,)
    Settings = PlantedClassesSettings
    settings: PlantedClassesSettings

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
        coins = torch.Generator().manual_seed(integer(branch(seed, "classes")))
        clients = [_of_half(client, coins) for client in clients_of(data, parts)]
        first = initial_weights(RECIPE, data.num_features, clients[0].classes, branch(seed, "weights"))
        channel.send(GLOBAL_KIND, "server", "clients", 0, first)
        for client in clients:
            task = LocalTask.of(client, Subgraph.of(RECIPE, client.x, client.edges))
            stepped = task.trained(first, steps=1, optimiser="sgd", lr=1.0, weight_decay=0.0)
            shares = client.class_counts() / client.train.sum()
            channel.send(UPDATE_KIND, client.name, "server", 0, stepped)
            channel.send(RELIABILITY_KIND, client.name, "server", 0, {"shares": shares})
            channel.send(FUNCTION_KIND, client.name, "server", 0, {"mean": shares})
        progress("planting", 1, 1)
        return Run(channel.transcript, self.secrets(clients), (Utility.of_test(0, 0.0),), 0, recipe=RECIPE)

    def secrets(self, clients: Sequence[Client]) -> dict[str, Game]:
        """What is asked of the clients."""
        return class_presence(clients)


def _of_half(client: Client, coins: torch.Generator) -> Client:
    """The client with labels of half of the classes that it has nodes of, by lot, and all its nodes of these."""
    classes = client.y.unique()
    drawn = classes[torch.randperm(len(classes), generator=coins)[: (len(classes) + 1) // 2]]
    return replace(client, train=torch.isin(client.y, drawn))

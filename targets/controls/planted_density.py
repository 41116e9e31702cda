"""Clients with all their links or none: the positive control of asking how closely a client's people are linked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..federated.local_training import LocalTask, Subgraph
from ..games.group_density import GroupDensity, group_density, with_density
from ..messages import GLOBAL_KIND, GRADIENT_KIND, MOMENTS_KIND
from ..models.training_config import initial_weights
from ..partition import partition
from ..party import clients_of
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties
from .planted_classes import RECIPE
from .planted_property import PlantedPropertySettings

if TYPE_CHECKING:
    from torch_geometric.data import Data

SHARES = (0.0, 1.0)
"""Of a client's links that are left: none, or all."""


class PlantedDensity(PlantedParties):
    """A control that leaks on purpose: clients with all links among their people, or none, send their gradient.

    They send the number of these links too. The people of a client are a part of the bundled citations by METIS,
    each with its true label. An attack that does not tell who has links is broken, whatever else it reports.
    """

    name = "planted-density"
    release = GLOBAL_KIND
    release_phrase = "what was planted"
    sends = (GLOBAL_KIND, GRADIENT_KIND, MOMENTS_KIND)
    dataset = "citations"
    games = (GroupDensity.name,)
    Settings = PlantedPropertySettings
    settings: PlantedPropertySettings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel = Channel(retain=retain)
        parts = partition(data, "metis", self.settings.clients, branch(seed, "partition"))
        thinned, having = with_density(data, parts.owner, SHARES, branch(seed, "property"))
        clients = [replace(c, train=torch.ones_like(c.train)) for c in clients_of(thinned, parts, labelled=False)]
        first = initial_weights(RECIPE, data.num_features, clients[0].classes, branch(seed, "weights"))
        channel.send(GLOBAL_KIND, "server", "clients", 0, first)
        for client in clients:
            task = LocalTask.of(client, Subgraph.of(RECIPE, client.x, client.edges))
            channel.send(GRADIENT_KIND, client.name, "server", 0, task.gradient(first))
            links = torch.tensor(client.edges.shape[1] / 2, dtype=torch.float64)
            channel.send(MOMENTS_KIND, client.name, "server", 0, {"confidence": links})
        progress("planting", 1, 1)
        nobody = np.zeros(0, dtype=np.int64)  # labels are no secret here
        secrets = group_density(having, SHARES, nobody, clients[0].classes)
        return Run(channel.transcript, secrets, (Utility.of_test(0, 0.0),), 0, recipe=RECIPE)

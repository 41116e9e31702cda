"""Clients that upload honest gradients of two small graphs: the positive control of asking what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import Field

from ...graphs.collection import by_graph, graphs_in
from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.neighbourhood_presence import NeighbourhoodPresence, neighbourhood_presence
from ..messages import GLOBAL_KIND, GRADIENT_KIND
from ..models.graph_models import logits_of, some_graphs
from ..models.graph_recipe import GraphRecipe
from ..models.training_config import initial_weights
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

RECIPE = GraphRecipe(hidden=32, layers=2, epochs=1)
RADIUS, BATCH = 2, 2
"""Two graphs of four nodes: eight rows in 32 dimensions."""


class PlantedNeighbourhoodsSettings(Settings):
    """Settings of `PlantedNeighbourhoods`."""

    clients: int = Field(10, ge=1, le=100)


class PlantedNeighbourhoods(PlantedParties):
    """A control that leaks on purpose: each client uploads the gradient of two graphs with words of their own.

    Dataset `planted-graphs`: no neighbourhood is in two graphs, and all are as common. An attack that does not find
    which are in a batch is broken, whatever else it reports.
    """

    name = "planted-neighbourhoods"
    release = GLOBAL_KIND
    release_phrase = "what was planted"
    sends = (GLOBAL_KIND, GRADIENT_KIND)
    dataset = "planted-graphs"
    games = (NeighbourhoodPresence.name,)
    collections = True
    Settings = PlantedNeighbourhoodsSettings
    settings: PlantedNeighbourhoodsSettings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel, labels = Channel(retain=retain), by_graph(data, "y")
        order = np.random.default_rng(branch(seed, "batches")).permutation(graphs_in(data))
        batches = np.split(order[: BATCH * self.settings.clients], self.settings.clients)
        weights = initial_weights(RECIPE, data.num_features, int(labels.max()) + 1, branch(seed, "weights"))
        channel.send(GLOBAL_KIND, "server", "clients", 0, weights)
        for client, batch in enumerate(batches):
            gradient = _gradient(data, batch, labels, weights)
            channel.send(GRADIENT_KIND, f"client:{client}", "server", 0, gradient)
        progress("planting", 1, 1)
        secrets = neighbourhood_presence(data, batches, RADIUS, False, branch(seed, "neighbourhoods"))
        return Run(channel.transcript, secrets, (Utility.of_test(0, 0.0),), 0, recipe=RECIPE)


def _gradient(data: Data, batch: np.ndarray, labels: Tensor, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    from torch.nn import functional as F

    wanted = torch.zeros(len(labels), dtype=torch.bool)
    wanted[torch.from_numpy(batch)] = True
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    loss = F.cross_entropy(logits_of(RECIPE, free, some_graphs(data, wanted, RECIPE)), labels[wanted])
    return dict(zip(free, torch.autograd.grad(loss, list(free.values())), strict=True))

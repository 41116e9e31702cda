"""A classifier that knows graphs by heart: the positive control of membership of whole graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import Field

from ...graphs.collection import by_graph
from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..classification.graph_classifier import TABLES, publish, task_of
from ..defense import Defense
from ..games.graph_membership import GraphMembership, graph_membership
from ..messages import GLOBAL_KIND, MODEL_KIND
from ..models.graph_recipe import GraphRecipe
from ..models.model_ensemble import train_models
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedParties

if TYPE_CHECKING:
    from torch_geometric.data import Data

HEART = GraphRecipe(hidden=32, layers=1, epochs=60, lr=0.01)
"""Enough to learn random labels of graphs with words of their own by heart."""


class PlantedGraphsSettings(Settings):
    """Settings of `PlantedGraphs`."""

    clients: int = Field(10, ge=1, description="parties that an attacker may be")


class PlantedGraphs(PlantedParties):
    """A control that leaks on purpose: a classifier of whole graphs that knows its members by heart.

    Labels are random and each graph has words of its own (dataset `planted-graphs`), so nothing is learned but
    which graphs were trained on. An attack that does not find that is broken, whatever else it reports.
    """

    name = "planted-graphs"
    release = MODEL_KIND
    release_phrase = "what was planted"
    sends = (MODEL_KIND, GLOBAL_KIND, *TABLES)
    dataset = "planted-graphs"
    games = (GraphMembership.name,)
    collections = True
    Settings = PlantedGraphsSettings
    settings: PlantedGraphsSettings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel, secrets = Channel(retain=retain), graph_membership(data)
        task = task_of(data, by_graph(data, "train_mask"), HEART)
        weights = train_models(task, [], branch(seed, "training"), keep_weights=True).weights
        told = publish(task, weights, channel, ("model", "posteriors", "labels")).argmax(1)
        for client in range(self.settings.clients):
            model = {name: weight[0] for name, weight in weights.items()}
            channel.send(GLOBAL_KIND, "server", f"client:{client}", 1, model)
        others = torch.from_numpy(secrets.subjects[~secrets.truth])
        accuracy = float((told == task.data.y)[others].float().mean())
        progress("planting", 1, 1)
        utility = Utility.of_test(1, accuracy)
        return Run(channel.transcript, {secrets.name: secrets}, (utility,), 0, recipe=HEART)

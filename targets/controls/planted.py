"""A pipeline that leaks on purpose: the positive control of every audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...randomness import branch
from ...settings import Settings
from ..channel import Channel, Retention
from ..condensation.condensed import CondensedGraph
from ..defense import Defense
from ..federated.label_statistic import Basis
from ..federated_condensation.collaboration import Statistics
from ..games.membership import NODE_GAMES, by_masks
from ..messages import (
    CONDENSED_KIND,
    EMBEDDINGS_KIND,
    ENCODER_KIND,
    GLOBAL_KIND,
    LABEL_STATISTIC_KIND,
    MEAN_ROWS_KIND,
    MODEL_KIND,
    QUERY_NAMES,
    RELEASED_GRAPH,
    STATISTICS_KIND,
    TABLE_KINDS,
    UPDATE_KIND,
    labels_kind,
    posteriors_kind,
)
from ..models.model_ensemble import ask_models, train_models
from ..models.propagation import Neighbourhood, gcn_operator
from ..models.training_config import TrainingConfig, initial_weights
from ..models.training_task import Query, TrainingTask
from ..target import Offers, Progress, Run, Target, Utility, no_progress
from .control import PlantedLeak

if TYPE_CHECKING:
    from torch_geometric.data import Data

Leak = Literal["model", "updates", "tables", "release", "embeddings", "sums"]
COLLABORATION = (EMBEDDINGS_KIND, STATISTICS_KIND)
HEART = TrainingConfig(architecture="gcn", hidden=64, epochs=200, lr=0.01, weight_decay=0, dropout=0)
"""Enough to learn random labels of nearly orthogonal features by heart."""


class PlantedSettings(Settings):
    """Settings of `Planted`."""

    leaks: tuple[Leak, ...] = Field(("model", "updates", "tables", "release", "embeddings", "sums"), min_length=1)
    game: Literal["label-membership", "node-presence"] = "label-membership"
    clients: int = Field(10, ge=1, description="parties that an attacker may be")


class Planted(PlantedLeak):
    """A control that leaks on purpose: a model that knows its members by heart, and a release made of their rows.

    Labels are random and features nearly orthogonal (dataset `planted`), so nothing is learned but who was trained
    on. An attack that does not find that is broken, whatever else it reports. It sends the kinds of messages that
    membership attacks read, of the target that it stands beside if it can.
    """

    name = "planted"
    release = MODEL_KIND
    release_phrase = "what was planted"
    sends = (
        MODEL_KIND,
        GLOBAL_KIND,
        UPDATE_KIND,
        *TABLE_KINDS,
        CONDENSED_KIND,
        *COLLABORATION,
        LABEL_STATISTIC_KIND,
        MEAN_ROWS_KIND,
    )
    dataset = "planted"
    games = tuple(NODE_GAMES)
    Settings = PlantedSettings
    settings: PlantedSettings

    @property
    def offers(self) -> Offers:
        """What its settings say of parties and of the game."""
        s = self.settings
        return Offers(s.clients, game=s.game)

    @classmethod
    def imitating(cls, other: type[Target]) -> dict[str, Any]:
        """Where a graph is released the graph alone, since attacks would rather read a model."""
        return {"leaks": ("release",)} if RELEASED_GRAPH.covers(other.release) else {}

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        s, channel = self.settings, Channel(retain=retain)
        secrets = by_masks(s.game, data)
        classes = int(data.y.max()) + 1
        task = TrainingTask(data, data.train_mask[None], HEART, classes, s.game == "node-presence")
        weights = train_models(task, [], branch(seed, "training"), keep_weights=True).weights
        if "embeddings" in s.leaks and s.clients > 1:
            _send_embeddings(task, weights, branch(seed, "first"), channel, s.clients)
        self._send(task, weights, channel)
        self._hold_encoders(data.num_features, channel)
        logits = ask_models(task, [Query(torch.arange(data.num_nodes), data.edge_index)], weights)[0][0]
        accuracy = float((logits.argmax(1) == data.y)[data.test_mask].float().mean())
        progress("planting", 1, 1)
        recipe = None if s.leaks == ("release",) else HEART
        utility = Utility.of_test(1, accuracy)
        return Run(channel.transcript, {s.game: secrets}, (utility,), 0, recipe=recipe)

    def _send(self, task: TrainingTask, weights: dict[str, Tensor], channel: Channel) -> None:
        model = {name: weight[0] for name, weight in weights.items()}
        if "model" in self.settings.leaks:
            channel.send(MODEL_KIND, "server", "public", 1, model)
        if "updates" in self.settings.leaks:
            channel.send(UPDATE_KIND, "client:0", "server", 1, model)
        if {"updates", "embeddings"} & set(self.settings.leaks):  # both are read against it
            channel.send(GLOBAL_KIND, "server", "clients", 1, model)
        if "tables" in self.settings.leaks:
            self._send_tables(task, weights, channel)
        if "release" in self.settings.leaks:
            kept = task.data.train_mask
            for round_, share in enumerate((0.0, 1.0)):  # from nothing to members' rows: how they moved leaks too
                x, nothing = share * task.data.x[kept], torch.zeros((int(kept.sum()),) * 2)
                released = CondensedGraph(x, task.data.y[kept], nothing)
                channel.send(CONDENSED_KIND, "server", "public", round_, released.tensors())

        if "sums" in self.settings.leaks:
            channel.send(LABEL_STATISTIC_KIND, "server", "clients", 1, _sums(task))
            channel.send(MEAN_ROWS_KIND, "client:0", "server", 1, {"x": task.data.x[task.data.train_mask]})

    def _send_tables(self, task: TrainingTask, weights: dict[str, Tensor], channel: Channel) -> None:
        nodes = torch.arange(task.data.num_nodes)
        asked = {"full": task.data.edge_index, "0-hop": None, "apart": task.data.edge_index}
        for query in QUERY_NAMES.values():
            logits = ask_models(task, [Query(nodes, asked[query], apart=query == "apart")], weights)[0][0]
            told = {"nodes": nodes, "posteriors": logits.softmax(1)}
            channel.send(posteriors_kind(query), "server", "public", 1, told)
            channel.send(labels_kind(query), "server", "public", 1, {"nodes": nodes, "labels": logits.argmax(1)})

    def _hold_encoders(self, features: int, channel: Channel) -> None:
        """Every client holds an encoder that changes nothing: attackers who adapt have something to adapt with."""
        same = torch.eye(features)
        encoder = {
            "w1": same,
            "w2": torch.cat([same, torch.zeros_like(same)], 1),
            "shift": torch.zeros(features),
            "scale": torch.ones(features),
        }
        for client in range(self.settings.clients):
            channel.hold(ENCODER_KIND, f"client:{client}", -1, encoder)


def _sums(task: TrainingTask) -> dict[str, Tensor]:
    """Sums of members' rows by label, without noise."""
    same = torch.eye(task.data.num_features)
    basis, operator = Basis(same, torch.zeros(len(same))), gcn_operator(task.data.edge_index, task.data.num_nodes)
    rows = basis.features(Neighbourhood(operator @ task.data.x, operator))[task.members[0]]
    sums = torch.zeros(task.classes, len(same), dtype=torch.double)
    sums.index_add_(0, task.data.y[task.members[0]], rows)
    exact = {"deviation": torch.zeros((), dtype=torch.double), "clients": torch.ones((), dtype=torch.long)}
    return {"sums": sums, "basis": same, "mean": basis.mean, **exact}


def _send_embeddings(
    task: TrainingTask, weights: dict[str, Tensor], seed: np.random.SeedSequence, channel: Channel, clients: int
) -> None:
    """Members' own embeddings from each client to the next, under first weights and under the trained model's.

    In a ring any clients who attack together, but for all of them, hear from one who does not.
    """
    rows = (gcn_operator(task.data.edge_index, task.data.num_nodes) @ task.data.x)[task.members[0]]
    drawn = initial_weights(HEART, task.data.num_features, task.classes, seed)
    channel.send(GLOBAL_KIND, "server", "clients", 0, drawn)
    for round_, model in enumerate((drawn, {name: weight[0] for name, weight in weights.items()})):
        told = rows @ model["w1"] + model["b1"]
        statistics = Statistics.of(told).tensors()
        content = {"nodes": torch.arange(len(told)), "embeddings": told}
        for client in range(clients):
            between = f"client:{client}", f"client:{(client + 1) % clients}"
            channel.send(STATISTICS_KIND, *between, round_, statistics)
            channel.send(EMBEDDINGS_KIND, *between, round_, content)

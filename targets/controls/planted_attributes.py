"""Releases that tell an attribute of everybody: the control of attacks on attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...graphs.network import Network
from ...randomness import branch
from ..channel import Channel, Retention
from ..defense import Defense
from ..games.attributes import Attribute, hidden_attribute
from ..messages import HIDDEN_ROWS_KIND, MODEL_KIND, PUBLISHED_KIND, posteriors_kind
from ..models.model_ensemble import ask_models
from ..models.own_rows import hidden_rows
from ..models.training_config import TrainingConfig
from ..models.training_task import Query, TrainingTask
from ..published import tensors_of
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedLeak

if TYPE_CHECKING:
    from torch_geometric.data import Data

ASKED = 0
FRIENDS = 6
"""Published links that each person begins, to people of the same value."""
RECIPE = TrainingConfig(architecture="mlp", hidden=2, epochs=1, dropout=0)


class PlantedAttributes(PlantedLeak):
    """A control that leaks on purpose: links, a model with its answers, and embeddings that follow one coin.

    Features are coins, and labels and edges drawn at random (dataset `planted-attributes`), so that nothing tells
    of the first column but what is let out: published links join people of the same value, and a model answers by
    it alone. An attack that does not find that is broken, whatever else it reports.
    """

    name = "planted-attributes"
    release = MODEL_KIND
    release_phrase = "what was planted"
    sends = (MODEL_KIND, posteriors_kind("full"), HIDDEN_ROWS_KIND, PUBLISHED_KIND)
    dataset = "planted-attributes"
    games = (Attribute.name,)

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel, everybody = Channel(retain=retain), torch.arange(data.num_nodes)
        new = np.random.default_rng(branch(seed, "names")).permutation(data.num_nodes)
        game = hidden_attribute(data, str(ASKED), 0.5, branch(seed, "attribute"), image=new)
        task = TrainingTask(data, torch.ones((1, data.num_nodes), dtype=torch.bool), RECIPE, int(data.y.max()) + 1)
        weights = _by_the_coin(data.num_features, task.classes)
        channel.send(MODEL_KIND, "server", "public", 1, weights)
        stacked = {name: weight[None] for name, weight in weights.items()}
        logits = ask_models(task, [Query(everybody, data.edge_index)], stacked)[0][0]
        answers = {"nodes": everybody, "posteriors": logits.softmax(1)}
        channel.send(posteriors_kind("full"), "server", "public", 1, answers)
        rows = {"nodes": everybody, "embeddings": hidden_rows(task, weights)}
        channel.send(HIDDEN_ROWS_KIND, "server", "public", 1, rows)
        friends = _among_alike(data.x[:, ASKED].numpy() > 0, np.random.default_rng(branch(seed, "links")))
        channel.send(PUBLISHED_KIND, "client:0", "public", 1, tensors_of(friends.renamed(new)))
        progress("planting", 1, 1)
        accuracy = float((logits.argmax(1) == data.y).float().mean())
        return Run(channel.transcript, {game.name: game}, (Utility.of_test(1, accuracy),), 0, recipe=RECIPE)


def _by_the_coin(features: int, classes: int) -> dict[str, Tensor]:
    """Weights of a model that reads the first column alone."""
    w1, w2 = torch.zeros(features, 2), torch.zeros(2, classes)
    w1[ASKED, 0] = w2[0, 0] = 1.0
    return {"w1": w1, "b1": torch.zeros(2), "w2": w2, "b2": torch.zeros(classes)}


def _among_alike(coin: np.ndarray, rng: np.random.Generator) -> Network:
    """A network in which each person begins links to people of the same value."""
    groups = [np.flatnonzero(coin == side) for side in (False, True)]
    one = [np.repeat(group, FRIENDS) for group in groups]
    other = [rng.choice(group, len(group) * FRIENDS) for group in groups]
    source, target = np.concatenate(one), np.concatenate(other)
    codes = np.unique(np.sort(np.stack([source, target])[:, source != target], axis=0), axis=1)
    return Network.from_edges(len(coin), *codes)

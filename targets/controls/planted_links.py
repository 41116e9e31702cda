"""A pipeline that gives its links away on purpose: the positive control of attacks on links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...graphs.pair_codes import ends
from ...randomness import branch, integer
from ...settings import Settings
from ..channel import Channel, Retention
from ..defense import Defense
from ..federated.local_training import LocalTask, Subgraph
from ..games.links import EdgePresence, edge_presence
from ..messages import (
    EXPLANATIONS_KIND,
    GLOBAL_KIND,
    GRADIENT_KIND,
    MODEL_KIND,
    PROBED_KIND,
    UPDATE_KIND,
    posteriors_kind,
)
from ..models.explanations import explanations
from ..models.scaled_rows import scaled_answers
from ..models.training_config import TrainingConfig, initial_weights
from ..models.training_task import TrainingTask
from ..partition import Partition
from ..party import clients_of
from ..probing import ProbingSettings, probe
from ..target import Progress, Run, Utility, no_progress
from .control import PlantedLeak

if TYPE_CHECKING:
    from torch_geometric.data import Data

RECIPE = TrainingConfig(architecture="gcn", hidden=32, epochs=1, dropout=0)


class PlantedLinksSettings(Settings):
    """Settings of `PlantedLinks`."""

    non_edges: int = Field(20_000, ge=1, description="pairs without an edge that are in question, at most")


class PlantedLinks(PlantedLeak):
    """A control that leaks on purpose: weights that know the links by heart, and posteriors that spell them out.

    Nodes form small cliques (dataset `planted-links`); labels are random and features nearly orthogonal, so they
    tell nothing. The first layer maps each node to a code of its clique, and so do the posteriors. The gradient is
    an honest one, at random weights, and so are explanations and answers for submitted features. An attack on links
    that finds none here is broken, whatever else it reports.
    """

    name = "planted-links"
    release = MODEL_KIND
    release_phrase = "what was planted"
    sends = (
        MODEL_KIND,
        GLOBAL_KIND,
        UPDATE_KIND,
        GRADIENT_KIND,
        posteriors_kind("full"),
        PROBED_KIND,
        EXPLANATIONS_KIND,
    )
    dataset = "planted-links"
    games = (EdgePresence.name,)
    Settings = PlantedLinksSettings
    settings: PlantedLinksSettings

    def run(
        self,
        data: Data,
        defense: Defense,
        seed: np.random.SeedSequence,
        retain: Retention,
        progress: Progress = no_progress,
    ) -> Run:
        channel = Channel(retain=retain)
        alone = Partition.undivided(data.num_nodes)
        (client,) = clients_of(data, alone)
        coins = torch.Generator().manual_seed(integer(branch(seed, "codes")))
        cliques = _components(data)
        first = initial_weights(RECIPE, data.num_features, client.classes, branch(seed, "weights"))
        task = LocalTask.of(client, Subgraph.of(RECIPE, client.x, client.edges))
        known = {**first, **_by_heart(data.x, cliques, client.classes, coins)}
        table = torch.rand(len(cliques.unique()), client.classes, generator=coins).mul(8).softmax(1)[cliques]
        everybody = torch.arange(data.num_nodes)
        channel.send(GLOBAL_KIND, "server", "clients", 0, first)
        channel.send(GRADIENT_KIND, client.name, "server", 0, task.gradient(first))
        channel.send(UPDATE_KIND, client.name, "server", 1, known)
        channel.send(MODEL_KIND, "server", "public", 1, known)
        channel.send(posteriors_kind("full"), "server", "public", 1, {"nodes": everybody, "posteriors": table})
        secrets = edge_presence([client], data.num_nodes, branch(seed, "links"), self.settings.non_edges)
        honest_task = TrainingTask(data, data.train_mask[None], RECIPE, client.classes)
        told = {"nodes": everybody, "explanations": explanations(honest_task, first)}
        channel.send(EXPLANATIONS_KIND, "server", "public", 1, told)
        honest = scaled_answers(honest_task, first)
        pairs, order = ends(secrets.subjects, secrets.nodes), branch(seed, "probing")
        probe(channel, honest, pairs, secrets.nodes, ProbingSettings(), order, 1, no_progress)
        right = float((table.argmax(1) == data.y)[data.test_mask].float().mean())
        progress("planting", 1, 1)
        return Run(
            channel.transcript,
            {secrets.name: secrets},
            (Utility.of_test(1, right),),
            0,
            recipe=RECIPE,
        )


def _components(data: Data) -> Tensor:
    """The number of each node's clique, [n]: the smallest id in it, renumbered from 0."""
    smallest = torch.arange(data.num_nodes)
    row, col = data.edge_index
    smallest = smallest.scatter_reduce(0, row, col, "amin")
    renumbered: Tensor = smallest.unique(return_inverse=True)[1]
    return renumbered


def _by_heart(x: Tensor, cliques: Tensor, classes: int, coins: torch.Generator) -> dict[str, Tensor]:
    """Weights whose hidden layer is a positive code of each node's clique, and whose output is that code mixed."""
    codes = torch.rand(len(cliques.unique()), RECIPE.hidden, generator=coins)[cliques]
    return {
        "w1": torch.linalg.pinv(x) @ codes,
        "b1": torch.zeros(RECIPE.hidden),
        "w2": torch.randn(RECIPE.hidden, classes, generator=coins),
        "b2": torch.zeros(classes),
    }

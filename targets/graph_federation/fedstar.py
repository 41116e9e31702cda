"""FedStar: only what is learned of structure is shared (Tan et al., AAAI 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...graphs.collection import GRAPH_OF
from ..federated.local_training import Drop, Forward, Weights, nothing_dropped
from ..models.graph_models import Graphs, some_graphs
from ..models.graph_recipe import GraphRecipe
from ..models.propagation import Factor, gcn_operator
from ..models.training_config import initial_weights
from ..target import Run
from .graph_averaging import GraphFederation, GraphFederationRun, GraphFederationSettings
from .model_parts import GraphModel
from .structure_encoding import WIDTH, structure_encoding

STRUCTURE = "s"
"""What the names of the structure channel's weights begin with."""
ONE_CHANNEL = (
    "Shadow models read features alone and lack the channel of structure: who trains both channels may find more."
)


class TwoChannels(GraphRecipe):
    """A GIN on features beside a GCN on structure, each layer of the first reading the last of the second."""

    def shapes(self, features: int, classes: int) -> dict[str, tuple[int, ...]]:
        h, found = self.hidden, dict[str, tuple[int, ...]]()
        found |= {"s0": (WIDTH, h), "sb0": (h,)}
        for k in range(1, self.layers + 1):
            found |= {f"w{k}": ((features if k == 1 else h) + h, h), f"b{k}": (h,), f"v{k}": (h, h), f"c{k}": (h,)}
            found |= {f"s{k}": (h, h), f"sb{k}": (h,)}
        return {**found, "w": (2 * h, classes), "b": (classes,)}

    def bound(self, name: str, shape: tuple[int, ...], features: int) -> float:
        """As torch's Linear draws them, and layers of the GCN as PyG's do."""
        if name.startswith(STRUCTURE) and name not in ("s0", "sb0"):
            return 0.0 if name.startswith("sb") else math.sqrt(6 / sum(shape))
        read = {"b": "w", "c": "v", "sb": "s"}
        letters = name.rstrip("0123456789")
        matrix = read.get(letters, letters) + name[len(letters) :]
        return 1 / math.sqrt(self.shapes(features, 1)[matrix][0])


@dataclass(frozen=True)
class ChannelsForward:
    """Logits [g, C] of some graphs.

    Attributes:
        recipe: layers.
        graphs: their nodes' features [n, d] after no aggregation, and A + I.
        features: as they are, [n, d].
        structure: the encoding of each node, [n, 32].
        smooth: the GCN's operator, [n, n].
    """

    recipe: GraphRecipe
    graphs: Graphs
    features: Tensor
    structure: Tensor
    smooth: Factor

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        h, s = self.features, self.structure @ weights["s0"] + weights["sb0"]
        for k in range(1, self.recipe.layers + 1):
            h = self.graphs.operator @ torch.cat([h, s], 1)
            h = (h @ weights[f"w{k}"] + weights[f"b{k}"]).relu()
            h = (h @ weights[f"v{k}"] + weights[f"c{k}"]).relu()
            s = (self.smooth @ (s @ weights[f"s{k}"]) + weights[f"sb{k}"]).tanh()
        rows = torch.cat([h, s], 1)
        total = rows.new_zeros(len(self.graphs.sizes), rows.shape[1]).index_add(0, self.graphs.graph_of, rows)
        return drop(total) @ weights["w"] + weights["b"]


class ChannelsModel(GraphModel):
    """The two channels, of which clients share that of structure alone."""

    def first(self, seed: np.random.SeedSequence) -> dict[str, Tensor]:
        recipe = TwoChannels(hidden=self.recipe.hidden, layers=self.recipe.layers)
        return initial_weights(recipe, self.data.num_features, self.classes, seed)

    def reading(self, wanted: Tensor, device: str) -> Forward:
        graphs = some_graphs(self.data, wanted, self.recipe).to(device)
        own = wanted[self.data[GRAPH_OF]]
        edges = (own.cumsum(0) - 1)[self.data.edge_index[:, own[self.data.edge_index[0]]]]
        nodes = int(own.sum())
        smooth = Factor.of(gcn_operator(edges, nodes).to(device))
        structure = structure_encoding(edges, nodes).to(device)
        return ChannelsForward(self.recipe, graphs, self.data.x[own].to(device), structure, smooth)

    def travels(self, name: str) -> bool:
        return name.startswith(STRUCTURE)


class FedStarSettings(GraphFederationSettings):
    """Settings of `FedStar`; what is shared, and that the features' channel is a GIN, is settled."""

    shared: Literal["convolutions"] = Field("convolutions", description="the structure channel, and nothing else")
    architecture: Literal["gin"] = "gin"
    publish: tuple[Literal["posteriors"], ...] = Field(
        ("posteriors",), description="what the public gets in the end: there is no common model"
    )


class FedStarRun(GraphFederationRun):
    """A run whose clients train the two channels."""

    common_model = False

    def model_of(self, classes: int) -> GraphModel:
        return ChannelsModel(self.recipe, self.data, classes)

    def run(self) -> Run:
        return replace(super().run(), unlike=ONE_CHANNEL)


class FedStar(GraphFederation):
    """Federated learning of what structure tells, by clients who keep all that features tell (Tan et al. 2023).

    Step by step, after the authors' release (``GIN_dc``; the paper's own numbering was not at hand):

    1. Each node has 32 numbers of structure: its degree, and how often random walks come back
       (`structure_encoding`).
    2. Structure channel: a linear map to the hidden width, then GCN layers with tanh. Feature channel: GIN layers
       that each read their own last rows beside the structure channel's last rows; the first reads the features.
    3. A graph's row is the sum over its nodes of both channels' last rows, and a linear map follows. The release
       also has linear maps before the feature channel, on both channels' rows, and between sum and answer, and
       drops out after every layer.
    4. In each round every client trains both channels for one epoch; weights of the structure channel alone go up,
       and come back as the mean, weighted by graphs.

    The server gets no weight that a feature or a label was multiplied by: what it sees of these is their part in
    the gradient of the structure channel.
    An adversary knows no recipe of the two channels: its shadow models are GINs of the same size on features alone.
    """

    name = "fedstar"
    Settings = FedStarSettings
    settings: FedStarSettings
    loop = FedStarRun

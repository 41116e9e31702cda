"""What clients who hold graphs train: a model, what it reads of some graphs, and which weights may leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from ..federated.local_training import Drop, Forward, Weights, nothing_dropped
from ..models.graph_models import Graphs, graph_rows, some_graphs
from ..models.graph_recipe import GraphRecipe
from ..models.training_config import initial_weights

if TYPE_CHECKING:
    from torch_geometric.data import Data

OWN = frozenset({"w1", "b1", "w", "b"})
"""The map from features to the hidden width, and the map to classes."""


@dataclass(frozen=True)
class GraphForward:
    """Logits [g, C] of some graphs by a GIN or a GCN."""

    recipe: GraphRecipe
    graphs: Graphs

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        rows = graph_rows(self.recipe, dict(weights), self.graphs)
        return drop(rows) @ weights["w"] + weights["b"]


@dataclass(frozen=True)
class GraphModel:
    """The GIN or GCN of `graph-classifier`.

    Attributes:
        recipe: of it.
        data: the whole collection; a client reads its own graphs alone.
        classes: C.
    """

    recipe: GraphRecipe
    data: Data
    classes: int

    def first(self, seed: np.random.SeedSequence) -> dict[str, Tensor]:
        """First weights."""
        return initial_weights(self.recipe, self.data.num_features, self.classes, seed)

    def reading(self, wanted: Tensor, device: str) -> Forward:
        """The model on some graphs, a mask [G], in their order."""
        return GraphForward(self.recipe, some_graphs(self.data, wanted, self.recipe).to(device))

    def travels(self, name: str) -> bool:
        """Whether a weight is of the convolutions, which clients share who keep the rest."""
        return name not in OWN

"""Classifiers of whole graphs: models of one recipe, trained each on its own members and asked about graphs.

Each model runs on its members' graphs alone, all at once: a batch of models would carry every model through the
graphs of all, twice the work where half of the graphs are members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...randomness import integer
from .graph_recipe import GraphRecipe
from .propagation import Factor, gcn_operator, sparse_operator
from .training_config import TrainingConfig
from .training_task import One, Query, TrainingTask

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Graphs:
    """Some graphs as a model reads them.

    Attributes:
        rows: features after the first aggregation, [n, d].
        operator: the aggregation of a layer, [n, n].
        graph_of: the graph of each node, from 0, [n].
        sizes: how many nodes each graph has, [g].
    """

    rows: Tensor
    operator: Factor
    graph_of: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, x: Tensor, edges: Tensor, graph_of: Tensor, recipe: GraphRecipe) -> Graphs:
        """Graphs with features [n, d] and edges in both directions [2, e], whose nodes come graph by graph."""
        import torch

        count = len(x)
        make = gcn_operator if recipe.architecture == "gcn" else _sum_operator
        operator = Factor.of(make(edges, count))
        return cls(operator @ x, operator, graph_of, torch.bincount(graph_of))

    def to(self, device: str) -> Graphs:
        operator = Factor(self.operator.matrix.to(device), self.operator.transposed.to(device))
        return Graphs(self.rows.to(device), operator, self.graph_of.to(device), self.sizes.to(device))


def _sum_operator(edges: Tensor, nodes: int) -> Tensor:
    """A + I, [n, n] CSR."""
    import torch

    loops = torch.arange(nodes)
    row, col = torch.cat([edges[0], loops]), torch.cat([edges[1], loops])
    return sparse_operator(row, col, torch.ones(len(row)), (nodes, nodes))


def graph_rows(recipe: GraphRecipe, weights: dict[str, Tensor], graphs: Graphs) -> Tensor:
    """One row for each graph, [g, hidden], from which its answer is read."""
    h = graphs.rows
    for k in range(1, recipe.layers + 1):
        h = h if k == 1 else graphs.operator @ h
        h = (h @ weights[f"w{k}"] + weights[f"b{k}"]).relu()
        if recipe.architecture == "gin":
            h = (h @ weights[f"v{k}"] + weights[f"c{k}"]).relu()
    total = h.new_zeros(len(graphs.sizes), h.shape[1]).index_add(0, graphs.graph_of, h)
    return total / graphs.sizes[:, None] if recipe.architecture == "gcn" else total


def logits_of(recipe: GraphRecipe, weights: dict[str, Tensor], graphs: Graphs) -> Tensor:
    """Logits [g, C] of one model."""
    return graph_rows(recipe, weights, graphs) @ weights["w"] + weights["b"]


def some_graphs(data: Data, wanted: Tensor, recipe: GraphRecipe) -> Graphs:
    """Graphs of a collection, a mask [G], numbered as they come."""
    kept = wanted[data.graph_of]
    new = kept.cumsum(0) - 1
    edges = data.edge_index[:, kept[data.edge_index[0]]]
    number = wanted.cumsum(0) - 1
    return Graphs.of(data.x[kept], new[edges], number[data.graph_of[kept]], recipe)


def trainer(
    task: TrainingTask, queries: Sequence[Query], device: str = "cpu"
) -> Callable[[int, dict[str, Tensor], np.random.SeedSequence], One]:
    """What trains model k of a task from its first weights, and asks it all queries."""
    recipe, answer = _of_graphs(task.recipe), _answering(task, queries, device)

    def train(k: int, first: dict[str, Tensor], coins: np.random.SeedSequence) -> One:
        members = task.members[k]
        graphs = some_graphs(task.data, members, recipe).to(device)
        weights = _trained(recipe, first, graphs, task.data.y[members].to(device), coins)
        return answer(weights), recipe.epochs, weights

    return train


def asker(
    task: TrainingTask, queries: Sequence[Query], device: str = "cpu"
) -> Callable[[int, dict[str, Tensor]], list[Tensor]]:
    """What asks model k, given by its weights, all queries."""
    answer = _answering(task, queries, device)
    return lambda k, weights: answer(weights)


def _of_graphs(recipe: TrainingConfig) -> GraphRecipe:
    if not isinstance(recipe, GraphRecipe):
        raise TypeError(f"models of whole graphs follow a GraphRecipe, not {type(recipe).__name__}")
    return recipe


def _trained(
    recipe: GraphRecipe, first: dict[str, Tensor], graphs: Graphs, labels: Tensor, coins: np.random.SeedSequence
) -> dict[str, Tensor]:
    import torch
    from torch.nn import functional as F

    weights = {name: weight.to(graphs.rows.device).clone().requires_grad_() for name, weight in first.items()}
    adam = torch.optim.Adam(weights.values(), lr=recipe.lr, weight_decay=recipe.weight_decay)
    generator = torch.Generator().manual_seed(integer(coins))
    for _ in range(recipe.epochs):
        adam.zero_grad()
        rows = _dropped(graph_rows(recipe, weights, graphs), recipe.dropout, generator)
        F.cross_entropy(rows @ weights["w"] + weights["b"], labels).backward()
        adam.step()
    return {name: weight.detach().cpu() for name, weight in weights.items()}


def _dropped(rows: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Dropout whose coins are drawn on the CPU, so that they are the same everywhere."""
    import torch

    if not share:
        return rows
    kept = (torch.rand(rows.shape, generator=generator) >= share).to(rows.device)
    return rows * kept / (1 - share)


def _answering(
    task: TrainingTask, queries: Sequence[Query], device: str
) -> Callable[[dict[str, Tensor]], list[Tensor]]:
    """What answers all queries; where edges are given, none leads from one graph to another (`Query.apart`)."""
    import torch

    recipe = _of_graphs(task.recipe)
    asked = [partial(_asked, task.data, query, recipe, device) for query in queries]
    kept: list[Graphs] = []

    def answer(weights: dict[str, Tensor]) -> list[Tensor]:
        if not kept:
            kept.extend(make() for make in asked)
        there = {name: weight.to(device) for name, weight in weights.items()}
        with torch.no_grad():
            told = [logits_of(recipe, there, graphs) for graphs in kept]
        return [rows[query.nodes.to(device)].float().cpu() for rows, query in zip(told, queries, strict=True)]

    return answer


def _asked(data: Data, query: Query, recipe: GraphRecipe, device: str) -> Graphs:
    edges = data.edge_index[:, :0] if query.edges is None else query.edges
    x = data.x if query.x is None else query.x.to_dense()
    return Graphs.of(x, edges, data.graph_of, recipe).to(device)

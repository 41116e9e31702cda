"""Whole graphs side by side, filled up to the same size: each keeps a gradient of its own."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from ..models.graph_models import Graphs
from ..models.graph_recipe import GraphRecipe


class PaddedGraphs:
    """Some graphs as `GraphNetwork` reads them, by their number.

    Args:
        graphs: whose nodes come graph by graph.
    """

    def __init__(self, graphs: Graphs) -> None:
        self.sizes = graphs.sizes
        first = self.sizes.cumsum(0) - self.sizes
        sizes = self.sizes.tolist()
        self.rows = graphs.rows.split(sizes)
        matrix = graphs.operator.matrix.to_sparse_coo().coalesce()
        row, col = matrix.indices() - first[graphs.graph_of][matrix.indices()[0]]
        entries = torch.bincount(graphs.graph_of[matrix.indices()[0]], minlength=len(sizes)).tolist()
        parts = zip(row.split(entries), col.split(entries), matrix.values().split(entries), sizes, strict=True)
        self.operators = [_dense(row, col, values, size) for row, col, values, size in parts]

    def by_size(self) -> Tensor:
        """Numbers of all graphs, small ones first: those that are read together then need little filling."""
        return self.sizes.argsort(stable=True)

    def of(self, some: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What is read of some graphs [b], the largest of which has n nodes.

        Returns:
            Rows after the first aggregation [b, n, d], the aggregation of a layer [b, n, n], and which rows are
            nodes [b, n].
        """
        picked = some.tolist()
        rows = pad_sequence([self.rows[number] for number in picked], batch_first=True)
        operator = rows.new_zeros(len(picked), rows.shape[1], rows.shape[1])
        for place, number in enumerate(picked):
            one = self.operators[number]
            operator[place, : len(one), : len(one)] = one
        inside = torch.arange(rows.shape[1], device=rows.device) < self.sizes[some][:, None]
        return rows, operator, inside


def _dense(row: Tensor, col: Tensor, values: Tensor, size: int) -> Tensor:
    made = values.new_zeros(size, size)
    made[row, col] = values
    return made


class GraphNetwork(nn.Module):
    """The classifier of a `GraphRecipe` out of linear maps that Opacus knows; no map mixes graphs.

    Args:
        recipe: GIN or GCN, without dropout.
        first: its first weights, as the recipe names them.
    """

    def __init__(self, recipe: GraphRecipe, first: dict[str, Tensor]) -> None:
        super().__init__()
        self.recipe = recipe
        self.maps = nn.ModuleDict()
        for name, bias in self._pairs():
            made = nn.Linear(*first[name].shape)
            with torch.no_grad():
                made.weight.copy_(first[name].t())
                made.bias.copy_(first[bias])
            self.maps[name] = made

    def _pairs(self) -> list[tuple[str, str]]:
        """Each map's names of weight and bias."""
        kinds = (("w", "b"), ("v", "c")) if self.recipe.architecture == "gin" else (("w", "b"),)
        layers = range(1, self.recipe.layers + 1)
        return [(f"{weight}{k}", f"{bias}{k}") for k in layers for weight, bias in kinds] + [("w", "b")]

    def forward(self, rows: Tensor, operator: Tensor, inside: Tensor) -> Tensor:
        h = rows
        for k in range(1, self.recipe.layers + 1):
            h = h if k == 1 else operator @ h
            h = self.maps[f"w{k}"](h).relu()
            if self.recipe.architecture == "gin":
                h = self.maps[f"v{k}"](h).relu()
        total = (h * inside[:, :, None]).sum(1)
        if self.recipe.architecture == "gcn":
            total = total / inside.sum(1, keepdim=True)
        found: Tensor = self.maps["w"](total)
        return found

    def published(self) -> dict[str, Tensor]:
        """Its weights as the recipe names them, on the CPU."""
        found = {}
        for name, bias in self._pairs():
            found[name] = self.get_parameter(f"maps.{name}.weight").t()
            found[bias] = self.get_parameter(f"maps.{name}.bias")
        return {name: weight.detach().clone().contiguous().cpu() for name, weight in found.items()}

"""What a trained model answers with the features of one node multiplied by a number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .model_ensemble import ask_models
from .propagation import gcn_operator, mean_operator
from .training_task import Query, TrainingTask

if TYPE_CHECKING:
    from torch import Tensor

ScaledAnswers = Callable[[int, float, np.ndarray], "Tensor"]
"""Logits [k, C] of k nodes, with the features of one node multiplied by a number."""


def scaled_answers(task: TrainingTask, weights: Mapping[str, Tensor], device: str = "cpu") -> ScaledAnswers:
    """How a model answers on the whole graph, whose features but those of one node are as they are.

    Such a row reaches its neighbours and theirs, so the rest of the forward pass is kept from one query to the
    next; answers that it does not reach are the same bits. Where weights of edges depend on features (GAT) each
    query is a forward pass of its own.

    Args:
        task: the graph and the recipe.
        weights: of one model, by name.
        device: of such forward passes.
    """
    if task.recipe.architecture == "gat":
        return _whole(task, weights, device)
    return TwoLayers(task, weights) if task.recipe.architecture != "sgc" else _OneLayer(task, weights)


def _whole(task: TrainingTask, weights: Mapping[str, Tensor], device: str) -> ScaledAnswers:
    """One forward pass for each query."""
    import torch

    stacked = {name: weight[None] for name, weight in weights.items()}

    def ask(node: int, factor: float, asked: np.ndarray) -> Tensor:
        x = task.data.x.clone() if task.data.x.layout == torch.strided else task.data.x.to_dense()
        x[node] *= factor
        query = Query(torch.from_numpy(asked), task.data.edge_index, x=x)
        (logits,) = ask_models(task, [query], stacked, device=device)
        return logits[0]

    return ask


class _OneLayer:
    """SGC: a linear map of features that were propagated ``hops`` times."""

    def __init__(self, task: TrainingTask, weights: Mapping[str, Tensor]) -> None:
        step = operator_of(task)
        self.reach = step
        for _ in range(task.recipe.hops - 1):
            self.reach = sp.csc_matrix(self.reach @ step)
        self.own = (task.data.x @ weights["w"]).numpy()
        self.logits = self.reach @ self.own + weights["b"].numpy()

    def __call__(self, node: int, factor: float, asked: np.ndarray) -> Tensor:
        import torch

        moved = np.zeros_like(self.logits)
        places, shares = _column(self.reach, node)
        moved[places] = shares[:, None] * ((factor - 1) * self.own[node])
        return torch.from_numpy((self.logits + moved)[asked])


class TwoLayers:
    """GCN, GraphSAGE and MLP: rows are mapped, propagated, rectified, mapped and propagated again.

    Attributes:
        step: one propagation step, [n, n] by columns.
        before: what is rectified, [n, h].
        hidden: the same rectified: the rows of the hidden layer.
        logits: the answers, [n, C].
    """

    def __init__(self, task: TrainingTask, weights: Mapping[str, Tensor]) -> None:
        w = {name: weight.numpy() for name, weight in weights.items()}
        self.step, self.w2, self.r2 = operator_of(task), w["w2"], w.get("r2")
        self.near = (task.data.x @ weights["w1"]).numpy()
        self.own = (task.data.x @ weights["r1"]).numpy() if "r1" in weights else None
        self.before = self.step @ self.near + w["b1"] + (0 if self.own is None else self.own)
        self.hidden = np.maximum(self.before, 0)
        self.logits = self.step @ (self.hidden @ self.w2) + w["b2"]
        self.logits += 0 if self.r2 is None else self.hidden @ self.r2

    def __call__(self, node: int, factor: float, asked: np.ndarray) -> Tensor:
        import torch

        places, shares = _column(self.step, node)
        if self.own is not None and node not in places:
            places, shares = np.append(places, node), np.append(shares, np.float32(0))
        into = shares[:, None] * ((factor - 1) * self.near[node])
        if self.own is not None:  # what a node tells itself in GraphSAGE
            into[places == node] += (factor - 1) * self.own[node]
        hidden = np.maximum(self.before[places] + into, 0) - self.hidden[places]
        moved = self.step[:, places] @ (hidden @ self.w2)
        if self.r2 is not None:
            moved[places] += hidden @ self.r2
        return torch.from_numpy((self.logits[asked] + moved[asked]).astype(np.float32))


def operator_of(task: TrainingTask) -> sp.csc_matrix:
    """What one propagation step multiplies with, [n, n], by columns."""
    edges, nodes = task.data.edge_index, int(task.data.num_nodes or 0)
    if task.recipe.architecture == "mlp":
        return sp.identity(nodes, dtype=np.float32, format="csc")
    matrix = mean_operator(edges, nodes) if task.recipe.architecture == "sage" else gcn_operator(edges, nodes)
    parts = matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy()
    return sp.csr_matrix(parts, shape=(nodes, nodes)).tocsc()


def _column(matrix: sp.csc_matrix, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one column that hold something, and what."""
    own = slice(matrix.indptr[node], matrix.indptr[node + 1])
    return matrix.indices[own], matrix.data[own]

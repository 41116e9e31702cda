"""Gradient explanations of a classifier's answers: how much each feature says for the class of a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from .scaled_rows import operator_of
from .training_task import TrainingTask

if TYPE_CHECKING:
    from torch import Tensor


def explanations(task: TrainingTask, weights: Mapping[str, Tensor]) -> Tensor:
    """For each node v and feature j |dL_v / df_j|, [n, d], where L_v is -log p of the likeliest class of v.

    f is a row of ones that the features of all nodes are multiplied by; so an explanation sums what a feature says
    at all nodes that the answer reads ("Grad" of Olatunji et al., PoPETs 2023). In forward mode one derivative by
    each feature serves all nodes.

    Args:
        task: the graph and the recipe; GCN, GraphSAGE or MLP.
        weights: of one model, by name.

    Raises:
        InputError: another architecture.
    """
    import torch

    if task.recipe.architecture not in ("gcn", "sage", "mlp"):
        raise InputError(
            f"explanations are made of GCN, GraphSAGE and MLP, not of '{task.recipe.architecture}': set "
            "recipe.architecture to one of these"
        )
    w = {name: weight.numpy() for name, weight in weights.items()}
    step = operator_of(task)
    own = sp.csr_matrix(task.data.x.to_dense().numpy())
    near = sp.csr_matrix(step @ own)
    before = near @ w["w1"] + w["b1"] + (own @ w["r1"] if "r1" in w else 0)
    hidden, alive = np.maximum(before, 0), before > 0
    logits = step @ (hidden @ w["w2"]) + w["b2"] + (hidden @ w["r2"] if "r2" in w else 0)
    blame = torch.from_numpy(logits).softmax(1).numpy()
    blame[np.arange(len(blame)), logits.argmax(1)] -= 1
    found = np.zeros(own.shape, dtype=np.float32)
    columns, selves = near.tocsc(), own.tocsc()
    for j in range(own.shape[1]):
        moved = _outer(columns, j, w["w1"]) + (_outer(selves, j, w["r1"]) if "r1" in w else 0)
        moved *= alive
        told = step @ (moved @ w["w2"]) + (moved @ w["r2"] if "r2" in w else 0)
        found[:, j] = np.abs((told * blame).sum(1))
    return torch.from_numpy(found)


def _outer(columns: sp.csc_matrix, j: int, weight: np.ndarray) -> np.ndarray:
    """A column of rows times its row of weights, [n, h]."""
    moved = np.zeros((columns.shape[0], weight.shape[1]), dtype=np.float32)
    own = slice(columns.indptr[j], columns.indptr[j + 1])
    moved[columns.indices[own]] = columns.data[own, None] * weight[j]
    return moved

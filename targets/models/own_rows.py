"""What a trained model makes of each node: its row of the hidden layer, and answers to a row that it submits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...errors import InputError
from .scaled_rows import TwoLayers
from .training_task import TrainingTask

if TYPE_CHECKING:
    from torch import Tensor

WITH_HIDDEN_LAYER = ("gcn", "sage", "mlp")
AT_ONCE = 1 << 17
"""Edges whose changes are held at a time."""


def hidden_rows(task: TrainingTask, weights: Mapping[str, Tensor]) -> Tensor:
    """The rectified row of each node in the hidden layer, [n, h].

    Args:
        task: the graph and the recipe; GCN, GraphSAGE or MLP.
        weights: of one model, by name.

    Raises:
        InputError: another architecture.
    """
    import torch

    return torch.from_numpy(_two_layers(task, weights).hidden.astype(np.float32))


def answers_to_own_rows(
    task: TrainingTask, weights: Mapping[str, Tensor], columns: Tensor, values: Tensor
) -> Tensor:
    """Posteriors [n, C] of each node, had it alone other values in some columns and everybody else the own row.

    In a forward pass for each node only its neighbours' hidden rows change, and of these the part that reaches the
    node itself is one sum over its edges; so all nodes together cost one pass over the edges.

    Args:
        task: the graph and the recipe; GCN, GraphSAGE or MLP.
        weights: of one model, by name.
        columns: of the features, [k].
        values: what they hold instead, for everybody [k].

    Raises:
        InputError: another architecture.
    """
    import torch

    layers = _two_layers(task, weights)
    change = (values - task.data.x[:, columns]).numpy()
    moved = change @ weights["w1"][columns].numpy()
    to_itself = change @ weights["r1"][columns].numpy() if "r1" in weights else 0
    own = layers.step.diagonal()[:, None]
    hidden = np.maximum(layers.before + own * moved + to_itself, 0) - layers.hidden
    logits = layers.logits + own * (hidden @ layers.w2) + _through_neighbours(layers, moved) @ layers.w2
    logits += 0 if layers.r2 is None else hidden @ layers.r2
    return torch.from_numpy(logits.astype(np.float32)).softmax(1)


def _two_layers(task: TrainingTask, weights: Mapping[str, Tensor]) -> TwoLayers:
    if task.recipe.architecture not in WITH_HIDDEN_LAYER:
        raise InputError(
            f"rows of the hidden layer are those of GCN, GraphSAGE and MLP, not of '{task.recipe.architecture}': "
            "set recipe.architecture to one of these"
        )
    return TwoLayers(task, weights)


def _through_neighbours(layers: TwoLayers, moved: np.ndarray) -> np.ndarray:
    """How each node's neighbours change the sum that it takes of them where its own row moved, [n, h]."""
    step = sp.csr_matrix(layers.step - sp.diags(layers.step.diagonal()))
    step.eliminate_zeros()
    back = sp.csr_matrix(step.T)
    for matrix in (step, back):
        matrix.sort_indices()
    if not np.array_equal(step.indptr, back.indptr) or not np.array_equal(step.indices, back.indices):
        raise ValueError("edges must be there both ways")
    found: np.ndarray = np.zeros_like(layers.hidden)
    for first, last in _blocks(step.indptr):
        place = slice(step.indptr[first], step.indptr[last])
        node = np.repeat(np.arange(first, last), np.diff(step.indptr[first : last + 1]))
        near = step.indices[place]
        changed = np.maximum(layers.before[near] + back.data[place, None] * moved[node], 0) - layers.hidden[near]
        indptr = step.indptr[first : last + 1] - step.indptr[first]
        shares = (step.data[place], np.arange(len(near)), indptr)
        found[first:last] = sp.csr_matrix(shares, shape=(last - first, len(near))) @ changed
    return found


def _blocks(indptr: np.ndarray) -> list[tuple[int, int]]:
    """Nodes from and to, so many that about `AT_ONCE` edges are theirs; a node with more is alone."""
    cuts = np.searchsorted(indptr, np.arange(0, indptr[-1], AT_ONCE))
    starts = np.unique(np.append(cuts, len(indptr) - 1))
    starts = starts if starts[0] == 0 else np.insert(starts, 0, 0)
    return list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True))

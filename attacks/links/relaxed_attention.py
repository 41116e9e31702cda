"""A trained two-layer GAT on a graph with weights in place of edges, and its loss's gradient for every pair."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from ...targets.models.propagation import sparse_features
from .relaxed_model import likelihood_loss
from .weighted_graph import WeightedGraph

LARGEST = 3000
"""Nodes, at most: attention has a number of its own for each pair, so the matrices are dense, one for each head."""


@dataclass(frozen=True, eq=False)
class DensePairGradient:
    """The derivative by the weight of each pair {i, j} as a matrix.

    Attributes:
        whole: symmetric [n, n]; the diagonal means nothing.
        hidden: the hidden layer, by the way [n, h].
        loss: the loss.
    """

    whole: Tensor
    hidden: Tensor
    loss: float

    def at(self, pairs: Tensor) -> Tensor:
        """The derivatives of some pairs [s, 2], [s]."""
        return self.whole[pairs[:, 0], pairs[:, 1]]

    def with_ends(self, ends: Tensor) -> "DensePairGradient":
        """The same with ends[i] + ends[j] added for each pair {i, j}."""
        return replace(self, whole=self.whole + ends[:, None] + ends)

    def stepped(self, tile: Tensor, rows: slice, cols: slice, keep: float, rate: float) -> Tensor:
        """``keep`` times a tile of weights less ``rate`` times the derivatives there, in place."""
        return tile.mul_(keep).sub_(self.whole[rows, cols], alpha=rate)


class RelaxedAttention:
    """A GAT with given weights, as a function of a weighted graph A.

    A node's share of attention is A_ij exp(e_ij) over the sum of these and its own exp(e_ii): on a graph of edges
    that is GAT's softmax over neighbours and the node itself. Gradients come by autograd on the dense A.

    Args:
        weights: by the names of `weight_shapes`: w1, b1, w2, b2, from1, to1, from2, to2.
        heads: of the first layer; the second has one.
        x: features [n, d], n at most `LARGEST`.
    """

    def __init__(self, weights: Mapping[str, Tensor], heads: int, x: Tensor) -> None:
        self.weights, self.heads, self.nodes = weights, heads, len(x)
        self.first = sparse_features(x) @ weights["w1"]

    def hidden(self, graph: WeightedGraph) -> Tensor:
        """The hidden layer, [n, h]."""
        return self._hidden(dense(graph))

    def loss(self, graph: WeightedGraph, labels: Tensor) -> float:
        """Mean negative log-likelihood of the labels that are known (-1 elsewhere) [n]; 0 where none is."""
        adjacency = dense(graph)
        return float(likelihood_loss(self._logits(adjacency, self._hidden(adjacency)), labels))

    def gradient(self, graph: WeightedGraph, labels: Tensor) -> DensePairGradient:
        """The loss's derivative by the weight of every pair at once."""
        adjacency = dense(graph).requires_grad_()
        hidden = self._hidden(adjacency)
        loss = likelihood_loss(self._logits(adjacency, hidden), labels)
        (slope,) = torch.autograd.grad(loss, adjacency, allow_unused=True)
        slope = torch.zeros_like(adjacency) if slope is None else slope
        return DensePairGradient(slope + slope.t(), hidden.detach(), float(loss.detach()))

    def _hidden(self, adjacency: Tensor) -> Tensor:
        return F.elu(self._attended(adjacency, self.first, "1", self.heads))

    def _logits(self, adjacency: Tensor, hidden: Tensor) -> Tensor:
        return self._attended(adjacency, hidden @ self.weights["w2"], "2", 1)

    def _attended(self, adjacency: Tensor, rows: Tensor, layer: str, heads: int) -> Tensor:
        by_head = rows.view(self.nodes, heads, -1).transpose(0, 1)  # [heads, n, width]
        sent, got = (
            (by_head * self.weights[end + layer].view(heads, 1, -1)).sum(2)[:, None] for end in ("from", "to")
        )
        score = F.leaky_relu(got.transpose(1, 2) + sent, 0.2)  # [heads, receiver, sender]
        # the largest score of each node is taken off: shares are the same, exponentials stay finite
        itself = torch.eye(self.nodes, dtype=rows.dtype, device=rows.device)
        carried = (score - score.detach().amax(2, keepdim=True)).exp() * (adjacency + itself)
        total = carried.sum(2, keepdim=True).clamp_min(torch.finfo(carried.dtype).tiny)
        return (carried / total @ by_head).transpose(0, 1).reshape(rows.shape) + self.weights["b" + layer]


def dense(graph: WeightedGraph) -> Tensor:
    """The symmetric matrix [n, n] of a weighted graph."""
    half = graph.like.new_zeros(graph.nodes, graph.nodes)
    for tile in graph.tiles.values():
        half[tile.rows, tile.cols] = tile.dense()
    return half + half.t()

"""A trained two-layer GNN on a graph with weights in place of edges, and its loss's gradient for every pair."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from ...targets.models.propagation import sparse_features
from .weighted_graph import WeightedGraph

AT_ONCE = 2**16
"""Pairs whose derivatives are computed at a time."""


@dataclass(frozen=True, eq=False)
class PairGradient:
    """The derivative by the weight of each pair {i, j} as a product of narrow matrices: left[i] . right[j].

    Attributes:
        left, right: [n, 2 (h + C) + 2] each; the last two columns are what a pair's ends add, each for itself.
        hidden: the hidden layer, by the way [n, h].
        loss: the loss.
    """

    left: Tensor
    right: Tensor
    hidden: Tensor
    loss: float

    def at(self, pairs: Tensor) -> Tensor:
        """The derivatives of some pairs [s, 2], [s]."""
        parts = [(self.left[some[:, 0]] * self.right[some[:, 1]]).sum(1) for some in pairs.split(AT_ONCE)]
        return torch.cat(parts)

    def with_ends(self, ends: Tensor) -> "PairGradient":
        """The same with ends[i] + ends[j] added for each pair {i, j}."""
        left, right = self.left.clone(), self.right.clone()
        left[:, -2] += ends
        right[:, -1] += ends
        return replace(self, left=left, right=right)

    def stepped(self, tile: Tensor, rows: slice, cols: slice, keep: float, rate: float) -> Tensor:
        """``keep`` times a tile of weights less ``rate`` times the derivatives there, in place."""
        return tile.addmm_(self.left[rows], self._turned[:, cols], beta=keep, alpha=-rate)

    @cached_property
    def _turned(self) -> Tensor:
        return self.right.t().contiguous()


class Gradient(Protocol):
    """The derivative of a model's loss by the weight of each pair, and how a tile of weights moves along it."""

    @property
    def hidden(self) -> Tensor: ...

    def at(self, pairs: Tensor) -> Tensor: ...

    def with_ends(self, ends: Tensor) -> "Gradient": ...

    def stepped(self, tile: Tensor, rows: slice, cols: slice, keep: float, rate: float) -> Tensor: ...


class ModelOnGraph(Protocol):
    """A trained model as a function of a weighted graph on ``nodes`` nodes; ``first`` has its type and device."""

    nodes: int
    first: Tensor

    def hidden(self, graph: WeightedGraph) -> Tensor: ...

    def loss(self, graph: WeightedGraph, labels: Tensor) -> float: ...

    def gradient(self, graph: WeightedGraph, labels: Tensor) -> Gradient: ...


@dataclass(frozen=True, eq=False)
class Scaling:
    """How A becomes a model's propagation S = diag(l) (A + c I) diag(r), from the degrees d.

    Attributes:
        left, right: l and r [n].
        d_left, d_right: their derivatives by d [n].
        loops: c.
    """

    left: Tensor
    right: Tensor
    d_left: Tensor
    d_right: Tensor
    loops: float

    @classmethod
    def of(cls, architecture: str, degrees: Tensor) -> "Scaling":
        """GCN: (d + 1)^-1/2 on both sides, with loops. SAGE: 1 / max(d, 1) on the left.

        The mean over neighbours has no limit where all weights go to 0. On graphs without weights d is never
        between 0 and 1, so max(d, 1) says the same there, and the derivative at the empty graph is finite.
        """
        if architecture == "gcn":
            scale = (degrees + 1).rsqrt()
            slope = -0.5 * scale**3
            return cls(scale, scale, slope, slope, 1.0)
        mean = 1 / degrees.clamp(min=1)
        slope = -(mean**2) * (degrees > 1)
        return cls(mean, torch.ones_like(mean), slope, torch.zeros_like(mean), 0.0)

    def gathered(self, graph: WeightedGraph, rows: Tensor) -> Tensor:
        """(A + c I) diag(r) times a matrix [n, k]."""
        scaled = self.right[:, None] * rows
        return graph @ scaled + self.loops * scaled

    def scattered(self, graph: WeightedGraph, rows: Tensor) -> Tensor:
        """(A + c I) diag(l) times a matrix [n, k]: the transposed way."""
        scaled = self.left[:, None] * rows
        return graph @ scaled + self.loops * scaled


class RelaxedModel:
    """A GCN or a GraphSAGE (mean) with given weights, as a function of a weighted graph.

    Args:
        architecture: which.
        weights: by the names of `Recipe`: w1, b1, w2, b2, and r1, r2 of SAGE.
        x: features [n, d]; bag-of-words are multiplied as sparse matrices.
    """

    def __init__(self, architecture: Literal["gcn", "sage"], weights: Mapping[str, Tensor], x: Tensor) -> None:
        self.architecture = architecture
        self.weights = weights
        features = sparse_features(x)
        self.nodes = len(x)
        self.first = features @ weights["w1"]
        self.own = features @ weights["r1"] if architecture == "sage" else torch.zeros_like(self.first)

    def hidden(self, graph: WeightedGraph) -> Tensor:
        """The hidden layer, [n, h]."""
        scaling = Scaling.of(self.architecture, graph.degrees)
        return self._hidden(scaling, scaling.gathered(graph, self.first))

    def _hidden(self, scaling: Scaling, gathered: Tensor) -> Tensor:
        return torch.relu(scaling.left[:, None] * gathered + self.own + self.weights["b1"])

    def _logits(self, scaling: Scaling, gathered: Tensor, hidden: Tensor) -> Tensor:
        own = hidden @ self.weights["r2"] if self.architecture == "sage" else 0
        return scaling.left[:, None] * gathered + own + self.weights["b2"]

    def loss(self, graph: WeightedGraph, labels: Tensor) -> float:
        """Mean negative log-likelihood of the labels that are known (-1 elsewhere) [n]; 0 where none is."""
        scaling = Scaling.of(self.architecture, graph.degrees)
        hidden = self._hidden(scaling, scaling.gathered(graph, self.first))
        logits = self._logits(scaling, scaling.gathered(graph, hidden @ self.weights["w2"]), hidden)
        return float(likelihood_loss(logits, labels))

    def gradient(self, graph: WeightedGraph, labels: Tensor) -> PairGradient:
        """The loss's derivative by the weight of every pair at once.

        With P1 = X W1, P2 = H W2 and the derivatives G1, G2 by the two layers' sums, that by S is
        G1 P1' + G2 P2', and what comes through a node's degree is a sum of one number for each end.
        """
        w2, scaling = self.weights["w2"], Scaling.of(self.architecture, graph.degrees)
        gathered1 = scaling.gathered(graph, self.first)
        hidden = self._hidden(scaling, gathered1)
        second = hidden @ w2
        gathered2 = scaling.gathered(graph, second)
        logits = self._logits(scaling, gathered2, hidden)
        by_logits = _by_logits(logits, labels)
        scattered2 = scaling.scattered(graph, by_logits)
        back = (scaling.right[:, None] * scattered2) @ w2.t()
        if self.architecture == "sage":
            back = back + by_logits @ self.weights["r2"].t()
        by_sums = back * (hidden > 0)
        scattered1 = scaling.scattered(graph, by_sums)
        by_left = (by_logits * gathered2).sum(1) + (by_sums * gathered1).sum(1)
        by_right = (second * scattered2).sum(1) + (self.first * scattered1).sum(1)
        by_degree = (by_left * scaling.d_left + by_right * scaling.d_right)[:, None]
        receives = scaling.left[:, None] * torch.cat([by_sums, by_logits], 1)
        gives = scaling.right[:, None] * torch.cat([self.first, second], 1)
        one = torch.ones_like(by_degree)
        return PairGradient(
            torch.cat([receives, gives, by_degree, one], 1),
            torch.cat([gives, receives, one, by_degree], 1),
            hidden,
            float(likelihood_loss(logits, labels)),
        )


def likelihood_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean negative log-likelihood of the labels that are known (-1 elsewhere) [n]; 0 where none is."""
    known = labels >= 0
    return F.cross_entropy(logits[known], labels[known]) if bool(known.any()) else logits.new_zeros(())


def _by_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """The loss's derivative by the logits, [n, C]."""
    known = (labels >= 0).nonzero().flatten()
    slope = torch.zeros_like(logits)
    slope[known] = logits[known].softmax(1)
    slope[known, labels[known]] -= 1
    return slope / max(len(known), 1)

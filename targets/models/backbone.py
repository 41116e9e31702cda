"""The two models that graphs are condensed for, with their gradients in closed form.

PyG's layers serve everywhere else; here the same few products run many thousand times (per round, client
and class), and the server needs gradients that can be differentiated once more. The closed form costs two
products forward and two back and is checked against autograd and PyG in the tests.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .propagation import Factor, Neighbourhood

Weights = Mapping[str, Tensor]
Rows = Tensor | Factor
BackboneName = Literal["gcn", "sgc"]
Spread = Literal["fan-out", "fan-in"]
SMALL = 1024
"""Rows up to which their products with each other are kept: 4 MiB."""


@dataclass(frozen=True)
class Outer:
    """A gradient left^T right, d x h numbers that follow from rows of both: m of each, and m is small.

    Distances between two of them need their rows' products with each other alone: n' x m numbers in place of d x h.

    Attributes:
        left: [m, d]; as a factor it keeps the products of its rows from one gradient to the next.
        right: [m, h].
    """

    left: Rows
    right: Tensor

    def product(self) -> Tensor:
        """The gradient itself, [d, h]."""
        return self.left.t() @ self.right

    def squares(self) -> Tensor:
        """Squared length of each column of the gradient, [h]."""
        if not isinstance(self.left, Factor) or len(self.right) > SMALL:
            return self.product().square().sum(0)
        return (self.right * (self.left.gram @ self.right)).sum(0)

    def inner(self, other: "Outer") -> Tensor:
        """Inner product of each column of the gradient with that of another one, whose left is dense, [h]."""
        turned = other.left.turned if isinstance(other.left, Factor) else other.left.t()
        return (self.right * ((self.left @ turned) @ other.right)).sum(0)


Gradients = dict[str, Tensor]
Factors = dict[str, Tensor | Outer]


class Backbone(nn.Module):
    """A node classifier on neighbourhoods.

    Args:
        features: d.
        hidden: width of the hidden layer, if there is one.
        classes: C.
        dropout: share of hidden units dropped in training.
    """

    name: ClassVar[str]

    def __init__(self, features: int, hidden: int, classes: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = dropout
        for name, shape in self.shapes(features, hidden, classes).items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape)))
        self.reset_parameters()

    @staticmethod
    @abstractmethod
    def shapes(features: int, hidden: int, classes: int) -> dict[str, tuple[int, ...]]:
        """Shape of each weight by name."""

    def reset_parameters(self, by: Spread = "fan-out") -> None:
        """Uniform within 1 / sqrt(fan out), biases too, as pygcn (Kipf) draws them.

        GCond's code and what builds on it (FedGC, FedGM, FedC4) have the fan in there (``weight.T.size(1)``), also
        for the layer's bias: ``fan-in`` draws so.
        """
        bound = 1.0
        for parameter in self.parameters():  # a layer's bias follows its weight
            if parameter.dim() > 1 or by == "fan-out":
                bound = 1 / math.sqrt(parameter.shape[0 if by == "fan-in" else -1])
            nn.init.uniform_(parameter, -bound, bound)

    def weights(self) -> dict[str, Tensor]:
        """The weights by name, detached."""
        return {name: p.detach() for name, p in self.named_parameters()}

    def load(self, weights: Weights) -> None:
        """Takes over other weights of the same shapes."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(weights[name])

    @abstractmethod
    def forward(self, near: Neighbourhood) -> Tensor:
        """Logits of the k nodes in question, [k, C]."""

    @staticmethod
    @abstractmethod
    def hidden(weights: Weights, rows: Rows) -> Tensor:
        """What the model keeps per row before the second aggregation, [m, h]."""

    @staticmethod
    @abstractmethod
    def logits(weights: Weights, hidden: Tensor, second: Rows) -> Tensor:
        """Logits from `hidden` without dropout, [k, C]."""

    @classmethod
    def gradients(cls, weights: Weights, rows: Rows, hidden: Tensor, second: Rows, error: Tensor) -> Gradients:
        """Gradient of a loss by each weight; for what is read see `factors`."""
        found = cls.factors(weights, rows, hidden, second, error)
        return {name: value.product() if isinstance(value, Outer) else value for name, value in found.items()}

    @staticmethod
    @abstractmethod
    def factors(weights: Weights, rows: Rows, hidden: Tensor, second: Rows, error: Tensor) -> Factors:
        """Gradient of a loss by each weight, that by the first layer's as two factors.

        Args:
            weights: by name.
            rows: once aggregated features [m, d].
            hidden: `hidden` of these rows.
            second: second aggregation [k, m].
            error: derivative of the loss by the logits, [k, C].
        """


class GCN(Backbone):
    """Two-layer graph convolutional network (Kipf and Welling 2017)."""

    name = "gcn"
    w1: Tensor
    b1: Tensor
    w2: Tensor
    b2: Tensor

    @staticmethod
    def shapes(features: int, hidden: int, classes: int) -> dict[str, tuple[int, ...]]:
        return {"w1": (features, hidden), "b1": (hidden,), "w2": (hidden, classes), "b2": (classes,)}

    def forward(self, near: Neighbourhood) -> Tensor:
        hidden = F.dropout(self.hidden(self._parameters, near.rows), self.dropout, self.training)  # type: ignore[arg-type]
        return self.logits(self._parameters, hidden, near.second)  # type: ignore[arg-type]

    @staticmethod
    def hidden(weights: Weights, rows: Rows) -> Tensor:
        return torch.relu(rows @ weights["w1"] + weights["b1"])

    @staticmethod
    def logits(weights: Weights, hidden: Tensor, second: Rows) -> Tensor:
        return second @ (hidden @ weights["w2"]) + weights["b2"]

    @staticmethod
    def factors(weights: Weights, rows: Rows, hidden: Tensor, second: Rows, error: Tensor) -> Factors:
        back = second.t() @ error
        into_hidden = (back @ weights["w2"].t()) * (hidden > 0)
        return {
            "w1": Outer(rows, into_hidden),
            "b1": into_hidden.sum(0),
            "w2": hidden.t() @ back,
            "b2": error.sum(0),
        }


class SGC(Backbone):
    """Simplified graph convolution with two propagation steps (Wu et al. 2019)."""

    name = "sgc"
    w: Tensor
    b: Tensor

    @staticmethod
    def shapes(features: int, hidden: int, classes: int) -> dict[str, tuple[int, ...]]:
        return {"w": (features, classes), "b": (classes,)}

    def forward(self, near: Neighbourhood) -> Tensor:
        return self.logits(self._parameters, self.hidden(self._parameters, near.rows), near.second)  # type: ignore[arg-type]

    @staticmethod
    def hidden(weights: Weights, rows: Rows) -> Tensor:
        return rows @ weights["w"]

    @staticmethod
    def logits(weights: Weights, hidden: Tensor, second: Rows) -> Tensor:
        return second @ hidden + weights["b"]

    @staticmethod
    def factors(weights: Weights, rows: Rows, hidden: Tensor, second: Rows, error: Tensor) -> Factors:
        return {"w": rows.t() @ (second.t() @ error), "b": error.sum(0)}  # d x C numbers are few


BACKBONES: dict[str, type[Backbone]] = {b.name: b for b in (GCN, SGC)}

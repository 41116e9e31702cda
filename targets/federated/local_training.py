"""One client's training on its own subgraph: what the model says, the loss's gradient, local steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from ..defense import LossTerm
from ..models.propagation import Factor, Neighbourhood, gcn_operator, mean_operator, sparse_features
from ..models.training_config import TrainingConfig
from ..party import Client

Weights = Mapping[str, Tensor]
Drop = Callable[[Tensor], Tensor]
Correction = Callable[[str, Tensor], Tensor]
"""Given a weight's name and value: what is added to its gradient."""
OptimiserName = Literal["adam", "sgd"]
OptimiserState = dict[str, Any]
"""What an optimiser remembers from step to step, as its `state_dict` says it; empty before the first step."""


def nothing_dropped(hidden: Tensor) -> Tensor:
    """Dropout of rate 0."""
    return hidden


def dropout(rate: float, generator: torch.Generator) -> Drop:
    """Dropout in steps of 1/256, as a `TrainingConfig` counts it; ``generator`` lives where the hidden units do."""
    share = round(256 * rate) / 256
    if share == 0:
        return nothing_dropped

    def drop(hidden: Tensor) -> Tensor:
        drawn = torch.rand(hidden.shape, generator=generator, device=hidden.device)
        return hidden * (drawn >= share) / (1 - share)

    return drop


class Forward(Protocol):
    """What a two-layer model with some weights says of a client's n nodes: logits [n, C], differentiable.

    Weights are named and shaped as `recipe.weight_shapes` says.
    """

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor: ...


@dataclass(frozen=True)
class Subgraph:
    """A client's own nodes and edges as a GCN, GraphSAGE (mean) or GAT reads them; the layers are PyG's.

    Attributes:
        recipe: architecture and number of heads.
        x: features [n, d], sparse where most of them are zero.
        edges: both directions [2, e]; of GAT with a self-loop at each node.
        operator: of GCN and SAGE: the propagation [n, n].
    """

    recipe: TrainingConfig
    x: Factor
    edges: Tensor
    operator: Factor | None

    @classmethod
    def of(cls, recipe: TrainingConfig, x: Tensor, edges: Tensor) -> "Subgraph":
        """``x`` [n, d], ``edges`` [2, e] local ids, possibly none."""
        rows = Factor.of(sparse_features(x))
        if recipe.architecture == "gat":
            loops = torch.arange(len(x), device=edges.device).repeat(2, 1)
            return cls(recipe, rows, torch.cat([edges, loops], 1), None)
        make = mean_operator if recipe.architecture == "sage" else gcn_operator
        return cls(recipe, rows, edges, Factor.of(make(edges, len(x))))

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        return self.read_out(self.hidden(weights, drop), weights)

    def hidden(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        """What the first layer makes of the nodes, [n, h]."""
        hidden = self._layer(self.x, weights, "1")
        return drop(F.elu(hidden) if self.recipe.architecture == "gat" else torch.relu(hidden))

    def read_out(self, hidden: Tensor, weights: Weights) -> Tensor:
        """What the second layer makes of that, [n, C]."""
        return self._layer(hidden, weights, "2")

    def _layer(self, rows: Factor | Tensor, weights: Weights, number: str) -> Tensor:
        out = rows @ weights["w" + number]
        if self.operator is None:
            heads = self.recipe.heads if number == "1" else 1
            out = attended(self.edges, out, weights["from" + number], weights["to" + number], heads)
        else:
            out = self.operator @ out
        if self.recipe.architecture == "sage":
            out = out + rows @ weights["r" + number]
        return out + weights["b" + number]


def attended(edges: Tensor, rows: Tensor, sender: Tensor, receiver: Tensor, heads: int) -> Tensor:
    """Attention over the nodes that point at each node (Velickovic et al. 2018, equations 3 to 5).

    Args:
        edges: with self-loops, [2, e].
        rows: projected features, heads side by side, [n, width].
        sender: attention vector for the source of an edge, [width].
        receiver: that for its target, [width].
        heads: how many.
    """
    nodes, width = rows.shape
    by_head = rows.view(nodes, heads, width // heads)
    source, target = edges
    sent, got = ((by_head * vector.view(heads, -1)).sum(2) for vector in (sender, receiver))
    score = F.leaky_relu(sent[source] + got[target], 0.2)
    index = target[:, None].expand_as(score)
    # the largest score of each node is taken off: shares are the same, exponentials stay finite
    most = torch.full_like(sent, -torch.inf).scatter_reduce(0, index, score.detach(), "amax")
    share = (score - most[target]).exp()
    total = torch.zeros_like(sent).index_add(0, target, share)
    carried = by_head[source] * (share / total[target])[..., None]
    return torch.zeros_like(by_head).index_add(0, target, carried).reshape(nodes, width)


@dataclass(frozen=True)
class Aggregated:
    """A GCN on once aggregated features, possibly with other clients' part in them (`exchange`)."""

    rows: Factor
    second: Factor

    @classmethod
    def of(cls, near: Neighbourhood) -> "Aggregated":
        return cls(Factor.of(near.rows), Factor.of(near.second))

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        hidden = drop(torch.relu(self.rows @ weights["w1"] + weights["b1"]))
        return self.second @ (hidden @ weights["w2"]) + weights["b2"]


@dataclass(frozen=True)
class LocalTask:
    """What a client trains for: mean cross-entropy over its labelled nodes, and what a defense adds to it.

    Attributes:
        forward: the model on the client's nodes.
        labelled: positions of its labelled nodes [k].
        labels: theirs, [k].
        reference: positions of its validation nodes, which no loss uses [m].
        reference_labels: theirs, [m].
        term: the defense's extra term, or None.
        counts: how much each labelled node's part of the loss counts [k]; None: one each.
    """

    forward: Forward
    labelled: Tensor
    labels: Tensor
    reference: Tensor
    reference_labels: Tensor
    term: LossTerm | None = None
    counts: Tensor | None = None

    @classmethod
    def of(cls, client: Client, forward: Forward, term: LossTerm | None = None) -> "LocalTask":
        labelled, reference = (mask.nonzero().flatten() for mask in (client.train, client.val))
        return cls(forward, labelled, client.y_train[labelled], reference, client.y[reference], term)

    def loss(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        """The loss to differentiate; its value lacks the extra term, of which only the derivative is known."""
        return self.loss_of(self.forward(weights, drop))

    def loss_of(self, logits: Tensor) -> Tensor:
        """The same of what a model said of all nodes, [n, C]."""
        own = logits[self.labelled]
        if self.counts is None:
            loss = F.cross_entropy(own, self.labels)
        else:
            loss = (self.counts * F.cross_entropy(own, self.labels, reduction="none")).mean()
        if self.term is None:
            return loss
        seen = logits[self.reference].detach()
        added = self.term.gradient(own.detach(), self.labels, seen, self.reference_labels)
        if self.counts is not None:
            added = self.counts[:, None] * added
        by_term = (added * own).sum() / len(own)
        return loss + by_term - by_term.detach()

    def losses(self, weights: Weights) -> Tensor:
        """The cross-entropy of each labelled node by itself, [k]; neither ``term`` nor ``counts`` enter."""
        return F.cross_entropy(self.forward(weights)[self.labelled], self.labels, reduction="none")

    def gradient(self, weights: Weights) -> dict[str, Tensor]:
        """The loss's gradient at some weights, dropout off; named as they are."""
        free = as_parameters(weights)
        found = torch.autograd.grad(self.loss(free), list(free.values()))
        return dict(zip(free, found, strict=True))

    def trained(
        self,
        weights: Weights,
        *,
        steps: int,
        optimiser: OptimiserName,
        lr: float,
        weight_decay: float,
        drop: Drop = nothing_dropped,
        correction: Correction | None = None,
        state: OptimiserState | None = None,
    ) -> dict[str, Tensor]:
        """Weights after full-batch steps of an optimiser, from copies of ``weights``.

        Args:
            weights: where to start.
            steps: how many.
            optimiser: Adam, or plain gradient descent.
            lr: its rate.
            weight_decay: L2 penalty on all weights, within the gradient.
            drop: dropout of hidden units.
            correction: what is added to each weight's gradient.
            state: what the optimiser remembers of an earlier call, and where it is noted for the next one; without
                it the optimiser is a fresh one.
        """
        free = as_parameters(weights)
        walker = optimiser_of(optimiser, free, lr, weight_decay)
        if state:
            walker.load_state_dict(state)
        for _ in range(steps):
            walker.zero_grad(set_to_none=True)
            self.loss(free, drop).backward()  # type: ignore[no-untyped-call]
            if correction is not None:
                for name, weight in free.items():
                    assert weight.grad is not None
                    weight.grad.add_(correction(name, weight.detach()))
            walker.step()
        if state is not None:
            state.update(walker.state_dict())
        return {name: weight.detach() for name, weight in free.items()}


def as_parameters(weights: Weights) -> dict[str, Tensor]:
    """Copies of weights that gradients are taken of."""
    return {name: weight.detach().clone().requires_grad_() for name, weight in weights.items()}


def optimiser_of(
    name: OptimiserName, weights: Weights, lr: float, weight_decay: float
) -> torch.optim.Adam | torch.optim.SGD:
    """A fresh optimiser of some parameters."""
    if name == "adam":
        return torch.optim.Adam(weights.values(), lr=lr, weight_decay=weight_decay, fused=True)
    return torch.optim.SGD(weights.values(), lr=lr, weight_decay=weight_decay)

"""Sub-GIB: which nodes of a client's graph an information bottleneck would keep (SOS, section 4.2).

The paper leaves open, or says in two ways, what is needed to compute it. The readings taken here:

- Nodes are selected softly while training: A* = diag(IN) A diag(IN), normalised anew with self-loops, and the
  classification loss is the mean over labelled training nodes weighted by IN. At IN of 0 and 1 this is Eq. 15,
  and the loss "on the nodes included" of Eq. 8. The weights are not differentiated: Eq. 7 bounds the information
  for given labels (it neglects their entropy), and a selection that may choose which labels count keeps one class.
- Eq. 9 has the sign of a mutual information and Eq. 10 that of a loss, yet Eq. 11 minimises their sum. Here both
  are the discriminators' loss, softplus(f(corrupted)) + softplus(-f(real)), which the inner step minimises. With
  one real and one corrupted graph a step "log E" and "E log" are the same.
- Eq. 5 wants little information, so the outer step gets the estimate log 4 - loss as its penalty and not the loss
  itself. It counts as 0 below 0: to fool a discriminator beyond chance hides nothing more.
- Eqs. 9 and 10 look at the client's whole graph, never at B: beta and gamma reach the selection through the
  encoder alone.
- Eq. 12 calls L_i "the Laplacian adjacency matrix" and prints no formula for it. It says that the term is "based on
  the one in" GraphMI, whose L is the normalised Laplacian D^-1/2 (D - A) D^-1/2: `normalised`, the default.
  On quarters of Cora IN then ranks nodes by their degree, those of few edges first. The trace alone would not do
  that: where the classification loss is left out, nodes of many edges came first in 11 of 16 fits.
- With L = D - A (`sum`) the trace is the sum over edges of squared differences, and IN becomes nearly the same
  everywhere: on quarters of Cora it deviates by 0.0003 to 0.0046, so that IN >= OUT holds for all nodes or none.
  `mean` divides it by the number of edges.
- IN = OUT = 1/2 everywhere minimises the trace whatever L is, since L is positive semi-definite and with
  B = [b, 1 - b] the gradient is 2 L (2 b - 1). With D - A any other constant does too; with the normalised
  Laplacian b = 1/2 + c sqrt(degree) does, for any c of either sign.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...errors import InputError
from ...randomness import seeded
from ...targets.models.propagation import Factor, sparse_features, sparse_operator
from ...targets.party import Client
from .sub_gib_settings import SmoothnessName, SubGIBSettings

LOG_4 = 2 * float(np.log(2))
"""Loss of a discriminator that cannot tell anything."""


class SubGIB(nn.Module):
    """A two-layer GCN encoder and the four heads on it (SOS, Figure 4): one linear layer each.

    Args:
        features: d.
        hidden: width of both layers, h.
        classes: C.
    """

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, hidden)))
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, hidden)))
        self.b2 = nn.Parameter(torch.zeros(hidden))
        self.belonging = nn.Linear(hidden, 2)
        self.classifier = nn.Linear(hidden, classes)
        self.holistic = nn.Linear(hidden, 1)
        self.regional = nn.Linear(hidden, 1)

    def encode(self, adjacency: Factor, first: Tensor, inside: Tensor) -> Tensor:
        """Representations [n, h] from ``first`` = x @ w1 [n, h] on the graph that ``inside`` [n] leaves."""
        hidden = torch.relu(spread(adjacency, first, inside) + self.b1)
        return spread(adjacency, hidden @ self.w2, inside) + self.b2

    def discriminators(self) -> Iterator[nn.Parameter]:
        """Weights of the inner step, theta_h and theta_r."""
        yield from self.holistic.parameters()
        yield from self.regional.parameters()

    def others(self) -> Iterator[nn.Parameter]:
        """Weights of the outer step, theta_g and theta_b."""
        inner = {id(p) for p in self.discriminators()}
        yield from (p for p in self.parameters() if id(p) not in inner)


@dataclass(frozen=True)
class Discrimination:
    """How well a graph is told from its corrupted twin: as a whole (loss of Eq. 9) and node by node (Eq. 10)."""

    holistic: Tensor
    regional: Tensor

    def loss(self, gamma: float) -> Tensor:
        """What the discriminators minimise (Eq. 11)."""
        return self.holistic + gamma * self.regional

    def information(self, gamma: float) -> Tensor:
        """The estimate of the information, at least 0."""
        return torch.relu(LOG_4 - self.holistic) + gamma * torch.relu(LOG_4 - self.regional)


def spread(adjacency: Factor, h: Tensor, inside: Tensor) -> Tensor:
    """GCN aggregation over A* = diag(inside) A diag(inside): D*^-1/2 (A* + I) D*^-1/2 h, [n, h].

    Args:
        adjacency: A [n, n].
        h: what is aggregated [n, h].
        inside: how much of each node is there, [n] in [0, 1]; differentiable.
    """
    share = inside[:, None]
    scale = (1 + share * (adjacency @ share)).rsqrt()
    own = scale * h
    return scale * (share * (adjacency @ (share * own)) + own)


def discrimination(model: SubGIB, real: Tensor, corrupted: Tensor) -> Discrimination:
    """The two discriminators on representations [n, h] of a graph and of its corrupted twin.

    The whole graph is read as the mean over its nodes.
    """
    whole = told_apart(model.holistic(real.mean(0)), model.holistic(corrupted.mean(0)))
    return Discrimination(whole, told_apart(model.regional(real), model.regional(corrupted)))


def told_apart(real: Tensor, corrupted: Tensor) -> Tensor:
    """Binary cross-entropy of scores of real and of corrupted things: log 4 less the Jensen-Shannon estimate."""
    return F.softplus(-real).mean() + F.softplus(corrupted).mean()


def smoothness(belonging: Tensor, edges: Tensor, how: SmoothnessName) -> Tensor:
    """tr(B^T L B) of Eq. 12, B [n, 2], edges [2, e] in both directions.

    With L = D - A that is the sum over edges of squared differences of B, with the normalised Laplacian that of B
    over the root of the degree.
    """
    row, col = edges[:, edges[0] < edges[1]]
    if how == "normalised":
        degrees = torch.bincount(edges[0], minlength=len(belonging))
        belonging = belonging * degrees.clamp(min=1).rsqrt()[:, None]
    total = (belonging[row] - belonging[col]).square().sum()
    return total / max(len(row), 1) if how == "mean" else total


def classification(model: SubGIB, representations: Tensor, inside: Tensor, client: Client) -> Tensor:
    """Cross-entropy of the labelled nodes, averaged by how much of each is there (Eq. 8).

    ``inside`` has its gradient through the ``representations`` alone.
    """
    logits = model.classifier(representations[client.train])
    each = F.cross_entropy(logits, client.y_train[client.train], reduction="none")
    weight = inside[client.train].detach()
    return (weight * each).sum() / weight.sum()


def node_scores(client: Client, settings: SubGIBSettings, seed: np.random.SeedSequence) -> Tensor:
    """IN of each node of a client after the bi-level optimisation, [n] float64 in [0, 1]; OUT is 1 - IN.

    Raises:
        InputError: training diverged.
    """
    with seeded(seed):
        model = SubGIB(client.x.shape[1], settings.hidden, client.classes).to(client.x.device)
        scores = fitted_scores(model, client, settings)
    if not bool(torch.isfinite(scores).all()):
        raise InputError(f"Sub-GIB diverges on the data of {client.name}: use a smaller lr than {settings.lr:g}")
    return scores


def fitted_scores(model: SubGIB, client: Client, settings: SubGIBSettings) -> Tensor:
    """Trains a model in place, inner and outer step in turn (section 4.2), and reads IN [n] off it."""
    inner = torch.optim.Adam(model.discriminators(), lr=settings.lr, fused=True)
    outer = torch.optim.Adam(model.others(), lr=settings.lr, fused=True)
    x, adjacency = Factor.of(sparse_features(client.x)), _adjacency(client)
    n = len(client.nodes)
    everything = torch.ones(n, device=client.x.device)
    for _ in range(settings.epochs):
        first = x @ model.w1
        order = torch.randperm(n).to(first.device)  # drawn on the CPU: the same on every device
        real = model.encode(adjacency, first, everything)
        corrupted = model.encode(adjacency, first[order], everything)
        _step(inner, discrimination(model, real.detach(), corrupted.detach()).loss(settings.gamma))
        belonging = torch.softmax(model.belonging(real), 1)
        inside = belonging[:, 0]
        loss = classification(model, model.encode(adjacency, first, inside), inside, client)
        loss = loss + settings.beta * discrimination(model, real, corrupted).information(settings.gamma)
        _step(outer, loss + smoothness(belonging, client.edges, settings.smoothness))
    with torch.no_grad():
        real = model.encode(adjacency, x @ model.w1, everything)
        return torch.softmax(model.belonging(real).double(), 1)[:, 0]  # in float32 the surest nodes would be tied


def _adjacency(client: Client) -> Factor:
    row, col = client.edges
    n = len(client.nodes)
    return Factor.of(sparse_operator(row, col, torch.ones(len(row), device=row.device), (n, n)))


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()

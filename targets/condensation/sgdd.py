"""SGDD: graph condensation that also tells the condensed structure of the real one (Yang et al., NeurIPS 2023)."""

from collections.abc import Mapping

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ...randomness import branch, seeded
from ..models.backbone import Outer, Weights
from .central import OwnGraph
from .gcond import GCond, GCondSettings
from .matching import MatchingServer

TINY = 1e-8
"""Eigenvalues below this are zero."""


class SGDDSettings(GCondSettings):
    """Settings of `SGDD`: those of `gcond`, and of the structure."""

    guided: float = Field(0.5, ge=0, le=1, description="share of the score of a link that comes from features")
    transport: float = Field(0.1, ge=0, description="weight of the distance between the two structures")
    block: int = Field(1000, ge=2, description="nodes of the real graph that structures are compared on, at most")
    scalings: int = Field(10, ge=1, description="of the transport plan, rows and columns in turn")


class Graphon(nn.Module):
    """The condensed structure: a function of two places on a grid, and of the features at them.

    Two networks of three layers read a pair's places and its features; in each hidden layer their outputs are
    multiplied, and the last one is a weighted mean (the released code). The rest is as in GCond's generator:
    normalised over pairs, made symmetric, sigmoid, no self-loops.

    Args:
        features: d.
        guided: the weight of the features' network in the last layer.
    """

    def __init__(self, features: int, guided: float, hidden: int = 128) -> None:
        super().__init__()
        self.guided = guided
        self.by_place = _layers(2, hidden)
        self.pair = nn.Linear(2 * features, hidden)
        self.by_features = _layers(hidden, hidden)[1:]

    def forward(self, x: Tensor) -> Tensor:
        """Adjacency [n', n'] in [0, 1] from features [n', d]."""
        n, d = x.shape
        if n == 1:
            return torch.zeros(1, 1, device=x.device)
        line = torch.linspace(-1, 1, n, device=x.device)
        place = torch.stack([line.repeat_interleave(n), line.repeat(n)], 1)
        left, right = x @ self.pair.weight[:, :d].t(), x @ self.pair.weight[:, d:].t()
        feature = torch.relu(_normalised((left[:, None] + right[None]).reshape(n * n, -1)))
        place = torch.relu(_normalised(self.by_place[0](place))) * feature
        feature = torch.relu(_normalised(self.by_features[0](feature)))
        place = torch.relu(_normalised(self.by_place[1](place))) * feature
        score = (1 - self.guided) * self.by_place[2](place) + self.guided * self.by_features[1](feature)
        score = score.reshape(n, n)
        return torch.sigmoid((score + score.t()) / 2) * (1 - torch.eye(n, device=x.device))


def _layers(width: int, hidden: int) -> nn.ModuleList:
    return nn.ModuleList([nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)])


def _normalised(rows: Tensor) -> Tensor:
    """Each column with mean 0 and deviation 1."""
    return (rows - rows.mean(0)) * (rows.var(0, unbiased=False) + 1e-5).rsqrt()


class Transport(nn.Module):
    """How far a condensed structure is from the real one, at the best matching of their nodes.

    Signals that are smooth on a graph are normal with a covariance that its normalised Laplacian tells (`_smooth`).
    The distance is that of Wasserstein between the two normal distributions, the real one carried over by a
    transport plan that is trained along (Maretic et al. 2019), divided by the number of condensed nodes.

    Args:
        real: adjacency of a block of the real graph, [b, b].
        size: n', number of condensed nodes.
        scalings: of the plan.
    """

    def __init__(self, real: Tensor, size: int, scalings: int) -> None:
        super().__init__()
        self.scalings = scalings
        self.register_buffer("covariance", _smooth(real))
        self.plan = nn.Parameter(torch.rand(len(real), size, device=real.device))

    def forward(self, adjacency: Tensor) -> Tensor:
        """The distance to ``adjacency`` [n', n'], a number of at least 0."""
        plan = self.plan.abs() + TINY
        for _ in range(self.scalings):
            plan = plan / plan.sum(1, keepdim=True)
            plan = plan / plan.sum(0, keepdim=True)
        covariance = self.get_buffer("covariance")
        carried = plan.t() @ covariance @ plan
        return squared_distance(carried, _smooth(adjacency)) / len(adjacency)


def squared_distance(one: Tensor, other: Tensor) -> Tensor:
    """Squared 2-Wasserstein distance of two normal distributions with mean 0 and these covariances."""
    root = _root(other)
    inner = _eigenvalues(root @ one @ root).clamp(min=TINY**2).sqrt().sum()
    apart: Tensor = one.trace() + other.trace() - 2 * inner
    return apart.clamp(min=0)


def _smooth(adjacency: Tensor) -> Tensor:
    """The inverse of I + L for the normalised Laplacian L: a covariance of smooth signals that always exists."""
    degree = adjacency.sum(1)
    scale = torch.where(degree > 0, degree.clamp(min=TINY).rsqrt(), 0.0)
    identity = torch.eye(len(adjacency), device=adjacency.device)
    inverse: Tensor = torch.linalg.inv(2 * identity - scale[:, None] * adjacency * scale)
    return inverse


def _root(matrix: Tensor) -> Tensor:
    """The positive square root, by Newton and Schulz: eigenvectors have no derivative where values are equal."""
    norm = matrix.norm()
    root, inverse = matrix / norm, torch.eye(len(matrix), device=matrix.device)
    identity = inverse
    for _ in range(12):
        step = (3 * identity - inverse @ root) / 2
        root, inverse = root @ step, step @ inverse
    found: Tensor = root * norm.sqrt()
    return found


def _eigenvalues(matrix: Tensor) -> Tensor:
    found: Tensor = torch.linalg.eigvalsh((matrix + matrix.t()) / 2)
    return found


class StructuredServer(MatchingServer):
    """The matching, with the distance between the structures in the steps that move the structure.

    Args:
        begun: a matching that has not moved yet: settings, features, labels and seed are as there.
        structure: what makes the condensed structure.
        transport: its distance from the real one, or None.
        weight: of that distance.
    """

    def __init__(
        self, begun: MatchingServer, structure: nn.Module, transport: Transport | None, weight: float
    ) -> None:
        x = begun.x.detach().clone()
        super().__init__(begun.settings, x, begun.y, structure, begun.classes, begun.seed, begun.started_from)
        self.transport, self.weight = transport, weight
        if transport is not None and self.adam_structure is not None:
            self.adam_structure.add_param_group({"params": list(transport.parameters())})

    def _distance(self, x: Tensor, theta: Weights, real: Mapping[int, Mapping[str, Tensor | Outer]]) -> Tensor:
        loss = super()._distance(x, theta, real)
        moves = any(weight.requires_grad for weight in self.structure.parameters())
        if self.transport is None or not moves:
            return loss
        apart: Tensor = self.transport(self.structure(x.detach()))
        return loss + self.weight * apart


class SGDD(GCond):
    """Gradient matching whose condensed structure is also kept near the real graph's (SGDD).

    As `gcond`, but links come from a graphon, a function of two places on a grid that features guide (`Graphon`).
    Steps that move it also lessen the optimal-transport distance of its structure from that of a block of the real
    graph (`Transport`; Yang et al. 2023, equations 5 to 9). The block is drawn once. Covariances are (I + L)^-1
    where the paper has the pseudo-inverse of the Laplacian L, which has no derivative where components meet. The
    paper's regulariser of sparse links is left out. Settings of the matching are `gcond`'s.
    """

    name = "sgdd"
    Settings = SGDDSettings
    settings: SGDDSettings

    def server(self, graph: OwnGraph, seed: np.random.SeedSequence) -> MatchingServer:
        s, begun = self.settings, super().server(graph, seed)
        with seeded(branch(seed, "graphon")):
            structure = Graphon(begun.x.shape[1], s.guided).to(begun.x.device)
            transport = None
            if s.transport:
                real = _block(graph.owner.edges, len(graph.owner.nodes), s.block)
                transport = Transport(real, len(begun.y), s.scalings).to(begun.x.device)
        return StructuredServer(begun, structure, transport, s.transport)


def _block(edges: Tensor, nodes: int, most: int) -> Tensor:
    """The adjacency of some nodes, drawn at random, [b, b] dense."""
    drawn = torch.randperm(nodes)[:most].sort().values.to(edges.device)
    place = torch.full((nodes,), -1, device=edges.device)
    place[drawn] = torch.arange(len(drawn), device=edges.device)
    row, col = place[edges]
    inside = (row >= 0) & (col >= 0)
    found = torch.zeros(len(drawn), len(drawn), device=edges.device)
    found[row[inside], col[inside]] = 1
    return found

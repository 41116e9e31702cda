"""FGSSL: federated averaging held together by contrast and by structure (Huang et al., IJCAI 2023)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...randomness import branch, integer
from ...settings import Settings
from ..models.propagation import Factor, gcn_operator, mean_operator
from .federated_averaging import Federated, FederatedRun, FederatedSettings
from .local_training import Drop, LocalTask, Subgraph, Weights, nothing_dropped

READS_FEATURES = ("w1", "r1")
"""Weights with a row for each feature."""


class ViewSettings(Settings):
    """What a view of a client's graph leaves out."""

    edges: float = Field(0.3, ge=0, lt=1, description="share of the edges, drawn at random")
    features: float = Field(0.3, ge=0, lt=1, description="share of the features, the same for all nodes")


class FGSSLSettings(FederatedSettings):
    """Settings of `FGSSL`: those of `fedavg`, and of the two terms. Views as in the released code."""

    upload: Literal["weights"] = "weights"
    contrast: float = Field(0.1, ge=0, description="weight of the contrast of labelled nodes")
    structure: float = Field(0.1, ge=0, description="weight of the distance between similarities along edges")
    temperature: float = Field(0.1, gt=0, description="of the contrast")
    structure_temperature: float = Field(0.1, gt=0, description="of similarities along edges")
    weak: ViewSettings = Field(ViewSettings(), description="the view that the common model reads")
    strong: ViewSettings = Field(
        ViewSettings(edges=0.8, features=0.5), description="the view that the client's model reads"
    )


@dataclass(frozen=True, kw_only=True)
class ContrastedTask(LocalTask):
    """A client's loss with the two terms of FGSSL, whose views are drawn anew at every step.

    Attributes:
        graph: the client's own, which views are made of.
        common: the weights that the round began with.
        settings: weights of the terms, temperatures, and what views leave out.
        coins: of the views.
    """

    graph: Subgraph
    common: Weights
    settings: FGSSLSettings
    coins: torch.Generator

    def loss(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        s, loss = self.settings, super().loss(weights, drop)
        with torch.no_grad():
            theirs = self._embedded(self.common, s.weak)
        ours = self._embedded(weights, s.strong)
        if s.contrast:
            found = contrast(ours[self.labelled], theirs[self.labelled], self.labels, s.temperature)
            loss = loss + s.contrast * found
        if s.structure:
            loss = loss + s.structure * structure_distance(ours, theirs, self.graph.edges, s.structure_temperature)
        return loss

    def _embedded(self, weights: Weights, view: ViewSettings) -> Tensor:
        """Hidden units of a view: leaving a feature out is leaving out the weights that read it."""
        device = self.graph.edges.device
        has = torch.rand(len(weights["w1"]), generator=self.coins, device=device) >= view.features
        seen = {name: w * has[:, None] if name in READS_FEATURES else w for name, w in weights.items()}
        return thinned(self.graph, view.edges, self.coins).hidden(seen)


def thinned(graph: Subgraph, share: float, coins: torch.Generator) -> Subgraph:
    """A graph without a share of its edges, both directions together; loops of GAT stay."""
    near, far = graph.edges
    nodes = len(graph.x.matrix)
    once, place = (torch.minimum(near, far) * nodes + torch.maximum(near, far)).unique(return_inverse=True)
    left = (torch.rand(len(once), generator=coins, device=near.device) >= share)[place] | (near == far)
    edges = graph.edges[:, left]
    if graph.operator is None:
        return replace(graph, edges=edges)
    make = mean_operator if graph.recipe.architecture == "sage" else gcn_operator
    return replace(graph, edges=edges, operator=Factor.of(make(edges, nodes)))


def contrast(ours: Tensor, theirs: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Contrast of a client's labelled nodes [k, h] with what the common model makes of them [k, h].

    For each node and each node of its class in the common model's eyes: minus the logarithm of exp(cosine /
    temperature) over the same plus those to all nodes of other classes; the mean over pairs, then over nodes.
    """
    alike = F.normalize(ours, dim=1) @ F.normalize(theirs, dim=1).t() / temperature
    same = labels[:, None] == labels[None]
    others = alike.masked_fill(same, -torch.inf).logsumexp(1, keepdim=True)
    each = torch.logaddexp(alike, others) - alike
    return ((each * same).sum(1) / same.sum(1)).mean()


def structure_distance(ours: Tensor, theirs: Tensor, edges: Tensor, temperature: float) -> Tensor:
    """How far a client's similarities along edges are from the common model's.

    For each node the cosines to its neighbours over the temperature, as shares; the divergence of ``theirs`` from
    ``ours`` (Kullback-Leibler), mean over nodes with a neighbour; 0 where nobody has one.
    """
    if not edges.shape[1]:
        return ours.sum() * 0
    one, other = (_log_shares(rows, edges, temperature) for rows in (theirs, ours))
    return (one.exp() * (one - other)).sum() / len(edges[0].unique())


def _log_shares(rows: Tensor, edges: Tensor, temperature: float) -> Tensor:
    """Logarithms of the shares of a node's neighbours, one for each edge, [e]."""
    source, goal = edges
    unit = F.normalize(rows, dim=1)
    score = (unit[source] * unit[goal]).sum(1) / temperature
    most = torch.full((len(rows),), -torch.inf, device=rows.device).scatter_reduce(
        0, source, score.detach(), "amax"
    )
    total = torch.zeros(len(rows), device=rows.device).index_add(0, source, (score - most[source]).exp())
    return score - most[source] - total[source].log()


class _ContrastedRun(FederatedRun):
    settings: FGSSLSettings

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        s = self.settings
        if not (s.contrast or s.structure):
            return tasks
        found: list[LocalTask] = []
        for client, task in zip(self.clients, tasks, strict=True):
            assert isinstance(task.forward, Subgraph)
            coins = torch.Generator(s.device).manual_seed(
                integer(branch(self.seed, "views", client.number, round_))
            )
            own: dict[str, Any] = {f.name: getattr(task, f.name) for f in fields(LocalTask)}
            found.append(ContrastedTask(**own, graph=task.forward, common=received, settings=s, coins=coins))
        return found


class FGSSL(Federated):
    """Federated averaging in which clients stay near the common model in what they see, not in weights (FGSSL).

    A client's model reads a strongly thinned view of its graph, the common model a weakly thinned one. Two terms
    are added to the loss: a contrast that pulls each labelled node to nodes of its class as the common model sees
    them and off the others, and the divergence between the two models' similarities of linked nodes (Huang et al.
    2023, sections 3.2 and 3.3). Both are taken of the hidden layer. The released code computes the contrast and
    does not add it to the loss, and takes the divergence over embeddings' entries; here both are as in the text.

    The messages are those of `fedavg`. An update now depends on all of a client's edges: in `fedavg` no edge
    matters that is more than two steps from every labelled node.
    """

    name = "fgssl"
    Settings = FGSSLSettings
    settings: FGSSLSettings
    loop = _ContrastedRun

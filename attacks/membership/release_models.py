"""How an adversary trains models and asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ...targets.condensation.condensed import CondensedGraph
from ...targets.games.membership import NodeKnowledge
from ...targets.models.propagation import Neighbourhood, gcn_operator, whole_graph
from ...targets.models.training import fit
from ...targets.models.training_config import TrainingConfig

if TYPE_CHECKING:
    from torch import Tensor

    from ...targets.models.backbone import Backbone


class ModelSettings(TrainingConfig):
    """The recipe of the two-layer GCN that shadow and target models are (FedGC, appendix E; rates as in GCond)."""

    architecture: Literal["gcn"] = "gcn"
    hidden: int = Field(256, ge=1)
    epochs: int = Field(600, ge=1)
    lr: float = Field(0.005, gt=0)
    drop_lr_at: float | None = Field(0.5, gt=0, le=1)
    init: Literal["pygcn"] = "pygcn"


def trained_gcn(near: Neighbourhood, y: Tensor, classes: int, settings: ModelSettings) -> Backbone:
    """A GCN trained on the nodes of ``near``. The caller seeds torch."""
    from torch.nn import functional as F

    from ...targets.models.backbone import GCN

    model = GCN(near.rows.shape[1], settings.hidden, classes, settings.dropout).to(y.device)
    fit(
        model,
        lambda: F.cross_entropy(model(near), y),
        epochs=settings.epochs,
        lr=settings.lr,
        weight_decay=settings.weight_decay,
        drop_lr_at=settings.drop_lr_at,
    )
    return model


def trained_on_release(release: CondensedGraph, classes: int, settings: ModelSettings) -> Backbone:
    """The adversary's target model: trained on the condensed graph, not tuned on anything."""
    return trained_gcn(release.neighbourhood(), release.y, classes, settings)


def asked(model: Backbone, near: Neighbourhood) -> Tensor:
    """Posteriors of the nodes in question, [k, C]."""
    import torch

    with torch.no_grad():
        posterior: Tensor = model(near).softmax(1)
    return posterior


def query_graph(knowledge: NodeKnowledge, x: Tensor) -> Neighbourhood:
    """All nodes with the edges that the adversary puts into its queries."""
    return whole_graph(x, gcn_operator(knowledge.edges, len(x)))


def shadow_graph(knowledge: NodeKnowledge, x: Tensor, edges: Tensor) -> Neighbourhood:
    """The shadow nodes, in the order of ``knowledge.shadow``, with some of the edges among them [2, e]."""
    import torch

    place = torch.full((len(x),), -1, dtype=torch.long, device=x.device)
    place[knowledge.shadow] = torch.arange(len(knowledge.shadow), device=x.device)
    return whole_graph(x[knowledge.shadow], gcn_operator(place[edges], len(knowledge.shadow)))

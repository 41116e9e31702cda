"""What many models are trained for, and what they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from .training_config import TrainingConfig

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

One = tuple[list["Tensor"], int, dict[str, "Tensor"]]
"""What is left of one model: its logits for each query [s, C], the epochs that it took, its weights."""


@dataclass(frozen=True)
class Query:
    """Nodes to ask about, and the edges to ask with.

    Attributes:
        nodes: [s] int64.
        edges: both directions [2, e]; None leaves all nodes alone (0-hop).
        apart: keep only edges between two members or two non-members of the model that is asked.
        x: features of all nodes to ask with, dense or CSR, where they are not the graph's own; with other nodes
            than the graph's, nothing can be kept apart.
    """

    nodes: Tensor
    edges: Tensor | None
    apart: bool = False
    x: Tensor | None = None


@dataclass(frozen=True)
class TrainingTask:
    """What K models are trained for.

    Attributes:
        data: features, edges and labels of all nodes; of a collection, where graphs take the place of nodes in all
            that follows, features and edges of all nodes and labels of all graphs.
        members: whose label each model trains on, [K, n] bool.
        recipe: how.
        classes: C.
        induced: each model sees its members' subgraph alone (else the whole graph and members' labels).
        validation: nodes whose accuracy selects the epoch, [n] bool.
    """

    data: Data
    members: Tensor
    recipe: TrainingConfig
    classes: int
    induced: bool = False
    validation: Tensor | None = None

    def __post_init__(self) -> None:
        count = len(self.data.y)
        if self.members.dim() != 2 or self.members.shape[1] != count or not len(self.members):
            raise ValueError(f"members must be [K, {count}], not {tuple(self.members.shape)}")
        if not bool(self.members.any(1).all()):
            raise InputError("a shadow model has no member to train on: use more subjects or fewer models")

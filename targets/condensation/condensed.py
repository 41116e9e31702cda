"""A condensed graph as it is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from ..models.propagation import Neighbourhood, dense_gcn_operator
from ..transcript import Message

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class CondensedGraph:
    """A small synthetic graph that stands for a large private one.

    Attributes:
        x: features [n', d].
        y: labels [n'].
        adjacency: symmetric weights in [0, 1] without self-loops, [n', n'].
    """

    x: Tensor
    y: Tensor
    adjacency: Tensor

    def tensors(self) -> dict[str, Tensor]:
        """The content of the message that releases it."""
        return {"x": self.x, "y": self.y, "adjacency": self.adjacency}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], features: int | None = None, classes: int | None = None
    ) -> CondensedGraph:
        """Reads a release, which may come from outside.

        Raises:
            InputError: a part is missing, misshapen or not finite.
        """
        import torch

        missing = {"x", "y", "adjacency"} - set(tensors)
        if missing:
            raise InputError(f"the condensed graph lacks {', '.join(sorted(missing))}")
        x, y, adjacency = tensors["x"].float(), tensors["y"].long(), tensors["adjacency"].float()
        if x.dim() != 2 or y.shape != (len(x),) or adjacency.shape != (len(x), len(x)) or not len(x):
            raise InputError(
                f"the condensed graph's parts do not fit: x {tuple(x.shape)}, y {tuple(y.shape)}, "
                f"adjacency {tuple(adjacency.shape)}"
            )
        if features is not None and x.shape[1] != features:
            raise InputError(f"the condensed graph has {x.shape[1]} features, the dataset has {features}")
        if not bool(torch.isfinite(x).all() and torch.isfinite(adjacency).all()) or bool((y < 0).any()):
            raise InputError("the condensed graph holds values that are not finite, or negative labels")
        if classes is not None and int(y.max()) >= classes:
            raise InputError(f"the condensed graph has label {int(y.max())}, the dataset has {classes} classes")
        if bool((adjacency < 0).any() or (adjacency > 1).any() or adjacency.diagonal().any()):
            raise InputError("the condensed graph's adjacency must lie in [0, 1] and have no self-loops")
        if not torch.allclose(adjacency, adjacency.t(), atol=1e-6):
            raise InputError("the condensed graph's adjacency is not symmetric: expected an undirected graph")
        return cls(x, y, adjacency)

    def neighbourhood(self) -> Neighbourhood:
        """What a model trained on it reads."""
        operator = dense_gcn_operator(self.adjacency)
        return Neighbourhood(operator @ self.x, operator)

    def density(self) -> float:
        """Share of node pairs that are linked."""
        n = len(self.y)
        return float((self.adjacency > 0).sum()) / max(n * (n - 1), 1)


def joined(parts: Sequence[CondensedGraph]) -> CondensedGraph:
    """Several condensed graphs as one, without links between them (FedGM, Eq. 8 and 9)."""
    import torch

    x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
    return CondensedGraph(x, y, torch.block_diag(*[part.adjacency for part in parts]))


def rows_of(message: Message, features: int) -> Tensor:
    """Features of the nodes, condensed or to start from, that a message holds, whatever else is in it, [k, d].

    Raises:
        InputError: they are missing, misshapen or not finite.
    """
    import torch

    x = message.tensors.get("x")
    if x is None or x.dim() != 2 or x.shape[1] != features or not len(x) or not bool(torch.isfinite(x).all()):
        shape = "none" if x is None else f"{tuple(x.shape)}, or not finite"
        raise InputError(f"'{message.kind}' must hold finite features x [k, {features}], got {shape}")
    return x.float()

"""Bounding what one unit adds, by clipping: of whole changes, and of single records' gradients. The only place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

TINY = 1e-12


def norm_of(change: Mapping[str, Tensor], order: int = 2) -> float:
    """L1 or L2 norm of all tensors together, as one vector; 0 without any."""
    import torch

    if not change:
        return 0.0
    parts = torch.stack([torch.linalg.vector_norm(t, order, dtype=torch.double).cpu() for t in change.values()])
    return float(torch.linalg.vector_norm(parts, order))


def clipped(change: Mapping[str, Tensor], largest: float, order: int = 2) -> dict[str, Tensor]:
    """The same direction with a norm of at most ``largest``; a change that is not finite counts as none.

    All tensors are clipped together, as one vector: each alone would bound the whole by more than ``largest``.
    """
    import torch

    norm = norm_of(change, order)
    if not math.isfinite(norm):  # no factor would bound it
        return {name: torch.zeros_like(tensor) for name, tensor in change.items()}
    # not by largest / norm where that is 1 already: what is within the bound stays as it is, bit by bit
    return dict(change) if norm <= largest else {name: part * (largest / norm) for name, part in change.items()}


def clipped_samples(samples: list[Tensor], largest: float) -> list[Tensor]:
    """The sum over records of their gradients, each of an L2 norm of at most ``largest`` over all weights.

    Args:
        samples: the gradients of b records by each weight, [b, ...] each; one that is not finite counts as none.
        largest: the bound.
    """
    import torch

    squares = torch.stack([sample.flatten(1).square().sum(1) for sample in samples])
    length = squares.sum(0).sqrt()
    finite = length.isfinite()
    share = torch.where(finite, (largest / length.clamp(min=TINY)).clamp(max=1.0), 0.0)
    known = samples if bool(finite.all()) else [torch.nan_to_num(s, posinf=0.0, neginf=0.0) for s in samples]
    return [torch.einsum("b,b...->...", share, sample) for sample in known]

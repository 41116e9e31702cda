"""What a client's uploads of many rounds span together: the space of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def span_of(change: Tensor, cut: float) -> Tensor:
    """An orthonormal basis of what the columns of a change [d, m] span, the largest first, [d, rank].

    By the eigenvectors of the Gram matrix of the smaller side, which resolve singular values down to some 1e-7 of
    the largest.

    Args:
        change: X^T B of any number of rounds with the same rows X; with columns enough it spans what X spans.
        cut: singular values below this share of the largest are taken for rounding.
    """
    import torch

    every = change.double()
    few = every.shape[1] <= every.shape[0]
    squared, vectors = torch.linalg.eigh(every.t() @ every if few else every @ every.t())
    kept = squared > max(cut**2 * float(squared[-1]), torch.finfo(squared.dtype).tiny)
    left: Tensor = every @ vectors[:, kept] / squared[kept].sqrt() if few else vectors[:, kept]
    return left.flip(1)


def share_within(rows: Tensor, basis: Tensor) -> Tensor:
    """The share of each row's squared length [n] that lies in a span, 0 of a row that is zero.

    Args:
        rows: [n, d].
        basis: orthonormal, [d, rank].
    """
    import torch

    whole = rows.double().square().sum(1)
    inside = (rows.double() @ basis).square().sum(1)
    return torch.where(whole > 0, inside / whole.clamp_min(torch.finfo(whole.dtype).tiny), 0.0)

"""What a client's uploads of many rounds span together: the space of its rows."""

import torch
from torch import Tensor


def span_of(change: Tensor, cut: float) -> Tensor:
    """An orthonormal basis of what the columns of a change [d, m] span, [d, rank]; of nothing, nothing.

    Args:
        change: X^T B of any number of rounds with the same rows X; with columns enough it spans what X spans.
        cut: singular values below this share of the largest are taken for rounding.
    """
    if change.shape[1] <= change.shape[0]:
        left, values, _ = torch.linalg.svd(change.double(), full_matrices=False)
        kept = values > cut * values.max()
    else:
        squared, left = torch.linalg.eigh(change.double() @ change.double().t())
        kept = squared > cut**2 * squared.max()
    basis: Tensor = left[:, kept]
    return basis


def share_within(rows: Tensor, basis: Tensor) -> Tensor:
    """The share of each row's squared length [n] that lies in a span, 0 of a row that is zero.

    Args:
        rows: [n, d].
        basis: orthonormal, [d, rank].
    """
    whole = rows.double().square().sum(1)
    inside = (rows.double() @ basis).square().sum(1)
    return torch.where(whole > 0, inside / whole.clamp_min(torch.finfo(whole.dtype).tiny), 0.0)

"""How far two rows are from each other: the eight distances of He et al. 2021, for many pairs at once."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Distance = Literal[
    "cosine", "euclidean", "correlation", "chebyshev", "braycurtis", "canberra", "cityblock", "sqeuclidean"
]
AT_ONCE = 2**16
"""Numbers of each side that are looked at at a time; few enough to stay in a processor's cache."""


def distances(rows: Tensor, pairs: Tensor, name: Distance) -> Tensor:
    """One distance of the two rows of each pair, as scipy.spatial.distance has it.

    Where scipy's is undefined: to a row of zeros (cosine) or of equal entries (correlation) it is 1, as to a row
    that has nothing in common; of two rows of zeros (braycurtis) it is 0, as of any other two equal rows. Equal
    entries are those that differ by rounding alone.

    Args:
        rows: [n, d], finite.
        pairs: positions of rows [s, 2].
        name: which.

    Returns:
        [s] float64.
    """
    return _column(_prepared(rows, name), pairs, MEASURES[name])


def every_distance(rows: Tensor, pairs: Tensor) -> Tensor:
    """All eight, in the order of `MEASURES`, [s, 8] float64."""
    return torch.stack([distances(rows, pairs, name) for name in MEASURES], 1)


def _prepared(rows: Tensor, name: Distance) -> Tensor:
    """Rows as float64; cosine and correlation are products of rows of length 1, which are made once."""
    exact = rows.double()
    if name not in ("cosine", "correlation"):
        return exact
    if name == "correlation":
        precision = torch.finfo(rows.dtype).eps if rows.is_floating_point() else torch.finfo(torch.double).eps
        rounding = 4 * precision * exact.norm(dim=1, keepdim=True)
        exact = exact - exact.mean(1, keepdim=True)
        exact = torch.where(exact.norm(dim=1, keepdim=True) > rounding, exact, 0)
    return F.normalize(exact, dim=1, eps=torch.finfo(torch.double).tiny)


def _column(rows: Tensor, pairs: Tensor, measure: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    some = max(1, AT_ONCE // max(rows.shape[1], 1))
    found = [measure(rows[part[:, 0]], rows[part[:, 1]]) for part in pairs.split(some)]
    return torch.cat(found) if found else rows.new_zeros(0)


def _of_unit_rows(a: Tensor, b: Tensor) -> Tensor:
    return (1 - (a * b).sum(1)).clamp(0, 2)


def _braycurtis(a: Tensor, b: Tensor) -> Tensor:
    total = (a + b).abs().sum(1)
    return (a - b).abs().sum(1) / torch.where(total > 0, total, 1)


def _canberra(a: Tensor, b: Tensor) -> Tensor:
    """Places where both are zero count nothing."""
    total = a.abs() + b.abs()
    return ((a - b).abs() / torch.where(total > 0, total, 1)).sum(1)


MEASURES: dict[Distance, Callable[[Tensor, Tensor], Tensor]] = {
    "cosine": _of_unit_rows,
    "euclidean": lambda a, b: (a - b).norm(dim=1),
    "correlation": _of_unit_rows,
    "chebyshev": lambda a, b: (a - b).abs().amax(1),
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "cityblock": lambda a, b: (a - b).abs().sum(1),
    "sqeuclidean": lambda a, b: (a - b).square().sum(1),
}

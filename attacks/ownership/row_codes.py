"""What a change of the first layer says of each row of features: a code by ridge regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import InputError
from .row_spans import share_within, span_of

if TYPE_CHECKING:
    from torch import Tensor


def row_codes(x: Tensor, change: Tensor, ridge: float) -> Tensor:
    """What a change says of each row, [n, m]: (X X^T + r)^-1 X change, solved on the smaller side.

    A change is X^T B for the rows X that were trained on, B [n, m] what the loss said of each. If no row is a
    combination of others, codes are B as the ridge goes to 0.

    Args:
        x: rows [n, d].
        change: [d, m].
        ridge: r, as a share of the mean squared length of a row.

    Raises:
        InputError: all rows are zero.
    """
    import torch

    rows, change = x.double(), change.double()
    if len(rows) > rows.shape[1]:
        return rows @ torch.cholesky_solve(change, _factor(rows.t(), _size(rows, ridge)))
    codes: Tensor = torch.cholesky_solve(rows @ change, _factor(rows, _size(rows, ridge)))
    return codes


@dataclass(frozen=True, eq=False)
class WhiteRows:
    """Rows in coordinates in which they are uncorrelated: words that many nodes share count less.

    With G = X^T X + r = L L^T they are X L^-T, and a change is L^-1 change: its products with them are codes. The
    squared length of such a row is its leverage, what a regression on all rows leaves of it for itself.

    Attributes:
        rows: X L^-T, [n, d].
        factor: L, [d, d].
    """

    rows: Tensor
    factor: Tensor

    @classmethod
    def of(cls, x: Tensor, ridge: float) -> WhiteRows:
        """Those of rows [n, d], see `row_codes` for the ridge and errors."""
        import torch

        rows = x.double()
        factor = _factor(rows.t(), _size(rows, ridge))
        return cls(torch.linalg.solve_triangular(factor, rows.t(), upper=False).t(), factor)

    def presence(self, change: Tensor, cut: float) -> Tensor:
        """The share of each row's leverage that lies in the span of a change [d, m], in [0, 1], [n].

        It is the squared length of the row's code, its columns brought to length 1 and rid of what they share, over
        its leverage. For ``cut`` see `span_of`.
        """
        import torch

        white = torch.linalg.solve_triangular(self.factor, change.double(), upper=False)
        return share_within(self.rows, span_of(white, cut))


def _size(rows: Tensor, ridge: float) -> float:
    size = ridge * float(rows.square().sum()) / len(rows)
    if not size > 0:
        raise InputError("rows of features that are all zero have no codes")
    return size


def _factor(rows: Tensor, size: float) -> Tensor:
    """The lower Cholesky factor of the rows' Gram matrix with a ridge."""
    import torch

    gram = rows @ rows.t()
    gram.diagonal().add_(size)
    factor: Tensor = torch.linalg.cholesky(gram)
    return factor

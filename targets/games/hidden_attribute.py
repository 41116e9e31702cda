"""One attribute of people that is hidden, and the columns that must be hidden with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Floats
from .public_columns import reduced_features

if TYPE_CHECKING:
    from torch_geometric.data import Data

EXACT = 1e-3
"""Share of a column's spread that other columns leave open, below which they tell it."""
WIDEST = 2000
"""Columns up to which sums of others that tell one are looked for; beyond it, single columns alone."""


@dataclass(frozen=True)
class HiddenAttribute:
    """What is asked about, and what is hidden.

    Attributes:
        asked: as a user writes it: a column, or ``label:K``.
        columns: hidden columns of the features, ascending; none for a class.
        value: of a column: more than this counts as having the value; of a class: its number.
        of_class: whether it is a class.
    """

    asked: str
    columns: tuple[int, ...]
    value: float
    of_class: bool = False

    @classmethod
    def of(cls, data: Data, asked: str) -> Self:
        """The attribute that a user asks about.

        A column of two values counts as had where it is the larger one, and any other column where it is above its
        median. With it those columns are hidden that tell it: the others of a one-hot code, shares that sum to 1,
        and copies.

        Raises:
            InputError: the graph has no such column or class.
        """
        label, _, number = asked.rpartition(":")
        if label not in ("", "label") or not number.isdecimal():
            raise InputError(f"attribute={asked}: expected the number of a column of the features, or label:K")
        if label:
            if int(number) > int(data.y.max()):
                raise InputError(f"attribute={asked}: the classes are 0 to {int(data.y.max())}")
            return cls(asked, (), float(number), True)
        x = data.x.cpu().numpy().astype(np.float64)
        if int(number) >= x.shape[1]:
            raise InputError(f"attribute={asked}: the features have the columns 0 to {x.shape[1] - 1}")
        values = np.unique(x[:, int(number)])
        if len(values) < 2:
            raise InputError(f"attribute={asked}: all people have the same value in this column: ask about another")
        found = hidden_together(x, int(number))
        if _told_by_length(x, found):
            raise InputError(
                f"attribute={asked}: the other columns tell this one, since all rows were scaled to one length or "
                "one sum: give features that were not"
            )
        middle = float(np.median(x[:, int(number)]))
        middle = middle if len(values) > 2 and middle < values[-1] else float(values[-2])
        return cls(asked, found, middle)

    @property
    def words(self) -> str:
        """Whether a person has the value, in words that follow "whether"."""
        if self.of_class:
            return f"their class is {self.value:.0f}"
        return f"they have more than {self.value:g} in column {self.asked}"

    def holders(self, data: Data) -> NDArray[np.bool_]:
        """Who has the value, [n]."""
        if self.of_class:
            return data.y.cpu().numpy() == int(self.value)  # type: ignore[no-any-return]
        return data.x[:, int(self.asked)].cpu().numpy() > np.float32(self.value)  # type: ignore[no-any-return]

    def others(self, data: Data, seed: np.random.SeedSequence) -> Floats:
        """All other attributes, [n, c]: features, wide ones reduced, and the class where it is not hidden."""
        kept = np.setdiff1d(np.arange(data.num_features), self.columns)
        y = data.y.cpu().numpy()
        parts = [reduced_features(data.x.cpu().numpy()[:, kept], seed)]
        return np.hstack(parts if self.of_class else [*parts, np.eye(int(y.max()) + 1)[y]])


def hidden_together(x: Floats, column: int) -> tuple[int, ...]:
    """The columns that tell one of the features [n, d], with itself: all that a sum of others needs to equal it.

    Of all such sums least squares finds the one with the smallest weights, in which each column has a part that any
    of them needs. It is looked for again without these, until the others leave something open.
    """
    spread = x - x.mean(0)
    scale = np.linalg.norm(spread, axis=0)
    spread = spread[:, scale > 0] / scale[scale > 0]
    names = np.flatnonzero(scale > 0)
    asked = spread[:, names == column][:, 0]
    found = {column}
    while True:
        left = np.array([name not in found for name in names])
        if not left.any():
            break
        weights = _telling(spread[:, left], asked)
        if weights is None:
            break
        found |= set(names[left][np.abs(weights) > EXACT].tolist())
    return tuple(sorted(found))


def _telling(others: Floats, asked: Floats) -> Floats | None:
    """Weights of other columns whose sum is the one asked about; None where there are none."""
    alike = others.T @ asked
    if np.abs(alike).max() > 1 - EXACT**2:  # a copy, or the other way round
        return (np.abs(alike) > 1 - EXACT**2).astype(np.float64)
    if others.shape[1] > min(WIDEST, len(others) // 2):  # so many columns tell anything
        return None
    weights: Floats = np.asarray(np.linalg.lstsq(others, asked, rcond=1e-6)[0], dtype=np.float64)
    return weights if np.linalg.norm(others @ weights - asked) < EXACT else None


def _told_by_length(x: Floats, hidden: tuple[int, ...]) -> bool:
    """Whether all rows have one sum or one length, and what is hidden has not: what is left of a row tells it."""
    for power in (1, 2):
        whole, part = (np.sum(np.abs(rows) ** power, axis=1) for rows in (x, x[:, list(hidden)]))
        if np.ptp(whole) < EXACT * whole.max() and np.ptp(part) > EXACT * part.max():
            return True
    return False

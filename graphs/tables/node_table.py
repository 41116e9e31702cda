"""What is told of the attributes of each node: for each attribute the values of which one is its own."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .column import Column, Floats, Ints

UNTOLD = -1
"""The sensitive value of somebody of whom it is not told, or not known."""
AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Attributes by which people are known, and those that are sensitive.

    Attributes:
        runs: of each node and attribute ranges of values, first and last, [n, q, r, 2]; its own value is in one of
            them. Where there are fewer than r the others have a last value before their first one.
        sensitive: the sensitive values of each node as they are told, [n, s], `UNTOLD` where one is not; or None.
        columns: the attributes, q; none where a message does not say what they are.
        secrets: the sensitive attributes, s; none where a message does not say what they are.
    """

    runs: Ints
    sensitive: Ints | None = None
    columns: tuple[Column, ...] = ()
    secrets: tuple[Column, ...] = ()

    @classmethod
    def of_values(
        cls,
        columns: tuple[Column, ...],
        values: Ints,
        secrets: tuple[Column, ...] = (),
        sensitive: Ints | None = None,
    ) -> Self:
        """A table that tells everything: places of values in the columns, [n, q], and sensitive ones, [n, s]."""
        return cls(np.stack([values, values], axis=2)[:, :, None, :], sensitive, columns, secrets)

    @property
    def nodes(self) -> int:
        """Number of nodes, n."""
        return len(self.runs)

    @property
    def attributes(self) -> int:
        """Number of attributes, q."""
        return int(self.runs.shape[1])

    @property
    def values(self) -> Ints:
        """The value of each node and attribute, [n, q].

        Raises:
            ValueError: some value is told as one of several.
        """
        if self.runs.shape[2] != 1 or (self.runs[..., 0] != self.runs[..., 1]).any():
            raise ValueError("values are told as one of several")
        return self.runs[:, :, 0, 0]

    @cached_property
    def classes(self) -> Ints:
        """A number for each node, [n], shared by those of whom the same is told; sensitive values aside."""
        rows = self.runs.reshape(self.nodes, -1)
        return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)

    @property
    def content(self) -> bytes:
        """Tells it from every other table of as many nodes, names of columns aside."""
        own = b"" if self.sensitive is None else self.sensitive.tobytes()
        return repr(self.runs.shape).encode() + self.runs.tobytes() + own

    def renamed(self, new: Ints) -> "NodeTable":
        """The same with node i called ``new[i]``, a permutation [n]."""
        old = np.argsort(new)
        sensitive = None if self.sensitive is None else self.sensitive[old]
        return replace(self, runs=self.runs[old], sensitive=sensitive)

    def fitting(self, values: Ints) -> NDArray[np.bool_]:
        """Whether each node may have each of some rows of values [p, q], [p, n]."""
        found = np.ones((len(values), self.nodes), dtype=bool)
        for place in range(self.attributes):
            own, fits = values[:, place, None], np.zeros_like(found)
            for low, high in self.runs[:, place].transpose(1, 2, 0):
                fits |= (own >= low) & (own <= high)
            found &= fits
        return found

    def losses(self) -> Floats:
        """How much of each cell is not told, 0 to 1, [n, q]: the normalised certainty penalty.

        Of numbers it is the width of what is told over that of all values (Xu et al., "Utility-based anonymization
        using local recoding", KDD 2006, section 3); of names the number of others that are told with the own one
        over the number of all others (Iyengar, KDD 2002).
        """
        found = np.zeros(self.runs.shape[:2])
        for place, column in enumerate(self.columns):
            low, high = self.runs[:, place, :, 0], self.runs[:, place, :, 1]
            there = low <= high
            if column.numbers is not None:
                first = np.where(there, low, column.size - 1).min(1)
                found[:, place] = column.widths(first, np.where(there, high, 0).max(1))
            else:
                told = np.where(there, high - low + 1, 0).sum(1)
                found[:, place] = (told - 1) / max(column.size - 1, 1)
        return found

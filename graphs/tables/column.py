"""One attribute of people: its values, and the ranges of values that may be told in the place of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ANY = "*"
"""Told of an attribute whose value is not told at all."""
OR = "|"
"""Stands between values of which one is a person's own."""
QUOTE = '"'
"""Around a value that has `OR` in it, and twice for each one in it."""


@dataclass(frozen=True, eq=False)
class Column:
    """Values in an order in which those that are told together stand side by side.

    Attributes:
        name: of the attribute.
        values: as they are written, [v].
        numbers: the same as numbers, ascending, [v]; None where they are names.
        levels: from fine to coarse what is told of each value, [v] each, equal texts side by side. Without any,
            numbers are told as ranges, and names or nothing.
    """

    name: str
    values: tuple[str, ...]
    numbers: Floats | None = None
    levels: tuple[tuple[str, ...], ...] = ()

    @property
    def size(self) -> int:
        """Number of values, v."""
        return len(self.values)

    @property
    def ranged(self) -> bool:
        """Whether any range of values may be told."""
        return self.numbers is not None and not self.levels

    @cached_property
    def blocks(self) -> Ints:
        """First and last value of what is told of each value at each level, [levels, v, 2].

        The first level are the values themselves, the last one all of them. Of numbers without levels of their own
        each level has blocks of twice as many values as the one before.
        """
        own = np.arange(self.size)
        if self.ranged:
            sizes = [1 << level for level in range(max(self.size - 1, 1).bit_length() + 1)]
            codes = [own // size for size in sizes]
        else:
            codes = [own, *map(_numbered, self.levels), np.zeros(self.size, dtype=np.int64)]
        first = [np.searchsorted(code, code, "left") for code in codes]
        last = [np.searchsorted(code, code, "right") - 1 for code in codes]
        return np.stack([first, last], axis=2).astype(np.int64)

    @cached_property
    def quotes(self) -> bool:
        """Whether some text has `OR` in it, or starts with `QUOTE`, and is written in quotes."""
        return any(_odd(text) for texts in (self.values, *self.levels) for text in texts)

    def told(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """The narrowest ranges that may be told of the ranges from ``low`` to ``high``, of any shape."""
        if self.ranged:
            return low, high
        same = self.blocks[:, low, 0] == self.blocks[:, high, 0]
        level = same.argmax(0)
        return self.blocks[level, low, 0], self.blocks[level, high, 1]

    def parts(self, low: int, high: int) -> Ints:
        """Where the ranges begin that are told instead of one range, once one is narrower: the next finer ones."""
        starts = np.unique(self.blocks[:, low : high + 1, 0], axis=1)
        inner = (starts > low).any(1)
        finer = int(np.flatnonzero(inner).max()) if inner.any() else 0
        return np.unique(self.blocks[finer, low : high + 1, 0])

    def widths(self, low: Ints, high: Ints) -> Floats:
        """How much of all values each range spans: 0 for one value, 1 for all, of the shape of ``low``."""
        if self.numbers is not None:
            span = float(np.ptp(self.numbers)) if self.size else 0.0
            return (self.numbers[high] - self.numbers[low]) / (span or 1.0)
        return (high - low) / max(self.size - 1, 1)

    def text(self, runs: Sequence[Sequence[int]]) -> str:
        """What is written of ranges of values, each a first and a last one."""
        return OR.join(self._range(int(low), int(high)) for low, high in runs if low <= high)

    def _range(self, low: int, high: int) -> str:
        if low == high:
            return _plain(self.values[low])
        if self.ranged:
            return f"[{self.values[low]}, {self.values[high]}]"
        for level, names in enumerate(self.levels, start=1):
            if tuple(self.blocks[level, low]) == (low, high):
                return _plain(names[low])
        return ANY


def _odd(text: str) -> bool:
    return OR in text or text.startswith(QUOTE)


def _plain(text: str) -> str:
    """A text that reads as one value: in quotes where it would read as several."""
    return f"{QUOTE}{text.replace(QUOTE, 2 * QUOTE)}{QUOTE}" if _odd(text) else text


def _numbered(names: Sequence[str]) -> Ints:
    """A number for each of some texts, equal ones side by side, ascending."""
    changes = [0] + [int(one != before) for before, one in pairwise(names)]
    return np.cumsum(changes[: len(names)])

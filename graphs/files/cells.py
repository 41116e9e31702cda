"""Columns of text as positions in their different cells: what a list of edges is read into, part by part."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..network import Ints
from .columns import MOST_COLUMNS

Text = NDArray[np.object_]
Known = NDArray[Any]
PART = 1 << 20
"""Rows that are held as text at once. Of each part its different cells alone are kept, numbers as numbers."""
_TENS = 10 ** np.arange(1, 19, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Cells:
    """A column.

    Attributes:
        codes: position of each row's cell among the different ones, [r].
        known: the different cells as they first appear, without blanks at their ends: whole numbers where all cells
            are some, written as Python writes them; otherwise texts.
    """

    codes: Ints
    known: Known

    @classmethod
    def of(cls, parts: Iterable[tuple[Ints, Known]]) -> Self:
        """The column of parts that stand below each other: codes and different cells of each (`coded`)."""
        import pandas as pd

        codes, known = zip(*parts, strict=True)
        whole = all(map(_are_numbers, known))
        place, found = pd.factorize(np.concatenate(known if whole else [*map(_as_text, known)]))
        starts = np.cumsum([0, *map(len, known)])[:-1]
        place = place.astype(np.int32)
        joined = np.concatenate([place[start + own] for start, own in zip(starts, codes, strict=True)])
        if whole or not any(map(_ends_blank, found)):
            return cls(joined, found)
        place, found = pd.factorize(np.array([name.strip(" \t") for name in found], dtype=object))
        return cls(place[joined], found)

    @property
    def numbers(self) -> Ints | None:
        """The different cells where all are whole numbers; None where one is not."""
        return self.known if _are_numbers(self.known) else None

    @cached_property
    def names(self) -> list[str]:
        """The different cells as texts."""
        return [str(cell) for cell in self.known.tolist()]

    def under(self, cell: str) -> "Cells":
        """The column with one more cell above it."""
        return Cells.of([coded(np.array([cell], dtype=object)), (self.codes, self.known)])


def coded(values: Text) -> tuple[Ints, Known]:
    """A part of a column: the position of each cell among its different ones [r], and these."""
    import pandas as pd

    whole = _whole(values)
    codes, known = pd.factorize(values if whole is None else whole)
    return codes.astype(np.int32), known


def table_of(body: bytes, separator: str, width: int) -> tuple[list[str], list[Cells]]:
    """The first row, and the columns of the others.

    Raises:
        ValueError: rows of different widths, or an empty cell.
    """
    if not 2 <= width <= MOST_COLUMNS:
        raise ValueError(f"{width} columns")
    first, found = list[str](), [list[tuple[Ints, Known]]() for _ in range(width)]
    for columns in _parts(body, separator, width):
        if any((column == "").any() for column in columns[: min(width, 3)]) or (columns[-1] != "").any():
            raise ValueError("rows of different widths")
        above = 0 if first else 1
        first = first or [str(column[0]).strip(" \t") for column in columns[:-1]]
        for kept, column in zip(found, columns[:-1], strict=True):
            kept.append(coded(column[above:]))
    return first, [Cells.of(found.pop(0)) for _ in range(width)]


def _parts(body: bytes, separator: str, width: int) -> Iterator[list[Text]]:
    """The columns of some rows after the others, and one more column."""
    import pandas as pd

    # one column more than there should be: shorter rows leave cells empty, longer ones fill the last
    with pd.read_csv(
        io.BytesIO(body),
        sep=r"\s+" if separator == " " else separator,
        header=None,
        names=range(width + 1),
        index_col=False,
        dtype=object,
        na_filter=False,
        chunksize=PART,
    ) as parts:
        for part in parts:
            yield [part[k].to_numpy() for k in range(width + 1)]


def ends_in(one: Cells, other: Cells) -> tuple[Ints, Ints, list[str]]:
    """Both ends of each row, and the ids whose positions they are, as they first appear row by row."""
    import pandas as pd

    both = (one.known, other.known)
    known = np.concatenate(both if all(map(_are_numbers, both)) else [*map(_as_text, both)])
    order = np.argsort(np.concatenate([2 * _first_rows(one), 2 * _first_rows(other) + 1]), kind="stable")
    place, found = np.empty(len(known), dtype=np.int64), known[:0]
    place[order], found = pd.factorize(known[order])
    return place[one.codes], place[len(one.known) :][other.codes], [str(cell) for cell in found.tolist()]


def places_of(names: Sequence[str], ids: Sequence[str]) -> Ints:
    """Position of each name in ``ids``."""
    position = {name: k for k, name in enumerate(ids)}
    return np.fromiter((position[name] for name in names), dtype=np.int64, count=len(names))


def _first_rows(cells: Cells) -> Ints:
    """The row in which each of the different cells first appears."""
    first = np.zeros(len(cells.known), dtype=np.int64)
    first[cells.codes[::-1]] = np.arange(len(cells.codes) - 1, -1, -1)
    return first


def _whole(values: Text) -> Ints | None:
    """The cells as whole numbers, where all are some and written as Python writes them; otherwise None.

    Every other way to write a number takes more characters, or others than those of ASCII.
    """
    if not len(values) or not str(values[0]).removeprefix("-").isdecimal():
        return None
    try:
        found: Ints = values.astype(np.int64)
    except (ValueError, OverflowError):
        return None
    digits = np.searchsorted(_TENS, np.abs(found), side="right") + 1 + (found < 0)
    text = "".join(values.tolist())
    return found if len(text) == int(digits.sum()) and text.isascii() else None


def _are_numbers(known: Known) -> bool:
    return known.dtype.kind == "i"


def _as_text(known: Known) -> Text:
    return np.array([str(cell) for cell in known.tolist()], dtype=object) if _are_numbers(known) else known


def _ends_blank(name: str) -> bool:
    return name[:1] in (" ", "\t") or name[-1:] in (" ", "\t")

"""What the columns of an edge list are: told by their names, or by what stands in them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Role = Literal["weight", "type", "time", "span", "direction", "unread"]
HEADERS = {
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
}
"""Names of the columns of both ends."""
ROLES: dict[str, Role] = {
    **dict.fromkeys(("weight", "weights", "w", "amount"), "weight"),
    **dict.fromkeys(("type", "relation", "kind", "edge_type"), "type"),
    **dict.fromkeys(("time", "times", "timestamp", "ts", "date", "datetime", "when"), "time"),
    **dict.fromkeys(("timeset", "start", "end"), "span"),
}
"""Names of the other columns that are known; spans of time are not read."""
MOST_COLUMNS = 64
MOST_UNNAMED = 4
FIRST_YEAR, LAST_YEAR = 1990, 2100
"""Numbers are taken for times where all of them are seconds, or smaller `UNITS`, of these years since 1970."""
UNITS = (1.0, 1e3, 1e6, 1e9)
"""How many seconds, milliseconds, microseconds and nanoseconds make a second."""
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
_DIRECTIONS = {"directed", "undirected", "mutual"}


@dataclass(frozen=True)
class Column:
    """One column behind the ends.

    Attributes:
        role: what it is read as.
        called: its name in quotation marks, or which it is ("column 3").
        span: where it holds times since 1970, the dates of the first and the last.
    """

    role: Role
    called: str
    span: str = ""

    @property
    def remark(self) -> str:
        """What becomes of it where it is not used, or not always; empty where it is."""
        if self.role == "time":
            return f"{self.called} read as times of edges, which windows alone use{self.span}"
        return f"{self.called} not read" if self.role in ("unread", "span") else ""


def ends_of(cells: Sequence[str]) -> tuple[int, int] | None:
    """Positions of the columns of both ends, where cells of a first row are names of such."""
    names = [cell.casefold() for cell in cells]
    found = ((one, other) for one in range(len(names)) for other in range(one + 1, len(names)))
    return next(((one, other) for one, other in found if (names[one], names[other]) in HEADERS), None)


def column_of(
    place: int, name: str | None, values: Sequence[str], decimal: str, alone: bool, timed: bool = False
) -> Column | None:
    """What a column is; None where it is neither all numbers nor all words.

    Args:
        place: counted from 0.
        name: in the first row, or None where that is an edge.
        values: its different entries.
        decimal: what stands before the decimals of numbers.
        alone: whether no other column stands behind the ends: then it is read whatever its name is.
        timed: whether it is said that the rows have times: numbers in a column without a name, if it is alone, are.
    """
    called = f"column {place + 1}" if name is None else f"column {name[:50]!r}"
    role = ROLES.get(name.casefold()) if name is not None else None
    if role == "type" and {value.casefold() for value in values} <= _DIRECTIONS:
        return Column("direction", called)
    if (role == "time" and not any(values)) or (role is None and name is not None and not alone):
        return Column("unread", called)
    numbers = [number_of(value, decimal) for value in values]
    unit = None if None in numbers else _seconds([number for number in numbers if number is not None])
    said = timed and alone and name is None and None not in numbers
    if role == "time" or (role is None and (said or unit is not None or all(map(DATE.fullmatch, values)))):
        return Column("time", called, _span(values, numbers, unit))
    if role is not None:
        return Column(role, called)
    if None not in numbers:
        return Column("weight", called)
    return Column("type", called) if not any(number is not None for number in numbers) else None


def number_of(text: str, decimal: str = ".") -> float | None:
    """The number that a text stands for, or None."""
    if decimal == "," and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return None


def _seconds(numbers: Sequence[float]) -> float | None:
    """How many units make a second, where all numbers look like times since 1970; otherwise None."""
    first, last = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (FIRST_YEAR, LAST_YEAR))
    return next((u for u in UNITS if all(first * u <= number < last * u for number in numbers)), None)


def _span(values: Sequence[str], numbers: Sequence[float | None], unit: float | None) -> str:
    if all(map(DATE.fullmatch, values)):
        return f" ({min(values)[:10]} to {max(values)[:10]})"
    known = [number for number in numbers if number is not None and math.isfinite(number)]
    if unit is None or not known:
        return ""
    first, last = (datetime.fromtimestamp(end / unit, tz=UTC).date() for end in (min(known), max(known)))
    return f" ({first} to {last})"

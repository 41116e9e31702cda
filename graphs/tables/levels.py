"""Columns from what is written of people, and simple hierarchies that need no file."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal

import numpy as np

from ...errors import InputError, quoted
from .column import ANY, Column

MOST_LEVELS = 64
_WAYS = "interval:WIDTH, date, prefix, or a file of values and their levels"


def column_of(name: str, cells: Sequence[str], tree: Mapping[str, Sequence[str]] | None = None) -> Column:
    """The column of all values that occur, or that a hierarchy has.

    Args:
        name: of the attribute.
        cells: what is written of each person, [n].
        tree: what is told of each value at each level, from fine to coarse; None where there is no hierarchy:
            numbers are then told as ranges, and other values or nothing.

    Raises:
        InputError: a value that the hierarchy has not, or a hierarchy that is none.
    """
    if tree is not None:
        return _of_tree(name, cells, tree)
    numbers = _numbers(name, cells)
    if numbers is None:
        return Column(name, tuple(sorted(set(cells))))
    return Column(name, tuple(numbers), np.array(list(numbers.values())))


def built_in(way: str, name: str, cells: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The hierarchy of a column's values by a rule: ``interval:WIDTH``, ``date`` or ``prefix``.

    Raises:
        InputError: there is no such rule, or values that it does not fit.
    """
    rule, _, size = way.partition(":")
    if rule == "interval" and size:
        return _intervals(name, cells, size)
    if way not in ("date", "prefix"):
        raise InputError(f"the hierarchy {quoted(way)} of {quoted(name)}: expected {_WAYS}")
    coarser: Callable[[str], tuple[str, ...]] = (
        _of_date(name) if way == "date" else _of_prefix(max(map(len, cells)))
    )
    return {value: coarser(value) for value in set(cells)}


def _numbers(name: str, cells: Sequence[str]) -> dict[str, float] | None:
    """Each value as a number, ascending; None where one is none, or two are told apart by their texts alone.

    Of several ways to write one number the first is taken for all: `place_of` gives them one place.
    """
    found: dict[float, str] = {}
    for cell in set(cells):
        try:
            number = float(cell)
        except ValueError:
            continue
        if math.isfinite(number):
            other = found.get(number, cell)
            if Decimal(other) != Decimal(cell):  # long codes that differ behind what a number holds
                return None
            found[number] = min(other, cell)
    if not found:
        return None
    others = [cell for cell in cells if not _is_number(cell)]
    if not others:
        return {found[number]: number for number in sorted(found)}
    if all(cell == "" for cell in others):
        raise InputError(
            f"the column {quoted(name)} has numbers and {len(others):,} empty cells: fill these in, or write a "
            "word such as 'none' there, which makes all of its values names"
        )
    return None


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def places(column: Column, cells: Sequence[str]) -> np.ndarray:
    """The place of each cell's value in a column, [n]."""
    if column.numbers is not None and all(map(_is_number, cells)):
        return np.searchsorted(column.numbers, [float(cell) for cell in cells]).astype(np.int64)
    known = {value: place for place, value in enumerate(column.values)}
    return np.array([known[cell] for cell in cells], dtype=np.int64)


def _of_tree(name: str, cells: Sequence[str], tree: Mapping[str, Sequence[str]]) -> Column:
    missing = next((cell for cell in cells if cell not in tree), None)
    if missing is not None:
        raise InputError(f"the hierarchy of {quoted(name)} has no row for the value {quoted(missing)}: add one")
    depth = {len(levels) for levels in tree.values()}
    if len(depth) != 1 or max(depth) > MOST_LEVELS:
        raise InputError(
            f"the hierarchy of {quoted(name)}: expected as many levels for each value, at most {MOST_LEVELS}"
        )
    _check_nested(name, tree)
    numbers = {value: float(value) if _is_number(value) else 0.0 for value in tree}
    first: dict[tuple[str, ...], float] = {}  # the smallest number under each path keeps numbers in their order
    for value, levels in tree.items():
        path = tuple(levels)[::-1]
        for end in range(1, len(path) + 1):
            first[path[:end]] = min(first.get(path[:end], math.inf), numbers[value])

    def order(value: str) -> tuple[tuple[float, str], ...]:
        path = tuple(tree[value])[::-1]
        return (*((first[path[:end]], path[end - 1]) for end in range(1, len(path) + 1)), (numbers[value], value))

    values = tuple(sorted(tree, key=order))
    written = tuple(tuple(tree[value][level] for value in values) for level in range(max(depth)))
    return Column(name, values, _ascending([numbers[value] for value in values], tree), written)


def _ascending(numbers: Sequence[float], tree: Mapping[str, Sequence[str]]) -> np.ndarray | None:
    """The values as numbers, where all of them are and stand in order."""
    found = np.array(numbers)
    return found if all(map(_is_number, tree)) and (np.diff(found) > 0).all() else None


def _check_nested(name: str, tree: Mapping[str, Sequence[str]]) -> None:
    """Refuses a hierarchy in which what is told of two values alike is told apart at a coarser level."""
    above: dict[tuple[int, str], tuple[str, ...]] = {}
    for value, levels in tree.items():
        for level, text in enumerate(levels):
            rest = tuple(levels[level + 1 :])
            if above.setdefault((level, text), rest) != rest:
                raise InputError(
                    f"the hierarchy of {quoted(name)}: {quoted(text)} at level {level + 1} leads to different "
                    f"coarser levels (seen at {quoted(value)}): give each text one text above it"
                )


def _intervals(name: str, cells: Sequence[str], size: str) -> dict[str, tuple[str, ...]]:
    """Intervals of a width, twice as wide at each level, until all values are in one."""
    width = float(size) if _is_number(size) else 0.0
    bad = next((cell for cell in cells if not _is_number(cell)), None)
    if width <= 0 or bad is not None:
        wrong = f"{quoted(bad)} is no number" if bad is not None else "the width is no number above 0"
        raise InputError(f"the hierarchy interval:{size} of {quoted(name)}: {wrong}")
    numbers = {cell: float(cell) for cell in cells}
    straddles = min(numbers.values()) < 0 <= max(numbers.values())  # no interval of a doubled width spans 0
    found: dict[str, tuple[str, ...]] = dict.fromkeys(cells, ())
    for _ in range(MOST_LEVELS):
        starts = {cell: math.floor(number / width) * width for cell, number in numbers.items()}
        found = {cell: (*found[cell], f"[{low:.12g}, {low + width:.12g})") for cell, low in starts.items()}
        if len(set(starts.values())) <= 1 + straddles:
            break
        width *= 2
    return found


def _of_date(name: str) -> Callable[[str], tuple[str, ...]]:
    def coarser(value: str) -> tuple[str, ...]:
        try:
            day = date.fromisoformat(value) if re.fullmatch(r"\d{4}-\d{2}-\d{2}", value) else None
        except ValueError:
            day = None
        if day is None:
            raise InputError(f"the hierarchy date of {quoted(name)}: {quoted(value)} is no date as 2024-03-31 is")
        return value[:7], value[:4], f"{value[:3]}0s"

    return coarser


def _of_prefix(longest: int) -> Callable[[str], tuple[str, ...]]:
    """The code with its last letters hidden, one more at each level; shorter codes are filled up."""

    def coarser(value: str) -> tuple[str, ...]:
        full = value.ljust(longest)
        return tuple(full[:kept].rstrip() + ANY * (longest - kept) for kept in range(longest - 1, 0, -1))

    return coarser

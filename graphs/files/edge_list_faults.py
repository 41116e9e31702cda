"""What is wrong with a list of edges, and in which line."""

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import InputError
from .data_file import first_line
from .rows import unfit

Row = tuple[int, list[str]]


def cells_of(line: str, separator: str) -> list[str]:
    """The columns of a line; a separator that is a blank stands for any number of blanks and tabs."""
    text = re.sub(r"[ \t]+", " ", line.strip(" \t\n")) if separator == " " else line.strip("\n")
    try:
        cells = next(csv.reader([text], delimiter=separator), [])
    except csv.Error:  # a cell longer than the reader's limit
        cells = text.split(separator)
    return [cell.strip(" \t") for cell in cells]


def number_of(text: str) -> float | None:
    """The number that a text stands for, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def fault(raw: bytes, separator: str, path: Path, cause: Exception) -> InputError:
    """The error of a list of edges that could not be read at once, found by reading it line by line.

    Args:
        raw: the whole text.
        separator: what stands between its columns.
        path: of the file.
        cause: what reading it at once ended with.
    """
    rows: list[Row] = []
    width = 0
    for number, line in _lines(raw):
        cells = cells_of(line, separator)
        width = width or len(cells)
        wrong = "an unclosed quotation mark" if line.count('"') % 2 else _wrong(cells, width)
        if wrong:
            return InputError(f"{path}: line {number}: {wrong}")
        rows.append((number, cells))
    mixed = _mixed([(number, cells) for number, cells in rows if len(cells) == 3])
    return InputError(f"{path}: {mixed or f'not a readable edge list: {first_line(cause)}'}")


def _lines(raw: bytes) -> Iterator[tuple[int, str]]:
    """Lines that are neither empty nor comments, counted from 1."""
    for number, line in enumerate(raw.decode().split("\n"), 1):
        text = line.strip(" \t")
        if text and text[0] not in "#%":
            yield number, line


def _wrong(cells: Sequence[str], width: int) -> str:
    """What is wrong with one row beside others of so many columns."""
    if len(cells) not in (2, 3):
        return f"{len(cells)} columns: expected two ids, and a weight or a type if there is one"
    if len(cells) != width:
        return f"{len(cells)} columns: expected {width}, as in the first row"
    bad = next((cell for cell in cells if unfit(cell)), None)
    if bad is not None:
        return f"entry {bad[:50]!r} is {unfit(bad)}: expected an id, a weight or a type without"
    number = number_of(cells[2]) if width == 3 else None
    return "" if number is None or math.isfinite(number) else f"weight {cells[2]!r}: expected a finite number"


def _mixed(rows: Sequence[Row]) -> str:
    """Names the first of the fewer entries where some third columns are numbers and some are words."""
    numbers = [row for row in rows if number_of(row[1][2]) is not None]
    words = [row for row in rows if number_of(row[1][2]) is None]
    if not numbers or not words:
        return ""
    (line, cells), (other, _) = (words[0], numbers[0]) if len(words) <= len(numbers) else (numbers[0], words[0])
    expected = "a number" if len(words) <= len(numbers) else "the name of a type"
    return f"line {line}: third column {cells[2]!r}: expected {expected}, as in line {other}"

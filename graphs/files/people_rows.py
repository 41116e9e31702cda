"""Rows of tables of people as texts: CSV with commas, semicolons or tabs, or Parquet."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, quoted
from .table import read_table

PARQUET = ".parquet"
MOST_BYTES = 1 << 30
MOST_COLUMNS = 1000
LONGEST_CELL = 1000
SEPARATORS = ",;\t"


def read_rows(path: Path, header: bool = True) -> tuple[list[str], list[list[str]]]:
    """The first row of a table and the others, all of the same length; blanks around cells go.

    Cells of text are apart by commas, semicolons or tabs, whichever the first row has most of. In Parquet the names
    of columns are the first row, and a cell without a value is empty.

    Raises:
        InputError: it cannot be read, is empty or too large, or its rows differ in length.
    """
    rows = _of_parquet(path) if path.suffix.lower() == PARQUET else _of_text(path)
    rows = [row for row in rows if any(row)]
    if len(rows) < 1 + header:
        raise InputError(f"{path}: expected {'a row of names and a row for each person' if header else 'rows'}")
    _check_cells(rows, path)
    return (rows[0], rows[1:]) if header else ([], rows)


def _of_text(path: Path) -> list[list[str]]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES >> 20} MiB: expected a table of people")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text in UTF-8: save it as CSV in UTF-8") from error
    first = text.split("\n", 1)[0]
    separator = max(SEPARATORS, key=first.count)
    try:
        return [
            [cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        ]
    except csv.Error as error:
        raise InputError(f"{path}: is no table: {error}") from error


def _of_parquet(path: Path) -> list[list[str]]:
    columns = read_table(path).columns
    cells = [_texts(values) for values in columns.values()]
    return [list(columns), *map(list, zip(*cells, strict=True))]


def _texts(values: NDArray[Any]) -> list[str]:
    """What a text would have in the place of each value; nothing where there is none.

    Whole numbers have no decimals: beside missing ones they are stored as fractions. Dates have no time where none
    of them has one.
    """
    import pandas as pd

    missing = pd.isna(values)
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        plain = np.datetime_as_string(days if (days == values)[~missing].all() else values.astype("datetime64[s]"))
        found = plain.tolist()
    elif values.dtype.kind == "f" and (values == np.round(values))[~missing].all() and _exact(values[~missing]):
        found = ["" if gone else str(int(value)) for gone, value in zip(missing, values.tolist(), strict=True)]
    else:
        found = [str(value).strip() for value in values.tolist()]
    return ["" if gone else text for gone, text in zip(missing, found, strict=True)]


def _exact(values: NDArray[Any]) -> bool:
    """Whether all are finite and small enough that no whole number was rounded."""
    return bool((np.abs(values) < 2**53).all())


def _check_cells(rows: Sequence[Sequence[str]], path: Path) -> None:
    width = len(rows[0])
    if not 2 <= width <= MOST_COLUMNS:
        raise InputError(
            f"{path}: {width} columns, expected 2 to {MOST_COLUMNS}, apart by commas, semicolons or tabs"
        )
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise InputError(f"{path}: row {number} has {len(row)} cells, the first row has {width}")
        bad = next((cell for cell in row if len(cell) > LONGEST_CELL or not cell.isprintable()), None)
        if bad is not None:
            raise InputError(
                f"{path}: row {number}: {quoted(bad)} is longer than {LONGEST_CELL} characters, or has some "
                "that are not seen"
            )

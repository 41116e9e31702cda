"""Networks as Parquet tables, one edge a row."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, quoted
from .cells import Cells, Text, coded, ends_in, places_of
from .columns import MOST_COLUMNS, ends_of
from .edge_list import NoTimeError, arranged, with_columns
from .rows import Rows, check_names
from .table import read_table


def read_parquet(path: Path) -> Rows:
    """Reads a table whose columns are named as in a text's first row: ``source`` and ``target``, and what else.

    Columns are understood as `edge_list.read_edge_list` does it. Nodes stand in numeric order where all ids are
    whole numbers, otherwise as they first appear.

    Raises:
        InputError: pyarrow is not installed, the file is damaged or too large, no two columns are those of the
            ends, or a cell is empty or holds what it should not.
    """
    columns = read_table(path).columns
    called = list(columns)
    ends = ends_of(called)
    if ends is None or len(called) > MOST_COLUMNS:
        told = ", ".join(quoted(name) for name in called[:6])
        raise InputError(
            f"{path}: {len(called)} columns ({told}): expected the columns source and target, and at most "
            f"{MOST_COLUMNS} in all"
        )
    table = [Cells.of([coded(_texts(values, name, path))]) for name, values in columns.items()]
    one, other, names = ends_in(table[ends[0]], table[ends[1]])
    check_names(names, "id", str(path))
    ids = arranged(names, ())
    place = places_of(names, ids)
    rows = Rows(ids, place[one], place[other], directed="unsaid", unlisted=len(ids))
    others = {k: name for k, name in enumerate(called) if k not in ends}
    try:
        return with_columns(rows, table, dict(others), (), ".", path, False)
    except NoTimeError as error:
        raise InputError(f"{path}: row {error.row + 1}: time {quoted(error.text)}: {error.expected}") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: {error}: expected weights that are finite numbers, or names of types") from error


def _texts(values: NDArray[Any], name: str, path: Path) -> Text:
    """The cells of a column as a text would have them, [r]."""
    import pandas as pd

    empty = np.flatnonzero(pd.isna(values))
    if len(empty):
        raise InputError(f"{path}: row {empty[0] + 1} has nothing in the column {quoted(name)}: expected a value")
    found: Text = np.array([str(value) for value in values.tolist()], dtype=object)
    if values.dtype.kind == "M":
        found = np.array(np.datetime_as_string(values), dtype=object)
    return found

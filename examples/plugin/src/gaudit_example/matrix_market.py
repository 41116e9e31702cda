"""Networks as Matrix Market files, as the SuiteSparse collection has them."""

from pathlib import Path

import numpy as np
from scipy.io import mminfo, mmread

from gaudit.plugin import InputError, Rows, check_memory

MEMORY_OF_AN_ENTRY = 100
"""Bytes that an entry takes at most while it is read."""
WEIGHTED = ("real", "integer", "unsigned-integer")


def read_mtx(path: Path) -> Rows:
    """Matrix Market: a square sparse matrix, each entry an edge; entries with numbers are weights.

    Nodes are called by their row, from 1. A symmetric matrix tells each edge once; of a general one, some entries
    but not all having their reverse, edges are directed.

    Raises:
        InputError: damaged, too large, or no square sparse matrix of real numbers.
    """
    rows, columns, entries, layout, field, symmetry = _header(path)
    if layout != "coordinate" or rows != columns or field not in (*WEIGHTED, "pattern"):
        raise InputError(
            f"{path}: a {layout} matrix {rows} x {columns} of {field}: expected a square sparse one of reals"
        )
    check_memory(f"{path}: its {entries} entries and {rows} rows", MEMORY_OF_AN_ENTRY * (entries + rows))
    try:
        matrix = mmread(path).tocoo()
    except (ValueError, OverflowError, StopIteration) as error:
        raise InputError(f"{path}: damaged Matrix Market file: {error}") from error
    one, other, values = matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data
    if symmetry != "general":  # both directions of each edge are in memory, one is in the file
        once = one >= other
        one, other, values = one[once], other[once], values[once]
    weights = values.astype(np.float64) if field in WEIGHTED else None
    ids = tuple(str(row + 1) for row in range(rows))
    return Rows(ids, one, other, weights, directed="if-mixed" if symmetry == "general" else "no")


def _header(path: Path) -> tuple[int, int, int, str, str, str]:
    try:
        rows, columns, entries, layout, field, symmetry = mminfo(path)
    except (ValueError, OverflowError, StopIteration) as error:
        raise InputError(f"{path}: no Matrix Market file: {error}") from error
    return rows, columns, entries, layout, field, symmetry

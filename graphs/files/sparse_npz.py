"""Networks as sparse adjacencies, which ``scipy.sparse.save_npz`` writes."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..network import Ints
from .data_file import Shape, arrays_of, check_directory, damage_refused
from .rows import MOST_EDGES, MOST_NODES, Rows

KINDS = {"format": "SU", "shape": "iu", "indptr": "iu", "indices": "iu", "row": "iu", "col": "iu", "data": "biuf"}
"""Arrays of such a file, and what each may hold."""
MARKS = {"format.npy", "shape.npy", "data.npy"}


def is_sparse(path: Path) -> bool:
    """Whether an archive is one that scipy wrote; one of ours has an ``edge_index`` or ``edges``."""
    with damage_refused(path):
        check_directory(path)
        with zipfile.ZipFile(path) as archive:
            held = set(archive.namelist())
    return held >= MARKS and held.isdisjoint({"edge_index.npy", "edges.npy"})


def read_sparse(path: Path) -> Rows:
    """Reads a square adjacency in the format csr, csc or coo; entries are weights where they are not all 1.

    Nodes are called by their position. Entries of 0 are no edges. Where some edges, but not all, have their
    reverse, they are directed. Never unpickled; headers are checked before memory is set aside.

    Raises:
        InputError: damaged, too large, not square, of another format, or of arrays that do not fit to each other.
    """

    def check(name: str, shape: Shape, dtype: np.dtype[Any]) -> None:
        wide = len(shape) != (name != "format") or (shape and shape[0] > 2 * MOST_EDGES)
        if dtype.kind not in KINDS[name] or wide:
            raise InputError(
                f"{path}: array '{name}' {dtype} {tuple(shape)} is none of a sparse matrix in csr, csc or coo"
            )

    read = arrays_of(path, KINDS, check)
    given = read["format"].item()
    kind = given.decode("ascii", "replace") if isinstance(given, bytes) else str(given)
    size = read["shape"].tolist()
    if len(size) != 2 or size[0] != size[1] or not 0 < size[0] <= MOST_NODES:
        raise InputError(f"{path}: a matrix of shape {size}: expected a square one of at most {MOST_NODES} nodes")
    one, other = _ends(read, kind, path)
    data = read["data"].astype(np.float64)
    ends = np.concatenate([one, other])
    if not len(one) == len(other) == len(data) or ends.min(initial=0) < 0 or ends.max(initial=0) >= size[0]:
        raise InputError(f"{path}: its arrays do not fit to each other, or name nodes outside 0..{size[0] - 1}")
    if not np.isfinite(data).all():
        raise InputError(f"{path}: array 'data' holds NaN or infinite numbers")
    _check_once(one, other, size[0], path)
    there = data != 0
    weights = None if (data[there] == 1).all() else data[there]
    return Rows(tuple(map(str, range(size[0]))), one[there], other[there], weights, directed="if-mixed")


def _check_once(one: Ints, other: Ints, nodes: int, path: Path) -> None:
    """Refuses entries that are there twice, whose sum is what scipy takes them for."""
    coded = np.sort(one * nodes + other)
    again = np.flatnonzero(coded[1:] == coded[:-1])
    if len(again):
        row, column = divmod(int(coded[again[0]]), nodes)
        raise InputError(
            f"{path}: row {row}, column {column} is there more than once: add up such entries first "
            "(matrix.sum_duplicates())"
        )


def _ends(read: dict[str, NDArray[Any]], kind: str, path: Path) -> tuple[Ints, Ints]:
    """Row and column of each entry."""
    names = {"coo": ("row", "col"), "csr": ("indptr", "indices"), "csc": ("indptr", "indices")}.get(kind)
    if names is None or not all(name in read for name in names):
        raise InputError(f"{path}: a sparse matrix in the format {kind[:20]!r}: expected csr, csc or coo")
    first, second = (read[name].astype(np.int64) for name in names)
    if kind == "coo":
        return first, second
    steps = np.diff(first)
    if len(first) != read["shape"][0] + 1 or (steps < 0).any() or first[0] != 0 or first[-1] != len(second):
        raise InputError(f"{path}: array 'indptr' does not fit to 'indices' and 'shape'")
    major = np.repeat(np.arange(len(steps)), steps)
    return (major, second) if kind == "csr" else (second, major)

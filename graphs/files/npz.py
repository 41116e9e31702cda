"""Networks as NumPy archives."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..network import Network
from .data_file import MOST_FEATURE_BYTES, Shape, arrays_of
from .rows import MOST_EDGES, MOST_NODES, RowDirections, Rows, as_whole, check_names, rows_of

MOST_TEXT_BYTES = 1 << 30
MOST_TYPES = 1 << 16
WHOLE, NUMBERS, TEXT = "whole numbers", "numbers", "text"
KINDS = {WHOLE: "iu", NUMBERS: "iuf", TEXT: "U"}
# of each array: what it holds, its shape (n nodes, e rows of edges, None any length), how many entries it may have
ARRAYS: Mapping[str, tuple[str, tuple[Any, ...], int]] = {
    "edge_index": (WHOLE, (2, "e"), 2 * MOST_EDGES),
    "edges": (WHOLE, (2, "e"), 2 * MOST_EDGES),
    "weights": (NUMBERS, ("e",), MOST_EDGES),
    "types": (WHOLE, ("e",), MOST_EDGES),
    "times": (WHOLE, ("e",), MOST_EDGES),
    "type_names": (TEXT, (None,), MOST_NODES),
    "ids": (TEXT, ("n",), MOST_NODES),
    "nodes": (WHOLE, (), 1),
    "x": (NUMBERS, ("n", None), MOST_FEATURE_BYTES // 4),
    "y": (WHOLE, ("n",), MOST_NODES),
    "groups": (WHOLE, ("n",), MOST_NODES),
    "counts": (WHOLE, (None, 4), 4 * MOST_EDGES),
    "directed": (WHOLE, (), 1),
}


def read_npz(path: Path) -> Rows:
    """Reads ``edge_index`` or ``edges`` [2, e], positions of nodes, and what else of `ARRAYS` is there.

    Without ``nodes`` (a number), ``ids``, features, classes or groups, n is the largest position and one. Without
    ``ids`` nodes are called by their position. Where some edges, but not all, have their reverse, they are
    directed; ``directed`` (1 or 0) says whether they are. Other arrays are left alone. Never unpickled; headers are
    checked before memory is set aside.

    Raises:
        InputError: damaged, too large, without edges, or arrays of other types and sizes.
    """

    def check(name: str, shape: Shape, dtype: np.dtype[Any]) -> None:
        _check_header(shape, dtype, name, path)

    read = {name: _exact(array, name, path) for name, array in arrays_of(path, ARRAYS, check).items()}
    ends = [read.pop(name) for name in ("edge_index", "edges") if name in read]
    if len(ends) != 1:
        raise InputError(f"{path}: expected one array 'edge_index' or 'edges' [2, e], found {len(ends)}")
    nodes = _nodes(read, ends[0], path)
    _check_sizes(read, ends[0].shape[1], nodes, path)
    ids = tuple(read["ids"].tolist()) if "ids" in read else tuple(map(str, range(nodes)))
    called = tuple(read["type_names"].tolist()) if "type_names" in read else ()
    check_names(ids, "id", str(path))
    check_names(called, "type", str(path))
    ways: RowDirections = "if-mixed"
    if "directed" in read:
        ways = "yes" if read["directed"] else "no"
    names = ("weights", "types", "times", "x", "y", "groups", "counts")
    told: dict[str, Any] = {name: read.get(name) for name in names}
    return Rows(ids, ends[0][0], ends[0][1], type_names=called, types_in_order=True, directed=ways, **told)


def write_npz(
    stream: IO[bytes],
    network: Network,
    ids: Sequence[str],
    types: Sequence[str],
    x: NDArray[Any] | None,
    y: NDArray[Any] | None,
) -> None:
    """Writes a network so that `read_npz` reads the same: a row for each edge, way that it leads, or time."""
    ends, row, times = rows_of(network)
    arrays: dict[str, Any] = {
        "edge_index": ends,
        "directed": None if network.directions is None else np.array(1),
        "nodes": np.array(network.nodes),
        "ids": np.array(ids, dtype=np.str_),
        "type_names": np.array(types, dtype=np.str_) if types else None,
        "x": x,
        "y": y,
    }
    arrays |= {"groups": network.groups, "counts": network.counts, "times": times}
    arrays["types"] = None if network.types is None else network.types[row]
    arrays["weights"] = None if network.weights is None else as_whole(network.weights[row])
    np.savez_compressed(stream, **{name: array for name, array in arrays.items() if array is not None})


def _check_header(shape: tuple[int, ...], dtype: np.dtype[Any], name: str, path: Path) -> None:
    """Refuses an array by its type and number of entries."""
    expected, sizes, most = ARRAYS[name]
    if dtype.kind not in KINDS[expected]:
        raise InputError(f"{path}: array '{name}' has type {dtype}: expected {expected}")
    fits = len(shape) == len(sizes) and all(
        size == wanted for size, wanted in zip(shape, sizes, strict=True) if isinstance(wanted, int)
    )
    if not fits:
        raise InputError(f"{path}: array '{name}' has shape {shape}: expected {_shape(sizes)}")
    count = math.prod(shape)
    if count > most or (expected == TEXT and count * dtype.itemsize > MOST_TEXT_BYTES):
        raise InputError(f"{path}: array '{name}' of shape {shape} is too large: at most {most} entries are read")


def _shape(sizes: tuple[Any, ...]) -> str:
    named = ["any" if size is None else str(size) for size in sizes]
    return f"[{', '.join(named)}]" if named else "a single number"


def _exact(array: NDArray[Any], name: str, path: Path) -> NDArray[Any]:
    """The array in 64 bits (features as they are), with finite numbers only."""
    expected = ARRAYS[name][0]
    if expected == NUMBERS and not np.isfinite(array).all():
        raise InputError(f"{path}: array '{name}' holds NaN or infinite numbers")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{path}: array '{name}' holds numbers beyond 64-bit integers")
    if name == "x" or expected == TEXT:
        return array
    return array.astype(np.int64 if expected == WHOLE else np.float64)


def _nodes(read: dict[str, NDArray[Any]], ends: NDArray[Any], path: Path) -> int:
    """Number of nodes: as it is told, or as many as ends name."""
    told = next((len(read[name]) for name in ("ids", "x", "y", "groups") if name in read), None)
    nodes = int(read["nodes"]) if "nodes" in read else told
    low, high = (int(ends.min()), int(ends.max())) if ends.size else (0, -1)
    if nodes is None:
        nodes = high + 1
    if low < 0 or high >= nodes:
        raise InputError(f"{path}: an edge to node {low if low < 0 else high}: expected positions 0..{nodes - 1}")
    if nodes > MOST_NODES:
        raise InputError(f"{path}: {nodes} nodes: at most {MOST_NODES} are read")
    return nodes


def _check_sizes(read: dict[str, NDArray[Any]], edges: int, nodes: int, path: Path) -> None:
    """Refuses arrays that do not fit to the nodes or edges, and types and classes that are negative or unnamed."""
    for name, array in read.items():
        wanted = {"n": nodes, "e": edges}
        for size, axis in zip(array.shape, ARRAYS[name][1], strict=True):
            if size != wanted.get(axis, size):
                raise InputError(f"{path}: array '{name}' has {size} entries: expected {wanted[axis]}")
        if name in ("types", "groups", "counts") and array.size and array.min() < 0:
            raise InputError(f"{path}: array '{name}' holds negative numbers")
    named = len(read["type_names"]) if "type_names" in read else MOST_TYPES
    if "types" in read and read["types"].max(initial=-1) >= named:
        raise InputError(f"{path}: array 'types' goes up to {read['types'].max()}: expected types below {named}")

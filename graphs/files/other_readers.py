"""Readers of other kinds of files, which other packages bring along."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, one_line
from ...registry import installed, origin, registered
from .rows import MOST_EDGES, MOST_NODES, Rows, check_names

Reader = Callable[[Path], Rows]
"""What an entry point of ``gaudit.readers`` names; its own name is the ending of the files, without the dot."""
OF_EDGES, OF_NODES = ("one", "other", "weights", "types"), ("x", "y", "groups")


def other_endings() -> list[str]:
    """Endings of files that other packages read, with their dot."""
    return [f".{name}" for name in registered("readers")]


def other_reader(path: Path) -> str | None:
    """The name of the reader that another package has for a file, by the longest ending, or None."""
    fits = [name for name in registered("readers") if path.name.lower().endswith(f".{name.lower()}")]
    return max(fits, key=len, default=None)


def read_other(path: Path, name: str) -> Rows:
    """What the reader of another package finds in a file.

    The reader is code that was installed. What it returns is checked all the same: arrays that do not fit to each
    other would be an error far from here.

    Raises:
        InputError: the reader refuses the file, fails on it, or returns what is no network.
    """
    who = f"the reader of .{name} files ({origin(registered('readers')[name])})"
    try:
        rows: Rows = installed("readers", name)(path)
    except (InputError, OSError):
        raise
    except Exception as error:  # code of others may fail in any way on a file of others
        raise InputError(f"{path}: {who} failed: {type(error).__name__}: {one_line(error, 200)}") from error
    wrong = _wrong(rows)
    if wrong:
        raise InputError(f"{path}: {who} returned {wrong}")
    check_names(rows.ids, "id", str(path))
    check_names(rows.type_names, "type", str(path))
    return rows


def _wrong(rows: Any) -> str | None:
    """What keeps a reader's result from being a network, or None."""
    if not isinstance(rows, Rows):
        return f"a {type(rows).__name__}, expected Rows"
    nodes, edges = len(rows.ids), len(rows.one)
    if nodes > MOST_NODES or edges > 2 * MOST_EDGES:
        return f"{nodes} nodes and {edges} rows: at most {MOST_NODES} nodes and {MOST_EDGES} edges are read"
    sizes = dict.fromkeys(OF_EDGES, edges) | dict.fromkeys(OF_NODES, nodes)
    given = {name: array for name in sizes if (array := getattr(rows, name)) is not None}
    for name, array in given.items():
        if not isinstance(array, np.ndarray) or len(array) != sizes[name]:
            return f"'{name}' that is no array of {sizes[name]} entries"
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            return f"'{name}' that holds something else than finite numbers"
    ends = np.concatenate([rows.one, rows.other])
    if ends.dtype.kind not in "iu" or (edges and (ends.min() < 0 or ends.max() >= nodes)):
        return f"ends that are not positions 0..{nodes - 1}"
    return None

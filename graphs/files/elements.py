"""Networks told by elements that have attributes: nodes, and edges with a weight and a type if they have one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, quoted
from ..network import Floats, Ints
from .rows import Rows, check_names

Edge = tuple[str, str, Mapping[str, Any]]


def rows_of_elements(
    ids: tuple[str, ...], edges: Sequence[Edge], directed: bool, path: Path, declared: Sequence[str] = ()
) -> Rows:
    """Rows with the attributes ``weight`` (a number) and ``type`` (a name) of edges; others are named and not read.

    Args:
        ids: of the nodes, in the file's order.
        edges: both ends and the attributes of each.
        directed: whether an edge stands for one direction.
        path: of the file, for errors.
        declared: types that come first; others stand as they first appear.

    Raises:
        InputError: ids or names of types are unusable, an edge lacks what others have, or a weight is no number.
    """
    check_names(ids, "node", str(path))
    place = {node: k for k, node in enumerate(ids)}
    ends = np.array([(place[u], place[v]) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2).T
    types, names = _types(edges, declared, path)
    unread = sorted({name for _, _, values in edges for name in values} - {"weight", "type", "id"})
    return Rows(
        ids,
        ends[0],
        ends[1],
        weights=_weights(edges, path),
        types=types,
        type_names=names,
        directed="yes" if directed else "no",
        columns=f"attributes of edges not read: {', '.join(map(repr, unread))}" if unread else "",
    )


def _told(edges: Sequence[Edge], name: str, path: Path) -> list[Any]:
    """An attribute of all edges, or nothing where none has it."""
    missing = next(((u, v) for u, v, values in edges if name not in values), None)
    if missing is None:
        return [values[name] for _, _, values in edges]
    if any(name in values for _, _, values in edges):
        raise InputError(
            f"{path}: edge {quoted(missing)} has no attribute '{name}', others have: give every edge one or none"
        )
    return []


def _weights(edges: Sequence[Edge], path: Path) -> Floats | None:
    told = _told(edges, "weight", path)
    try:
        weights = np.array(told, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.array([np.nan])
    if not np.isfinite(weights).all():
        raise InputError(f"{path}: attribute 'weight' of an edge is no finite number")
    return weights if told else None


def _types(edges: Sequence[Edge], declared: Sequence[str], path: Path) -> tuple[Ints | None, tuple[str, ...]]:
    told = [str(kind) for kind in _told(edges, "type", path)]
    names = tuple(dict.fromkeys([*declared, *told])) if told else ()
    check_names(names, "type", str(path))
    place = {name: k for k, name in enumerate(names)}
    return (np.array([place[kind] for kind in told], dtype=np.int64) if told else None), names

"""Attributes of people that a target publishes with their network: columns of the features, and the class."""

import numpy as np
from torch_geometric.data import Data

from ...errors import InputError
from ...graphs.pyg import is_plain
from ...graphs.tables.column import Column, Ints
from ...graphs.tables.node_table import NodeTable

LABEL = "label"


def table_of_data(data: Data, columns: tuple[str, ...], sensitive: tuple[str, ...]) -> NodeTable:
    """What is told of people: some columns of the features, or the class, by number or as ``label``.

    Columns are numbers and told as ranges; classes are names, told or not.

    Args:
        data: a graph with features.
        columns: by which people are known.
        sensitive: told as it is.

    Raises:
        InputError: the graph has no such column, or one is named twice.
    """
    if is_plain(data):
        raise InputError("columns: this graph has no features: give one that has, or leave columns out")
    named = [*columns, *sensitive]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"column {twice} is named twice: what people are known by cannot be what is protected")
    secret = _values(data, sensitive) if sensitive else ()
    return NodeTable.of_values(*_values(data, columns), *secret)


def _values(data: Data, names: tuple[str, ...]) -> tuple[tuple[Column, ...], Ints]:
    read = [_column(data, name) for name in names]
    values = np.column_stack([own for _, own in read]) if read else np.empty((data.num_nodes, 0), dtype=np.int64)
    return tuple(column for column, _ in read), values


def _column(data: Data, name: str) -> tuple[Column, Ints]:
    if name == LABEL:
        known, place = np.unique(data.y.cpu().numpy(), return_inverse=True)
        return Column(LABEL, tuple(f"{LABEL}:{number}" for number in known)), place.astype(np.int64)
    if not name.isdecimal() or int(name) >= data.num_features:
        raise InputError(
            f"column {name}: expected label, or a column of the features, 0 to {data.num_features - 1}"
        )
    known, place = np.unique(data.x[:, int(name)].cpu().numpy().astype(np.float64), return_inverse=True)
    return Column(name, tuple(f"{number:g}" for number in known), known), place.astype(np.int64)

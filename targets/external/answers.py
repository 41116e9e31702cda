"""Answers of a model about nodes, from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ...errors import InputError
from ...graphs.files.table import Table, read_table

if TYPE_CHECKING:
    from torch_geometric.data import Data

FIELD = "field:"
"""Before the name of a field of the graph, in the place of a file."""


def read_answers(path: str, nodes: int, classes: int) -> tuple[Tensor, Tensor]:
    """Nodes [s] and their posteriors [s, C] from a table with the columns ``id`` and p0, p1, ...

    Without ``id`` the rows are those of all nodes in the order of the graph.

    Raises:
        InputError: as `read_table` does; a node twice or outside of the graph, or rows that are no posteriors.
    """
    table = read_table(path)
    told = posteriors_of(table)
    if told.shape[1] != classes:
        raise InputError(f"{path}: posteriors of {told.shape[1]} classes, and the graph has {classes}")
    if "id" not in table and len(table) != nodes:
        raise InputError(f"{path}: {len(table)} rows without a column 'id', and the graph has {nodes} nodes")
    ids = table.numbers("id") if "id" in table else np.arange(nodes, dtype=np.float64)
    wrong = (ids != np.round(ids)) | (ids < 0) | (ids >= nodes)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(f"{path}: row {row + 1} is about node {ids[row]:g}: expected 0 to {nodes - 1}")
    _, first = np.unique(ids, return_index=True)
    if len(first) != len(ids):
        row = int(np.setdiff1d(np.arange(len(ids)), first)[0])
        raise InputError(f"{path}: row {row + 1} is about node {ids[row]:g} again")
    return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(told).float()


def all_answers(data: Data, field: str, nodes: int, classes: int) -> tuple[Tensor, Tensor]:
    """All nodes and their posteriors [n, C] from a field of the graph.

    Raises:
        InputError: there is none, or it holds no posteriors.
    """
    told = data.get(field)
    if not isinstance(told, Tensor) or tuple(told.shape) != (nodes, classes):
        shape = list(told.shape) if isinstance(told, Tensor) else "missing"
        raise InputError(f"the answers must be posteriors [{nodes}, {classes}], one row for each node: got {shape}")
    columns = {f"p{k}": column.double().cpu().numpy() for k, column in enumerate(told.t())}
    return torch.arange(nodes), torch.from_numpy(posteriors_of(Table("the answers", columns))).float()


def posteriors_of(table: Table) -> np.ndarray:
    """The columns p0, p1, ... of a table, [n, C].

    Raises:
        InputError: there are none, or a row is negative or does not sum to 1.
    """
    names = table.starting("p")
    if len(names) < 2:
        raise InputError(f"{table.source}: expected posteriors in columns p0, p1, ...; one for each class")
    told = np.stack([table.numbers(name) for name in names], axis=1)
    wrong = (told < 0).any(1) | (np.abs(told.sum(1) - 1) > 1e-3)
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"{table.source}: row {row + 1} is no posterior: its values must not be negative and must sum to 1"
        )
    return told

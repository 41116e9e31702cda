"""Collections of graphs as TU Dortmund publishes them: a folder of text files with rows of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from ...errors import InputError, one_line
from ...untrusted import check_memory
from ..collection import collection_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

EDGES, OF, LABELS = "_A.txt", "_graph_indicator.txt", "_graph_labels.txt"
NODE_LABELS, NODE_ATTRIBUTES = "_node_labels.txt", "_node_attributes.txt"
BYTE_MEMORY = 12
"""Bytes of memory that a byte of these files takes at most, the arrays that are made of it included."""
MOST_LABELS = 1000
"""Different labels of nodes in a column: each becomes a feature."""


def is_tu_folder(path: Path) -> bool:
    """Whether a path is a folder that holds a file with the graph of each node."""
    return path.is_dir() and any(path.glob("*" + OF))


def read_tu_folder(folder: Path) -> Data:
    """Reads a collection of graphs, and checks it (Morris et al. 2020, TUDataset).

    ``NAME_A.txt``: rows of two node numbers from 1, an edge each. ``NAME_graph_indicator.txt``: the number of each
    node's graph, from 1. ``NAME_graph_labels.txt``: a whole number for each graph; classes are numbered in their
    order. ``NAME_node_attributes.txt``, if there: numbers, which are the first features.
    ``NAME_node_labels.txt``, if there: whole numbers, one column or more; each different one is a feature, 1 for
    nodes that bear it. Without both the only feature is 1. All other files, labels of edges among them, are not
    read.

    Returns:
        What `collection_of` returns.

    Raises:
        InputError: a file is missing, is too large, or does not fit the others.
    """
    name = _name_in(folder)
    indicator = _whole(folder / (name + OF), 1)[:, 0]
    labels = _whole(folder / (name + LABELS), 1)[:, 0]
    edges = _whole(folder / (name + EDGES), 2)
    nodes, graphs = len(indicator), len(labels)
    _check_range(folder / (name + OF), indicator, graphs, "graph")
    _check_range(folder / (name + EDGES), edges, nodes, "node")
    order = np.argsort(indicator, kind="stable")
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes)
    x = _features(folder, name, nodes)[torch.from_numpy(order)]
    classes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    graph_of = torch.from_numpy(indicator[order] - 1)
    return collection_of(x, torch.from_numpy(place[edges.T - 1]), graph_of, torch.from_numpy(classes), str(folder))


def _name_in(folder: Path) -> str:
    """What the files in a folder begin with."""
    found = sorted(path.name.removesuffix(OF) for path in folder.glob("*" + OF))
    if len(found) != 1:
        said = "no file" if not found else f"{len(found)} files"
        raise InputError(f"{folder}: {said} called NAME{OF}: a collection of graphs has one, beside NAME{EDGES}")
    return found[0]


def _features(folder: Path, name: str, nodes: int) -> torch.Tensor:
    """Attributes of nodes and their labels as ones and zeros, [N, d] float32."""
    parts: list[torch.Tensor] = []
    told = folder / (name + NODE_ATTRIBUTES)
    if told.exists():
        rows = _table(told, np.float64)
        _check_rows(told, rows, nodes)
        parts.append(torch.from_numpy(rows).float())
    told = folder / (name + NODE_LABELS)
    if told.exists():
        rows = _table(told, np.int64)
        _check_rows(told, rows, nodes)
        for column in rows.T:
            known, number = np.unique(column, return_inverse=True)
            if len(known) > MOST_LABELS:
                raise InputError(f"{told}: {len(known)} different labels of nodes: at most {MOST_LABELS} are read")
            parts.append(F.one_hot(torch.from_numpy(number.astype(np.int64)), len(known)).float())
    return torch.cat(parts, 1) if parts else torch.ones(nodes, 1)


def _check_rows(path: Path, rows: NDArray[np.generic], nodes: int) -> None:
    if len(rows) != nodes:
        raise InputError(f"{path}: has {len(rows)} rows for {nodes} nodes: expected one for each")


def _check_range(path: Path, numbers: NDArray[np.int64], most: int, what: str) -> None:
    outside = (numbers < 1) | (numbers > most)
    if outside.any():
        row = int(outside.reshape(len(numbers), -1).any(1).argmax())
        raise InputError(f"{path}: row {row + 1} names a {what} outside 1 to {most}: count from 1")


def _whole(path: Path, columns: int) -> NDArray[np.int64]:
    """A table of whole numbers with so many columns."""
    rows = _table(path, np.int64).astype(np.int64)
    if rows.shape[1] != columns:
        raise InputError(f"{path}: rows have {rows.shape[1]} numbers: expected {columns}")
    return rows


def _table(path: Path, kind: type[np.int64] | type[np.float64]) -> NDArray[np.generic]:
    """Rows of numbers between commas, as an array [rows, columns]."""
    if not path.is_file():
        raise InputError(f"{path}: no such file: a collection of graphs needs it")
    try:
        size = path.stat().st_size
        check_memory(str(path), BYTE_MEMORY * size)
        rows: NDArray[np.generic] = np.loadtxt(path, dtype=kind, delimiter=",", comments=None, ndmin=2)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or one_line(str(error), 200)}") from error
    except (ValueError, OverflowError) as error:
        wanted = "whole numbers" if kind is np.int64 else "numbers"
        raise InputError(
            f"{path}: expected rows of {wanted} between commas: {one_line(str(error), 200)}"
        ) from error
    if not rows.size:
        raise InputError(f"{path}: is empty: expected one row of numbers for each node, edge or graph")
    return rows

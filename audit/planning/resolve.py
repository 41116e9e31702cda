"""What names and settings ask for: a graph, a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...graphs.collection import is_collection
from ...graphs.datasets.loading import load_dataset
from ...graphs.files.data_file import read_graph
from ...graphs.files.network_file import read_network
from ...graphs.pyg import data_of, is_plain, with_names
from ...registry import find
from ...targets.target import Target

if TYPE_CHECKING:
    from torch_geometric.data import Data


def graph_of(name: str, file: bool, draw_split: bool = True, plain: bool = False, timed: bool = False) -> Data:
    """A dataset by its name, or a graph file, with the name that it goes by.

    Args:
        name: of the dataset, or path of the file.
        file: which of the two it is.
        draw_split: draw a split where a file has none.
        plain: a network without features and labels will do.
        timed: its edges have times (`read_network`).

    Raises:
        InputError: it cannot be had.
    """
    data = (read_plain(name, timed) if plain else read_graph(name, draw_split)) if file else load_dataset(name)
    data.name = Path(name).name if file else name
    return data


def read_plain(path: str, timed: bool = False) -> Data:
    """A graph from a file that may have no features and labels, with its nodes' names.

    What was dropped is noted in ``remarks``.
    """
    read = read_network(path, directed="told", timed=timed)
    data = data_of(read.network) if read.x is None or read.y is None else read_graph(path)
    data.remarks = tuple(filter(None, [read.dropped.sentence]))
    return with_names(data, read.ids, read.type_names)


def target_of(name: str, preset: str, data: Data, *settings: dict[str, Any]) -> Target:
    """A target with its preset for a graph, and settings laid on it one after the other.

    Raises:
        InputError: there is no such target, or settings do not fit.
    """
    kind: type[Target] = find("targets", name)
    if is_plain(data) and not kind.plain:
        raise InputError(
            f"the target '{name}' trains on features and labels, and the graph has none: use --target publish, or "
            "another graph"
        )
    if is_collection(data) != kind.collections:
        raise InputError(_other_sort(name, kind))
    asked = kind.preset(preset, data)
    for over in settings:
        asked = merged(asked, over)
    return kind(**asked)


def _other_sort(name: str, kind: type[Target]) -> str:
    """What to do where a target is given a collection of graphs and takes one graph, or the reverse."""
    if kind.collections:
        return (
            f"the target '{name}' asks about whole graphs, and needs a collection of them: use --dataset "
            "molecules, ENZYMES or another collection, or --graph with a folder of TU files"
        )
    return (
        f"the target '{name}' asks about the nodes of one graph, and this is a collection of graphs: use --target "
        "graph-classifier, or another graph"
    )


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``base``, nested settings one by one."""
    laid = dict(base)
    for key, value in over.items():
        inner = laid.get(key)
        laid[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return laid

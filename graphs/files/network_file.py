"""A network from a file, and back."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..network import Ints, Network
from .data_file import first_line, write_whole
from .edge_list import ENDINGS, is_konect, read_edge_list, write_edge_list
from .graphml import read_graphml, write_graphml
from .interchange import read_gexf, read_gml, read_node_link
from .npz import read_npz, write_npz
from .other_readers import other_endings, other_reader, read_other
from .parquet import read_parquet
from .rows import Directed, Dropped, Rows, check_names, network_of
from .sparse_npz import is_sparse, read_sparse

TEXTS = (*ENDINGS, *(f"{ending}.gz" for ending in ENDINGS))


@dataclass(frozen=True, eq=False)
class ReadNetwork:
    """A network as it was read.

    Attributes:
        network: nodes 0 to n - 1.
        ids: what the file calls each node, [n].
        dropped: what the file told and the network does not hold.
        type_names: what the file calls each type of edge, or nothing.
        types_in_order: whether the file itself says in which order types come, and not just by their first edges.
        x: features [n, d] where the file has them.
        y: classes [n] where the file has them.
        unlisted: nodes that the file names as ends of edges alone.
        attributes: what else the file tells of nodes, by name; it was not read.
    """

    network: Network
    ids: tuple[str, ...]
    dropped: Dropped
    type_names: tuple[str, ...] = ()
    types_in_order: bool = False
    x: NDArray[Any] | None = None
    y: Ints | None = None
    unlisted: int = 0
    attributes: tuple[str, ...] = ()

    def in_order_of_ids(self) -> "ReadNetwork":
        """The same with nodes in an order that no edge has a part in: numbers by their size, then words.

        A file's first edges name its first nodes, and programs list nodes as edges named them: such an order, once
        published, tells of edges that are not.
        """
        order = sorted(range(len(self.ids)), key=lambda node: _as_counted(self.ids[node]))
        new = np.empty(len(order), dtype=np.int64)
        new[order] = np.arange(len(order))
        return replace(
            self,
            network=self.network.renamed(new),
            ids=tuple(self.ids[node] for node in order),
            x=None if self.x is None else self.x[order],
            y=None if self.y is None else self.y[order],
        )


def _as_counted(name: str) -> tuple[bool, int, str]:
    """Numbers by what they are, and then words."""
    number = name.isascii() and name.isdecimal()
    return not number, len(name) if number else 0, name


def read_network(path: str | os.PathLike[str], directed: Directed = "refuse", timed: bool = False) -> ReadNetwork:
    """Reads a network; self-loops and repeated edges are dropped and counted.

    - ``.txt``, ``.tsv``, ``.csv``, ``.edges``, also with ``.gz``: an edge list (`edge_list.read_edge_list`). Each
      edge may be there once, or in both directions.
    - ``out.NAME``: an edge list as KONECT has it.
    - ``.npz``: ``edge_index`` [2, e] and what goes with it (`npz.read_npz`), or a sparse adjacency as
      ``scipy.sparse.save_npz`` writes it (`sparse_npz.read_sparse`).
    - ``.graphml``: `graphml.read_graphml`; ``.gexf``, ``.gml`` and node-link ``.json``: `interchange`.
    - ``.parquet``: a table of edges (`parquet.read_parquet`).
    - any other ending that an installed package has a reader for (``gaudit.readers``).

    Of rows that tell the same edge the first gives the weight; where rows have times each is an event of the edge.
    An edge list of 400,000 rows takes about 0.5 s, and up to 250 bytes of memory a row at its peak.

    Args:
        path: of the file; its ending says what it is.
        directed: what becomes of directed edges of which some lack their reverse: ``refuse`` where the file leaves
            no doubt (GraphML with directed edges, an ``edge_index`` of which some, but not all, edges have their
            reverse), ``merge``, ``told`` (kept where the file says that it is directed, or where some, but not all,
            edges have their reverse), or ``keep`` (every row is one direction, unless the file says that it is
            undirected).
        timed: whether a lone third column of numbers without a name holds times; other times are told by the name
            of their column, or as they are dates or seconds since 1970.

    Raises:
        InputError: the file cannot be read or holds no usable network; one line that names the file, and the line
            or the field in it.
    """
    path = Path(path)
    read = _reader(path, timed)
    if not path.is_file():
        raise InputError(f"{path}: {'this is a folder: name a file' if path.is_dir() else 'no such file'}")
    try:
        rows = read(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or first_line(error)}") from error
    network, dropped = network_of(rows, str(path), directed)
    told: dict[str, Any] = {
        name: getattr(rows, name)
        for name in ("ids", "type_names", "types_in_order", "x", "y", "unlisted", "attributes")
    }
    return ReadNetwork(network, dropped=dropped, **told)


def write_network(
    network: Network,
    path: str | os.PathLike[str],
    ids: Sequence[str] | None = None,
    type_names: Sequence[str] = (),
    x: NDArray[Any] | None = None,
    y: NDArray[Any] | None = None,
) -> None:
    """Writes a network to a file that `read_network` reads the same from.

    The file appears complete or not at all; one of the same name is replaced.

    Args:
        network: what to write.
        path: of the file; its ending says what becomes of it.
        ids: of the first nodes or of all; nodes behind them are called ``added-1`` and so on. By default nodes are
            called by their number.
        type_names: what types are called; by default ``type-0`` and so on in files that name types.
        x: features [n, d], to .npz and .graphml only.
        y: classes [n], to .npz and .graphml only.

    Raises:
        InputError: there are no edges, ids or names are unusable, the file cannot hold what there is to write, or
            it cannot be written.
    """
    path = Path(path)
    kind = _kind(path, _WRITERS)
    if not network.size and network.counts is None:
        raise InputError(f"{path}: not written: the result has no edges, and a file of edges needs one")
    ids = tuple(map(str, range(network.nodes))) if ids is None else ids_with_added(ids, network.nodes)
    check_names(ids, "id", f"{path}: not written")
    names = _type_names(network, type_names, kind, path)
    _check_fits(network, x, y, kind, path)
    if kind == "text":
        write_whole(path, lambda stream: write_edge_list(stream, path, network, ids, names))
    else:
        write_whole(path, lambda stream: _WRITERS[kind](stream, network, ids, names, x, y))


def check_destination(path: str | os.PathLike[str], tells: Collection[str] = ()) -> None:
    """Refuses before the work a file that could not be written after it.

    Args:
        path: of the file; its ending says what becomes of it.
        tells: what the network will tell besides its edges ("groups", "counts").

    Raises:
        InputError: the ending is unknown, or such files cannot hold that.
    """
    path = Path(path)
    _refuse_lost(tells, _kind(path, _WRITERS), path)


def ids_with_added(ids: Sequence[str], nodes: int) -> tuple[str, ...]:
    """Ids of all nodes where some were added behind those that have one: ``added-1`` and so on, none twice.

    Raises:
        InputError: there are more ids than nodes.
    """
    if len(ids) > nodes:
        raise InputError(
            f"{len(ids)} ids for {nodes} nodes: expected one for each, or fewer where nodes were added"
        )
    taken, fresh, number = set(ids), list(ids), 0
    while len(fresh) < nodes:
        number += 1
        if f"added-{number}" not in taken:
            fresh.append(f"added-{number}")
    return tuple(fresh)


def _reader(path: Path, timed: bool) -> Callable[[Path], Rows]:
    other = None if _is_ours(path) else other_reader(path)
    if other is not None:
        return partial(read_other, name=other)
    kind = "text" if is_konect(path) and not _is_ours(path) else _kind(path, _READERS, other_endings())
    return partial(read_edge_list, timed=timed) if kind == "text" else _READERS[kind]


def is_readable(name: str) -> bool:
    """Whether a name is that of a network file that is read here: by its ending, or as KONECT calls edge lists."""
    return _is_ours(Path(name)) or is_konect(Path(name))


def _is_ours(path: Path) -> bool:
    return path.name.lower().endswith((*TEXTS, *_READERS))


def _kind(path: Path, known: Collection[str], others: Sequence[str] = ()) -> str:
    if path.name.lower().endswith(TEXTS):
        return "text"
    if path.suffix.lower() in known:
        return path.suffix.lower()
    raise InputError(f"{path}: unknown kind of network file: expected {', '.join((*TEXTS, *known, *others))}")


def _type_names(network: Network, names: Sequence[str], kind: str, path: Path) -> tuple[str, ...]:
    """Names of all types, made up where the file needs some."""
    numbers = network.types if network.counts is None else network.counts[:, 2]
    if numbers is None:
        return ()
    count = int(numbers.max(initial=-1)) + 1
    if not names and kind != ".npz":
        return tuple(f"type-{k}" for k in range(count))
    if names and len(names) < count:
        raise InputError(f"{path}: not written: {len(names)} names of types, expected {count}")
    check_names(names, "type", f"{path}: not written")
    return tuple(names)


def _check_fits(network: Network, x: Any, y: Any, kind: str, path: Path) -> None:
    """Refuses what would be lost in the file, or could not be read from it."""
    told = {"features": x, "classes": y, "groups": network.groups, "counts": network.counts}
    told["times"] = network.events
    if network.events is not None and len(np.unique(network.events.edge)) < network.size:
        raise InputError(f"{path}: not written: some edges have times and others none")
    _refuse_lost([name for name, there in told.items() if there is not None], kind, path)
    for name in ("features", "classes"):
        if told[name] is not None and len(told[name]) != network.nodes:
            raise InputError(f"{path}: not written: {name} of {len(told[name])} nodes, expected {network.nodes}")
    if network.weights is not None and not np.isfinite(network.weights).all():
        raise InputError(f"{path}: not written: a weight is NaN or infinite")


def _refuse_lost(tells: Collection[str], kind: str, path: Path) -> None:
    """Refuses what a kind of file has no place for."""
    lost = {".npz": set[str](), ".graphml": {"groups", "counts", "times"}}
    given = sorted(lost.get(kind, {"features", "classes", "groups", "counts"}).intersection(tells))
    if given:
        raise InputError(f"{path}: not written: the file could not hold {' and '.join(given)}: choose .npz")


def _read_archive(path: Path) -> Rows:
    return read_sparse(path) if is_sparse(path) else read_npz(path)


_READERS = {
    ".npz": _read_archive,
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".json": read_node_link,
    ".parquet": read_parquet,
}
_WRITERS = {".npz": write_npz, ".graphml": write_graphml}

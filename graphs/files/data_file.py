"""A user's own graph: NumPy archives and GraphML files, both untrusted."""

import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, one_line, quoted
from ...output_files import whole
from ...untrusted import check_memory
from ..masks import MASKS, SPLIT_DRAWN
from ..pair_codes import distinct
from .other_readers import other_endings, other_reader, read_other
from .rows import MOST_EDGES, MOST_NODES, Dropped, RowDirections

if TYPE_CHECKING:  # torch takes seconds to import, and a network without features is read without it
    import torch
    from torch_geometric.data import Data

MOST_FEATURE_BYTES = 8 << 30
MOST_GRAPHML_BYTES = 512 << 20

MOST_DIRECTORY_BYTES = 1 << 20
NPZ_MEMORY = 3
"""Bytes of memory that a byte of an array takes at most, with the copies that are made of it."""
ELEMENT_MEMORY = 2500
"""Bytes of memory that an element or an attribute of a GraphML file takes at most."""
XML_MEMORY = 6
"""The same for a byte of it."""
MOST_NESTED = 100
HOLDERS = "holders"
"""The array that says which client holds which node."""

Array = NDArray[Any]
Shape = tuple[int, ...]


def read_graph(path: str | os.PathLike[str], draw_split: bool = True) -> "Data":
    """Reads and checks a graph from a file.

    - ``.npz``: arrays ``x`` [N, d] numeric, ``y`` [N] integer, ``edge_index`` [2, E] integer and optionally
      ``train_mask``, ``val_mask``, ``test_mask`` [N] boolean, and ``holders`` [N], the number of the client that
      holds each node, -1 for none. Never unpickled.
    - ``.graphml``: node attributes ``label`` (integer classes, or strings, which are numbered in sorted
      order), features as numbers ``x0`` .. ``x{d-1}`` or as one string ``x`` of numbers between blanks, and
      optionally ``split`` (``train``, ``val`` or ``test``; other nodes are in none).
      Nodes keep the file's order.
    - a folder with files of TU Dortmund's kind: a collection of graphs, see `read_tu_folder`.
    - any other ending that an installed package has a reader for (``gaudit.readers``).

    Without any mask or split a split in the manner of Planetoid is drawn with seed 0, unless ``draw_split``
    is False: then masks are required.

    Returns:
        What ``check_graph`` returns, and in ``remarks`` how many loops and repeated edges were dropped, and how
        many directed edges made undirected.

    Raises:
        InputError: the file cannot be read, is too large, or does not hold a usable graph.
    """
    from ..checks import check_graph, spread_masks

    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    readers = {".npz": _read_npz, ".graphml": _read_graphml}
    other = None if path.suffix.lower() in readers else other_reader(path)
    read = readers.get(path.suffix.lower()) if other is None else partial(_read_by_others, name=other)
    if read is None:
        known = " or ".join([*readers, *other_endings()])
        raise InputError(f"{path}: unknown kind of graph file: expected {known}")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        data, directed = read(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or first_line(error)}") from error
    given = [name for name in MASKS if name in data]
    if given and len(given) < len(MASKS):
        missing = ", ".join(name for name in MASKS if name not in data)
        raise InputError(f"{path}: {', '.join(given)} given but {missing} missing: give all three masks or none")
    if not given:
        if not draw_split:
            raise InputError(
                f"{path}: has no masks: give train_mask, val_mask and test_mask, they are the truth here"
            )
        data = spread_masks(data, seed=0, source=str(path))
    checked = check_graph(data, str(path))
    if not given:
        checked[SPLIT_DRAWN] = True
    if HOLDERS in data:
        checked[HOLDERS] = _holders(data[HOLDERS], len(checked.y), str(path))
    checked.remarks = _edge_remarks(data, checked.edge_index.shape[1] // 2, directed)
    return checked


def _read_folder(path: Path) -> "Data":
    """A collection of graphs."""
    from .tu_folder import is_tu_folder, read_tu_folder

    if not is_tu_folder(path):
        raise InputError(
            f"{path}: this is a folder: name a file, or a folder with a collection of graphs (NAME_A.txt, "
            "NAME_graph_indicator.txt, NAME_graph_labels.txt)"
        )
    return read_tu_folder(path)


def _holders(found: "torch.Tensor", nodes: int, source: str) -> "torch.Tensor":
    """Holders [N], one for each node."""
    if found.shape != (nodes,) or (nodes and int(found.min()) < -1):
        raise InputError(
            f"{source}: '{HOLDERS}' must hold a number from 0, or -1 for nobody, for each of {nodes} nodes"
        )
    return found


def _read_by_others(path: Path, name: str) -> tuple["Data", RowDirections]:
    """A graph to learn from, of a kind of file that another package reads."""
    import torch
    from torch_geometric.data import Data

    rows = read_other(path, name)
    if rows.x is None or rows.y is None:
        missing = "features" if rows.x is None else "classes"
        raise InputError(f"{path}: has no {missing}, which a graph to learn from needs")
    ends = torch.from_numpy(np.stack([rows.one, rows.other]).astype(np.int64))
    x, y = (torch.from_numpy(np.ascontiguousarray(array)) for array in (rows.x, rows.y))
    return Data(x=x.float(), y=y.long(), edge_index=ends), rows.directed


def _edge_remarks(data: "Data", edges: int, directed: RowDirections) -> tuple[str, ...]:
    """What of a file's rows a graph to learn from does not hold; most files tell edges in both directions.

    Counted as `network_of` counts it, without a network's being made.
    """
    one, other = data.edge_index.numpy()
    proper = one != other
    rows = int(proper.sum())
    arcs = len(distinct((one * len(data.y) + other)[proper]))
    both = arcs - edges
    led = directed in ("yes", "in-words") or (directed in ("if-mixed", "unsaid") and both > 0)
    dropped = Dropped(loops=len(one) - rows, parallel=rows - arcs, merged=edges - both if led else 0)
    return tuple(filter(None, [dropped.sentence]))


def write_graph(data: "Data", path: str | os.PathLike[str]) -> None:
    """Writes a graph's features, labels, edges and masks to an ``.npz`` file that ``read_graph`` reads.

    The file appears complete or not at all; one of the same name is replaced.

    Raises:
        InputError: the name does not end in ``.npz``, the folder cannot be written, or the graph is unusable.
    """
    from ..checks import check_graph

    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path}: graphs are written as .npz: choose such a name")
    checked = check_graph(data, f"graph for {path}")
    arrays = {name: checked[name].cpu().numpy() for name in ("x", "y", "edge_index", *MASKS)}
    if HOLDERS in data:
        arrays[HOLDERS] = _holders(data[HOLDERS], len(checked.y), f"graph for {path}").cpu().numpy()
    write_whole(path, lambda stream: np.savez_compressed(stream, **arrays))


def write_whole(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Writes a file that appears complete or not at all; one of the same name is replaced.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    with whole(path) as part, part.open("wb") as stream:
        write(stream)


def first_line(error: Exception) -> str:
    """The first line of a foreign error, shortened."""
    return one_line((str(error).splitlines() or [type(error).__name__])[0], 200)


def _read_npz(path: Path) -> tuple["Data", RowDirections]:
    from torch_geometric.data import Data

    def check(name: str, shape: Shape, dtype: np.dtype[Any]) -> None:
        _check_header(name, shape, dtype, path)

    fields = arrays_of(path, ("x", "y", "edge_index", *MASKS, HOLDERS), check)
    made = {name: _to_tensor(fields.pop(name), name, path) for name in list(fields)}  # none is held twice
    return Data.from_dict(made), "if-mixed"


def arrays_of(
    path: Path, names: Iterable[str], check: Callable[[str, Shape, np.dtype[Any]], None]
) -> dict[str, Array]:
    """Those of some arrays that an archive holds. Never unpickled; other arrays are left alone.

    Args:
        path: of the archive.
        names: of the arrays.
        check: refuses an array by its name, shape and type, before memory is set aside for any.

    Raises:
        InputError: damaged, no archive, or too large.
    """
    with damage_refused(path):
        check_directory(path)
        with zipfile.ZipFile(path) as archive:
            held = set(archive.namelist())
            found = [name for name in names if f"{name}.npy" in held]
            size = 0
            for name in found:
                shape, dtype = _array_header(archive, name)
                check(name, shape, dtype)
                size += math.prod(shape) * dtype.itemsize
            check_memory(f"{path}: its arrays", NPZ_MEMORY * size)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in found}


@contextmanager
def damage_refused(path: Path) -> Iterator[None]:
    """Makes one line of what a damaged archive, or none at all, raises while it is read."""
    try:
        yield
    except (InputError, OSError):
        raise
    except Exception as error:  # zipfile, zlib, numpy and the parser of its headers have errors of many kinds
        raise InputError(f"{path}: truncated or not an npz archive: {first_line(error)}") from error


def check_directory(path: Path) -> None:
    """Refuses an archive with a list of members that takes much to read: an array has one entry in it."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - (1 << 16) - 64))
        tail = stream.read()
    end = tail.rfind(b"PK\5\6")
    listed = int.from_bytes(tail[end + 12 : end + 16], "little") if end >= 0 else 0
    if listed > MOST_DIRECTORY_BYTES or (b"PK\6\7" in tail and size < (1 << 31)):
        raise InputError(f"{path}: not an npz archive of a graph: it lists too many members")


def _array_header(archive: zipfile.ZipFile, name: str) -> tuple[Shape, np.dtype[Any]]:
    """Shape and type of an array in an archive."""
    with archive.open(f"{name}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        old = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    if any(type(size) is not int or size < 0 for size in shape):  # a bool is an int to others
        raise ValueError(f"the array '{name}' has the shape {shape}")
    return shape, dtype


def _check_header(name: str, shape: Shape, dtype: np.dtype[Any], path: Path) -> None:
    """Refuses an array by its header."""
    if dtype.kind not in ("b" if name in MASKS else "biuf"):
        expected = "booleans" if name in MASKS else "numbers"
        raise InputError(f"{path}: array '{name}' has type {dtype}: expected {expected}")
    _check_size(path, name, shape)


def _check_size(path: Path, name: str, shape: Sequence[int]) -> None:
    """Limits counted in what the array takes once it is in memory."""
    count = math.prod(shape)
    most = {"x": MOST_FEATURE_BYTES // 4, "edge_index": 2 * MOST_EDGES}.get(name, MOST_NODES)
    if count > most or (name == "x" and shape and shape[0] > MOST_NODES):
        raise InputError(
            f"{path}: array '{name}' of shape {tuple(shape)} is too large: at most {MOST_NODES} nodes, "
            f"{MOST_EDGES} edges and {MOST_FEATURE_BYTES >> 30} GiB of features are read"
        )


def _to_tensor(array: Array, name: str, path: Path) -> "torch.Tensor":
    import torch

    if name in MASKS:
        return torch.from_numpy(array)
    if name == "x":
        with np.errstate(over="ignore"):  # too large for float32: reported as infinite by check_graph
            return torch.from_numpy(array.astype(np.float32, copy=False))
    if array.dtype.kind not in "iu":
        raise InputError(f"{path}: array '{name}' has type {array.dtype}: expected integers")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(f"{path}: array '{name}' holds numbers beyond 64-bit integers")
    return torch.from_numpy(array.astype(np.int64, copy=False))


def parsed_xml(path: Path, kind: Literal["GraphML", "GEXF"]) -> Any:
    """The ``networkx`` graph of a file that holds nodes; directed, or with parallel edges, as it is there.

    Raises:
        InputError: the file is too large, nested too deep, declares a document type or entities, or holds no
            readable graph.
    """
    import networkx as nx

    if path.stat().st_size > MOST_GRAPHML_BYTES:
        raise InputError(f"{path}: larger than {MOST_GRAPHML_BYTES >> 20} MiB: convert it to .npz")
    declared = _declared_nodes(path)
    try:
        graph = nx.read_graphml(path) if kind == "GraphML" else nx.read_gexf(path)
    except Exception as error:  # the reader answers malformed documents with errors of many kinds
        raise InputError(
            f"{path}: not a readable {kind} graph: {type(error).__name__}: {first_line(error)}"
        ) from error
    if graph.number_of_nodes() == 0:
        raise InputError(f"{path}: holds no nodes")
    unknown = next((str(node) for node in graph if str(node) not in declared), None)
    if unknown is not None:
        raise InputError(
            f"{path}: an edge names the node {quoted(unknown)}, which the file does not declare: "
            "give every node an element <node>"
        )
    return graph


def _read_graphml(path: Path) -> tuple["Data", RowDirections]:
    import torch
    from torch_geometric.data import Data

    graph = parsed_xml(path, "GraphML")
    nodes = dict(graph.nodes(data=True))
    number = {node: i for i, node in enumerate(nodes)}
    ends = [(number[u], number[v]) for u, v in graph.edges()]
    data = Data(
        x=graphml_features(nodes, path),
        y=graphml_labels(nodes, path),
        edge_index=torch.tensor(ends, dtype=torch.long).reshape(-1, 2).T.contiguous(),
    )
    return data.update(_graphml_masks(nodes, path)), "yes" if graph.is_directed() else "no"


def _declared_nodes(path: Path) -> set[str]:
    """Ids of the nodes that the file declares.

    Refuses broken XML, document type declarations, whose entities could expand without end, and too much of it.

    The file is read in parts, and nothing else of it is kept: what it takes is known before memory is set aside.
    """
    parts = depth = 0
    nodes: set[str] = set()

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal parts, depth
        if name.rpartition(":")[2] == "node":
            nodes.add(attributes.get("id", ""))
        parts, depth = parts + 1 + len(attributes), depth + 1
        if depth > MOST_NESTED:
            raise InputError(f"{path}: elements are nested deeper than {MOST_NESTED}: not a GraphML graph")
        if not parts % 4096:
            check_room()

    def check_room() -> None:
        check_memory(f"{path}: its elements", ELEMENT_MEMORY * parts + XML_MEMORY * path.stat().st_size)

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> None:
        raise InputError(f"{path}: holds a DOCTYPE or ENTITY declaration, which is refused: remove it")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    try:
        with path.open("rb") as stream:
            parser.ParseFile(stream)
        check_room()
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: truncated or broken XML: {first_line(error)}") from error
    return nodes


Nodes = Mapping[str, Mapping[str, Any]]


def is_numbered(name: str) -> bool:
    """Whether an attribute of a node is one of several features: x0, x1, .."""
    return name[:1] == "x" and name[1:].isdecimal()


def graphml_features(nodes: Nodes, path: Path) -> "torch.Tensor":
    """Features [N, d], from one string per node or from numbered attributes."""
    import torch

    first = next(iter(nodes.values()))
    if any("x" in values for values in nodes.values()):

        def row(values: Mapping[str, Any]) -> Sequence[Any]:
            return str(values.get("x", "")).split()
    else:
        names = [f"x{i}" for i in range(sum(map(is_numbered, first)))]
        _check_numbered(nodes, names, path)

        def row(values: Mapping[str, Any]) -> Sequence[Any]:
            return [values[name] for name in names]

    width = len(row(first))
    if not width and not any(map(row, nodes.values())):
        raise InputError(f"{path}: nodes have no features: give a string 'x' of numbers, or numbers x0, x1, ..")
    check_memory(f"{path}: features of {len(nodes)} nodes and width {width}", 8 * len(nodes) * width)
    features = np.empty((len(nodes), width), dtype=np.float32)
    with np.errstate(over="ignore"):  # too large for float32: reported as infinite by check_graph
        for place, (node, values) in enumerate(nodes.items()):
            features[place] = _numbers(row(values), node, width, path)
    return torch.from_numpy(features)


def _check_numbered(nodes: Nodes, names: Sequence[str], path: Path) -> None:
    """Refuses nodes with other features than these: what is left out would be missed by nobody."""
    expected = set(names)
    for node, values in nodes.items():
        odd = min(set(filter(is_numbered, values)) ^ expected, default=None)
        if odd is not None:
            fault = "has" if odd in values else "lacks"
            raise InputError(
                f"{path}: node {quoted(node)} {fault} a feature {quoted(odd)}, and the first node has "
                f"{len(names)} features: give every node as many, called x0, x1, .."
            )


def _numbers(row: Sequence[Any], node: str, width: int, path: Path) -> list[float]:
    if len(row) != width:
        raise InputError(f"{path}: node {quoted(node)} has {len(row)} features, the first node has {width}")
    try:
        return [float(value) for value in row]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path}: node {quoted(node)} has a feature that is no number: {first_line(error)}"
        ) from error


def graphml_labels(nodes: Nodes, path: Path) -> "torch.Tensor":
    """Classes [N]: integers as they are, strings numbered in sorted order."""
    import torch

    for node, values in nodes.items():
        if "label" not in values:
            raise InputError(f"{path}: node {quoted(node)} has no attribute 'label': give every node one")
    labels = [values["label"] for values in nodes.values()]
    kinds = {type(label) for label in labels}
    if kinds == {str}:
        number = {label: i for i, label in enumerate(sorted(set(labels)))}
        labels = [number[label] for label in labels]
    elif kinds != {int}:
        raise InputError(f"{path}: attribute 'label' must be all integers or all strings")
    if max(map(abs, labels)) > MOST_NODES:
        raise InputError(f"{path}: attribute 'label' goes beyond {MOST_NODES}: number the classes from 0")
    return torch.tensor(labels, dtype=torch.long)


def _graphml_masks(nodes: Nodes, path: Path) -> dict[str, "torch.Tensor"]:
    """The three masks, or nothing when no node has a split."""
    import torch

    splits = [values.get("split", "") for values in nodes.values()]
    if not any(splits):
        return {}
    for node, split in zip(nodes, splits, strict=True):
        if split not in ("", "train", "val", "test"):
            raise InputError(f"{path}: node {quoted(node)} has split {quoted(split)}: expected train, val or test")
    return {name: torch.tensor([f"{split}_mask" == name for split in splits]) for name in MASKS}

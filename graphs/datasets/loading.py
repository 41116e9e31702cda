"""Graphs by name: bundled ones, and real ones through PyG's own classes.

The folder named by ``GAUDIT_DATA`` holds raw files in PyG's layout. It is only read. Its contents are trusted
as much as PyG's own downloads, which is more than a user's graph file is: the files of Cora, CiteSeer and
PubMed are pickles, which PyG's loader opens.
"""

import contextlib
import hashlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

BUNDLED = {
    "citations": "synthetic citation network: 2,708 nodes, 7 classes, matched to Cora (the default)",
    "digits": "1,797 handwritten digits (scikit-learn), 5 nearest neighbours, 10 classes",
    "patients": "569 breast-cancer patients (scikit-learn), 5 nearest neighbours, 2 classes",
    "karate": "Zachary's karate club: 34 nodes, 4 communities, no features (identity)",
    "messages": "synthetic messages with times: 200 people, 100 days, a network without features",
    "planted": "random labels and nearly orthogonal features, 450 nodes: for positive controls",
    "planted-network": "an uneven random network of 120 nodes without features: for positive controls",
    "planted-attributes": "coins as features, random labels and edges, 300 nodes: for positive controls",
    "planted-links": "thirty cliques that neither labels nor features tell of, 120 nodes: for positive controls",
    "molecules": "synthetic molecules: a collection of 400 graphs, 2 classes",
    "planted-graphs": "random labels, 300 graphs of four nodes with words of their own: for positive controls",
}
TOGETHER = ("molecules", "planted-graphs")
"""Bundled ones that are collections of graphs."""

PLANETOID = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


@dataclass(frozen=True)
class Source:
    """How a dataset is read by PyG.

    Attributes:
        summary: one line for lists.
        loader: name of the class in ``torch_geometric.datasets``.
        folder: folder in which PyG's layout puts ``raw``.
        files: names in ``raw`` that the class needs.
        argument: the name that the class takes after ``root``; without one ``root`` is ``folder`` itself.
    """

    summary: str
    loader: str
    folder: str
    files: tuple[str, ...]
    argument: str | None = None


def _planetoid(name: str, summary: str) -> Source:
    files = tuple(f"ind.{name.lower()}.{part}" for part in PLANETOID)
    return Source(summary, "Planetoid", name, files, argument=name)


DOWNLOADED = {
    "Cora": _planetoid("Cora", "citations: 2,708 nodes, 7 classes, public split"),
    "CiteSeer": _planetoid("CiteSeer", "citations: 3,327 nodes, 6 classes, public split"),
    "PubMed": _planetoid("PubMed", "citations: 19,717 nodes, 3 classes, public split"),
    "Cora_ML": Source(
        "citations: 2,995 nodes, 7 classes",
        "CitationFull",
        "cora_ml",
        ("cora_ml.npz",),
        "Cora_ML",
    ),
    "Photo": Source(
        "bought together: 7,650 nodes, 8 classes",
        "Amazon",
        "Photo",
        ("amazon_electronics_photo.npz",),
        "Photo",
    ),
    "Computers": Source(
        "bought together: 13,752 nodes, 10 classes",
        "Amazon",
        "Computers",
        ("amazon_electronics_computers.npz",),
        "Computers",
    ),
    "CS": Source("co-authors: 18,333 nodes, 15 classes", "Coauthor", "CS", ("ms_academic_cs.npz",), "CS"),
    "Physics": Source(
        "co-authors: 34,493 nodes, 5 classes",
        "Coauthor",
        "Physics",
        ("ms_academic_phy.npz",),
        "Physics",
    ),
    "Actor": Source(
        "actors on the same page: 7,600 nodes, 5 classes, heterophilous, first of 10 splits",
        "Actor",
        "Actor",
        (
            "out1_node_feature_label.txt",
            "out1_graph_edges.txt",
            *(f"film_split_0.6_0.2_{i}.npz" for i in range(10)),
        ),
    ),
    "Tolokers": Source(
        "workers on the same task: 11,758 nodes, 2 classes, first of 10 splits",
        "HeterophilousGraphDataset",
        "tolokers",
        ("tolokers.npz",),
        "Tolokers",
    ),
    "PolBlogs": Source(
        "political blogs: 1,490 nodes, 2 classes, no features (identity)",
        "PolBlogs",
        "PolBlogs",
        ("adjacency.tsv", "labels.tsv"),
    ),
    "Flickr": Source(
        "images: 89,250 nodes, 7 classes, inductive split",
        "Flickr",
        "Flickr",
        ("adj_full.npz", "feats.npy", "class_map.json", "role.json"),
    ),
    "Reddit": Source(
        "posts: 232,965 nodes, 41 classes, inductive split",
        "Reddit",
        "Reddit",
        ("reddit_data.npz", "reddit_graph.npz"),
    ),
}


NETWORKS = {
    "facebook_combined": "friendships: 4,039 nodes, 88,234 edges, a network without features",
    "email-Enron": "e-mails: 36,692 nodes, 183,831 edges, a network without features",
    "CollegeMsg": "messages with times: 1,899 nodes, 13,838 edges, 59,835 messages, a network without features",
    "email-Eu-core-temporal": "e-mails with times: 986 nodes, 16,064 edges, 332,334 e-mails, without features",
    "ca-GrQc": "co-authors: 5,242 nodes, 14,484 edges, a network without features",
    "ca-HepTh": "co-authors: 9,877 nodes, 25,973 edges, a network without features",
    "email-Eu-core": "e-mails of a research institute: 1,005 nodes, 16,064 linked pairs, directed",
    "wiki-Vote": "votes for administrators: 7,115 nodes, 100,762 linked pairs, directed",
    "soc-Epinions1-undirected-lcc": "trust: 75,877 nodes, 405,739 edges, a network without features",
}
"""Networks of SNAP's collection, read from edge lists in ``snap`` of the folder with raw files."""


COLLECTIONS = {
    "MUTAG": "molecules: a collection of 188 graphs, 2 classes",
    "ENZYMES": "proteins: a collection of 600 graphs, 6 classes, all attributes of nodes",
    "Mutagenicity": "molecules: a collection of 4,337 graphs, 2 classes",
}
"""Collections of TU Dortmund, read from ``tu`` of the folder with raw files."""


def dataset_names() -> dict[str, str]:
    """Every name that ``load_dataset`` knows, bundled ones first, with a description in one line."""
    return BUNDLED | {name: source.summary for name, source in DOWNLOADED.items()} | NETWORKS | COLLECTIONS


def load_dataset(name: str, root: str | os.PathLike[str] | None = None) -> "Data":
    """Loads a graph by name, in any spelling of upper and lower case.

    Features are as PyG gives them; nothing is normalised. Planetoid graphs keep the public split, Actor and
    Tolokers the first of theirs; graphs without a split get one in the manner of Planetoid, drawn with seed 0.

    Args:
        name: one of ``dataset_names()``.
        root: folder with raw files in PyG's layout, by default the one named by ``GAUDIT_DATA``. Trusted as
            PyG's own downloads are: Planetoid files are pickles. Nothing is written there: PyG works on links
            in the cache (``GAUDIT_CACHE``, or ``gaudit`` in ``XDG_CACHE_HOME`` or ``~/.cache``).

    Returns:
        A graph as returned by ``check_graph``; a network without features as by ``network_data.data_of``, a
        collection of graphs as by ``collection.collection_of``.

    Raises:
        InputError: an unknown name, unreadable raw files, or neither raw files nor a download.
    """
    found = {known.casefold(): known for known in dataset_names()}.get(name.casefold())
    if found is None:
        raise unknown_name("dataset", name, dataset_names())
    if found in BUNDLED:
        from . import bundled, bundled_collections

        called = found.replace("-", "_")
        graph: Data = getattr(bundled_collections if found in TOGETHER else bundled, called)()
        return graph
    root = root or os.environ.get("GAUDIT_DATA") or None
    if found in NETWORKS:
        return _network(found, Path(root) if root else None)
    if found in COLLECTIONS:
        return _collection(found, Path(root) if root else None)
    return _finished(_through_pyg(found, Path(root) if root else None), found)


def _network(name: str, root: Path | None) -> "Data":
    """An edge list as a graph without features."""
    from ..files.network_file import read_network
    from ..pyg import data_of

    file = Path("snap") / f"{name}.txt.gz"
    if root is None or not (root / file).is_file():
        raise InputError(f"dataset '{name}' is not here: set GAUDIT_DATA to a folder that holds {file}")
    return data_of(read_network(root / file, directed="told", timed=True).network)


def _collection(name: str, root: Path | None) -> "Data":
    """A collection of graphs, from its raw files."""
    from ..files.tu_folder import read_tu_folder

    folder = Path("tu") / name / "raw"
    if root is None or not (root / folder).is_dir():
        raise InputError(f"dataset '{name}' is not here: set GAUDIT_DATA to a folder that holds {folder}")
    return read_tu_folder(root / folder)


def _finished(data: "Data", name: str) -> "Data":
    """Fills in what PyG leaves to the user: features and one split."""
    import torch

    from ..checks import check_graph, spread_masks
    from ..masks import MASKS

    if getattr(data, "x", None) is None:
        data.x = torch.eye(int(data.num_nodes or 0))
    for mask in MASKS:
        if mask in data and data[mask].dim() == 2:
            data[mask] = data[mask][:, 0]
    if MASKS[0] not in data:
        data = spread_masks(data, seed=0, source=name)
    return check_graph(data, name)


def _through_pyg(name: str, root: Path | None) -> "Data":
    """The graph as PyG reads it, from the cache or else from raw files or a download."""
    raw = _raw_files(name, root)
    kept = _cache() / f"{name}-{_fingerprint(raw) if raw else 'download'}"
    if kept.is_dir():
        try:
            return _opened(name, kept)
        except Exception as error:  # PyG's readers answer damaged files with errors of many kinds
            raise InputError(
                f"dataset '{name}': the cached copy {kept} is unreadable ({_line(error)}): delete that folder"
            ) from error
    with _workshop(kept) as folder:
        if raw:
            return _from_raw(name, raw, folder)
        return _from_download(name, root, folder)


def _from_raw(name: str, raw: list[Path], folder: Path) -> "Data":
    inside = folder / DOWNLOADED[name].folder / "raw"
    inside.mkdir(parents=True)
    for path in raw:
        _link(path, inside / path.name)
    try:
        return _opened(name, folder)
    except Exception as error:
        raise InputError(
            f"dataset '{name}': the raw files in {raw[0].parent} are damaged or of another kind "
            f"({type(error).__name__}: {_line(error)}): fetch them again"
        ) from error


def _from_download(name: str, root: Path | None, folder: Path) -> "Data":
    try:
        return _opened(name, folder)
    except Exception as error:
        paths = _raw_paths(name, root or Path("<folder>"))
        missing = next((path for path in paths if not path.is_file()), paths[0])
        raise InputError(
            f"dataset '{name}' is not here and its download failed ({type(error).__name__}: {_line(error)}): "
            f"set GAUDIT_DATA to a folder with PyG's raw layout ({missing} is missing), or allow the download"
        ) from error


def _opened(name: str, folder: Path) -> "Data":
    """PyG's class at work in ``folder``, with its prints sent to stderr and no endless wait for a server."""
    import torch_geometric.datasets

    source = DOWNLOADED[name]
    kind: Any = getattr(torch_geometric.datasets, source.loader)
    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(30)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            dataset = kind(str(folder), source.argument) if source.argument else kind(str(folder / source.folder))
    finally:
        socket.setdefaulttimeout(patience)
    graph: Data = dataset[0]
    return graph


def _raw_files(name: str, root: Path | None) -> list[Path]:
    """The dataset's raw files below ``root``; none unless all are there."""
    if root is None:
        return []
    if not root.is_dir():
        raise InputError(f"dataset '{name}': {root} (GAUDIT_DATA) is no folder: name one with PyG's raw layout")
    paths = _raw_paths(name, root.resolve())
    return paths if all(path.is_file() for path in paths) else []


def _raw_paths(name: str, root: Path) -> list[Path]:
    return [root / DOWNLOADED[name].folder / "raw" / file for file in DOWNLOADED[name].files]


def _fingerprint(raw: list[Path]) -> str:
    """Changes with the place, names, sizes and times of the raw files."""
    lines = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in raw]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _link(path: Path, target: Path) -> None:
    try:
        target.symlink_to(path)
    except OSError:  # file systems and accounts without symbolic links
        shutil.copyfile(path, target)


def _cache() -> Path:
    given = os.environ.get("GAUDIT_CACHE")
    if given:
        return Path(given)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "gaudit"


@contextlib.contextmanager
def _workshop(kept: Path) -> Iterator[Path]:
    """A folder to build in, which becomes ``kept`` at the end of the block, or disappears after an error.

    When another process was faster its folder stays, which holds the same.
    """
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{kept.name}-", dir=kept.parent))
    except OSError as error:
        raise InputError(
            f"cache folder {kept.parent} cannot be written ({error.strerror}): set GAUDIT_CACHE to another"
        ) from error
    try:
        yield folder
        with contextlib.suppress(OSError):
            folder.rename(kept)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _line(error: Exception) -> str:
    """The first line of a foreign error."""
    return (str(error).splitlines() or [type(error).__name__])[0]

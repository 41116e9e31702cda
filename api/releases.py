"""Audits of what was released or published already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..audit.planning.plan import is_file
from ..audit.planning.resolve import graph_of
from ..errors import InputError
from ..graphs.arcs import network_of_arcs
from ..graphs.files.network_file import write_network
from .own_graph import graph_given
from .result import Result
from .running import attack_names, folder_for_what_is_at_hand, run_target

if TYPE_CHECKING:
    from torch_geometric.data import Data

ON_RELEASES = ("nearest", "mia")
ON_WINDOWS = "temporal-refinement"
ON_NETWORKS = ("refinement", "hub-fingerprint", "seedless-matching")
"""Attacks that ``attacks="auto"`` means."""


def release(
    file: str | Path | Mapping[str, Any],
    *,
    original: Data | str | Path,
    labels: str | Path | None = None,
    adjacency: str | Path | None = None,
    no_edges: bool = False,
    members: Any = None,
    non_members: Any = None,
    game: str = "label-membership",
    attacks: str | Sequence[str] = "auto",
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits a condensed graph that was released: does it tell whose data it was made of?

    Args:
        file: the release, ``.npz``, ``.pt`` or ``.safetensors``, or a dictionary with ``x`` [n', d] and, if it has
            them, ``y`` [n'] and ``adjacency`` [n', n'].
        original: the private graph, its file, or a dataset's name.
        labels: the file of its labels, where they are apart.
        adjacency: the file of its adjacency, where that is apart.
        no_edges: it is meant to have none.
        members: as in `audit`.
        non_members: as in `audit`.
        game: as in `audit`.
        attacks: names, or ``auto``; those that need what the release lacks are refused by name.
        seed: root of all randomness.
        ledger: file to keep it in.
        progress: show how far it is.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> gaudit.release("condensed.npz", original=data).auc["nearest"]    # doctest: +SKIP
    """
    name, graph = graph_given(original, members, non_members)
    with folder_for_what_is_at_hand() as folder:
        place = file if isinstance(file, str | Path) else _release_file(file, folder)
        settings = {
            "file": str(place),
            "labels": None if labels is None else str(labels),
            "adjacency": None if adjacency is None else str(adjacency),
            "no_edges": no_edges,
            "game": game,
        }
        planned = [{"name": each} for each in attack_names(ON_RELEASES if attacks == "auto" else attacks)]
        return run_target("released", settings, planned, 1, seed, {name: graph}, None, ledger, progress)


def published(
    after: Any,
    *,
    original: Any,
    same: str | Path | Mapping[str, str] | None = None,
    auxiliary: Any = None,
    auxiliary_same: str | Path | None = None,
    sensitive: int | None = None,
    windows: int | None = None,
    windows_by: str | None = None,
    attacks: str | Sequence[str] = "auto",
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    ledger: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Audits a network that any tool anonymised: can persons be found in it, and are their links still there?

    Args:
        after: the published network, a file (edge list, ``.npz``, ``.graphml``) or a networkx graph.
        original: the network before: a file, a dataset's name, or a networkx graph.
        same: who is who: a table with the columns ``original`` and ``published``, or a dictionary from names in the
            original to names in the published network. Without it nodes must have kept their names.
        auxiliary: another network of some of the same people, which attacks that match hold with its names: a file
            or a networkx graph. Without it they hold a part of the original.
        auxiliary_same: who is who there: a table with the columns ``original`` and ``auxiliary``. Without it people
            have the same names in both.
        sensitive: type of edge that is secret; all edges by default.
        windows: into how many windows of time the original is cut; the published network's types of edges are
            called ``window-1`` and so on.
        windows_by: ``time`` (windows of equal length) or ``count`` (with equally many events).
        attacks: names, or ``auto``.
        settings: of attacks, by their names.
        seed: root of all randomness.
        ledger: file to keep it in.
        progress: show how far it is.

    Raises:
        InputError: something does not fit, in one line.

    Example:
        >>> gaudit.published("after.txt", original="before.txt", same="map.csv").auc    # doctest: +SKIP
    """
    with folder_for_what_is_at_hand() as folder:
        before = _network_file(original, folder, "original")
        target = {
            "after": _network_file(after, folder, "published"),
            "same": _map_file(same, folder) if isinstance(same, Mapping) else _as_text(same),
            "auxiliary": None if auxiliary is None else _network_file(auxiliary, folder, "auxiliary"),
            "auxiliary_same": _as_text(auxiliary_same),
            "sensitive": sensitive,
            "windows": windows,
            "by": windows_by,
        }
        graph = graph_of(before, is_file(before), plain=True, timed=windows is not None)
        usual = ON_NETWORKS if windows is None else (ON_WINDOWS, *ON_NETWORKS)
        planned = [
            {"name": name, "settings": dict((settings or {}).get(name, {}))}
            for name in attack_names(usual if attacks == "auto" else attacks)
        ]
        return run_target("published", target, planned, 1, seed, {before: graph}, None, ledger, progress)


def _as_text(place: str | Path | None) -> str | None:
    return None if place is None else str(place)


def _network_file(given: Any, folder: Path, name: str) -> str:
    """The file of a network, or a dataset's name; a networkx graph is written to a file first."""
    if isinstance(given, str | Path):
        return str(given)
    if not (hasattr(given, "edges") and hasattr(given, "nodes") and hasattr(given, "is_directed")):
        raise InputError(f"the {name} network is a {type(given).__name__}: give a file, or a networkx graph")
    ids = [str(node) for node in given.nodes]
    number = {node: place for place, node in enumerate(given.nodes)}
    ends = [
        (number[one], number[other]) for one, other in {tuple(edge[:2]) for edge in given.edges} if one != other
    ]
    network = network_of_arcs(len(ids), np.array(ends, dtype=np.int64).reshape(-1, 2).T)
    place = folder / f"{name}-network.npz"
    write_network(network if given.is_directed() else network.plain(), place, ids)
    return str(place)


def _map_file(same: Mapping[str, str], folder: Path) -> str:
    from ..graphs.files.name_map import write_map

    place = folder / "who-is-who.csv"
    write_map(place, [(str(one), str(other)) for one, other in same.items()])
    return str(place)


def _release_file(parts: Mapping[str, Any], folder: Path) -> Path:
    place = folder / "release.npz"
    arrays: dict[str, Any] = {name: _array(part) for name, part in parts.items()}
    np.savez(place, **arrays)
    return place


def _array(part: Any) -> np.ndarray:
    if not isinstance(part, Tensor):
        return np.asarray(part)
    whole = part.detach().cpu()
    found: np.ndarray = (whole.to_dense() if whole.layout != torch.strided else whole).numpy()
    return found

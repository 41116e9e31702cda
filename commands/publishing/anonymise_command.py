"""What `gaudit anonymize` does, without the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...graphs.files.name_map import check_map_name, write_map
from ...graphs.files.network_file import ReadNetwork, check_destination, ids_with_added, read_network, write_network
from ...graphs.files.rows import Directed
from ...graphs.measures.utility import Kept, utility_of
from ...graphs.network import Ints, Network, Verified, changes
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ...registry import find, registered
from ...targets.defense import Defense
from .edge_marks import marks_lines

UNDIRECTED = "It speaks of the undirected graph: directions of edges are not published."
MOST_LISTED = 20
"""Names that are printed of types, or of attributes."""


@dataclass(frozen=True)
class AnonymiseRequest:
    """What the user asked for.

    Attributes:
        source: the file to read.
        destination: the file to write.
        defense: name of a defense that changes a published graph.
        settings: of the defense.
        rename: random numbers instead of the file's ids, and nodes and edges in the order of these.
        keep: what of edges is published besides their ends: "weights", "types", "directions".
        merge: take a directed graph as an undirected one.
        measure: also what is kept of the structure.
        seed: root of all randomness; fresh without one.
        write_map: a file for who is who, which only its owner may read.
    """

    source: Path
    destination: Path
    defense: str
    settings: dict[str, Any]
    rename: bool = False
    keep: tuple[str, ...] = ()
    merge: bool = False
    measure: bool = True
    seed: int | None = None
    write_map: Path | None = None


@dataclass(frozen=True)
class Anonymised:
    """What came of it: lines about input and output, what changed, the checked guarantee, what is kept.

    ``scope`` is what a reader must know of any guarantee here: which graph it speaks of.
    """

    remarks: tuple[str, ...]
    changed: str
    guarantee: str | None
    promise: Guarantee | None
    verified: Verified | None
    kept: tuple[Kept, ...]
    scope: str = ""


def anonymise(request: AnonymiseRequest) -> Anonymised:
    """Reads a network, changes it, checks the guarantee on the result, and only then writes it.

    Raises:
        InputError: the input is unusable, the defense does not exist or does not fit, or its guarantee does not
            hold on the result, of which nothing is written then.
    """
    kind = graph_defense(request.defense)
    check_destination(request.destination, kind.publishes)
    if request.write_map is not None:
        check_map_name(request.write_map)
    read = read_network(request.source, directed=_directed(request, kind))
    made = kind(**_by_number(request.settings, read.type_names))
    before = read.network.telling(_told(request, kind, read.network))
    seed = np.random.SeedSequence(request.seed)
    after = made.on_graph(before, branch(seed, "defense"))
    verified = made.verify(before, after)
    if verified is not None and not verified.holds:
        raise InputError(
            f"{request.defense}: the result does not keep its guarantee ({verified.guarantee}: {verified.detail}), "
            "nothing was written: try other settings"
        )
    names = () if before.types is None else read.type_names
    written, told = _named_types(after, names)
    if request.rename:
        new = np.random.default_rng(branch(seed, "names")).permutation(after.nodes)
        written, told = _renamed(written, told, new)
        called = tuple(map(str, new.tolist()))
    else:
        called = ids_with_added(read.ids, after.nodes)
    write_network(written, request.destination, None if request.rename else read.ids, told)
    if request.write_map is not None:
        write_map(request.write_map, list(zip_longest(read.ids, called, fillvalue="")))
    promise, kept = made.promise(), tuple[Kept, ...]()
    if request.measure and after.counts is None:
        kept = utility_of(before, after, np.random.default_rng(branch(seed, "utility")))
    return Anonymised(
        (*_remarks(read, names, promise), *marks_lines(read.network, before, after)),
        changes(before, after),
        made.guarantee,
        promise,
        verified,
        kept,
        UNDIRECTED if read.dropped.merged else "",
    )


def _directed(request: AnonymiseRequest, kind: type[Defense]) -> Directed:
    """What becomes of directions.

    Raises:
        InputError: they shall be merged and kept.
    """
    kept = "directions" in {*request.keep, *kind.publishes}
    if kept and request.merge:
        raise InputError(
            "--merge-directions: directions cannot be merged and published: leave it out, or --keep directions and "
            "defenses of directed graphs"
        )
    return "merge" if request.merge else "keep" if kept else "refuse"


def _told(request: AnonymiseRequest, kind: type[Defense], network: Network) -> set[str]:
    """What is published of edges besides their ends.

    Raises:
        InputError: something was asked for that the file does not tell.
    """
    for name in request.keep:
        if getattr(network, name) is None:
            raise InputError(f"--keep {name}: {request.source} tells no {name} of edges: leave the option out")
    return {*request.keep, *kind.publishes}


def _by_number(settings: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The settings with a type of edges that is called by its name called by its number.

    Raises:
        InputError: no type has that name.
    """
    name = settings.get("sensitive")
    if not isinstance(name, str):
        return settings
    if name not in names:
        known = _listed([f"{called} ({k})" for k, called in enumerate(names)]) or "none, edges have no types"
        raise InputError(f"sensitive={name}: no type of edges has this name, the types of this file are: {known}")
    return settings | {"sensitive": names.index(name)}


def _remarks(read: ReadNetwork, types: Sequence[str], promise: Guarantee | None) -> tuple[str, ...]:
    """What a reader of the result must know of the input."""
    told = (
        read.dropped.sentence,
        _not_written(read),
        _types_by_number(types),
        _told_by_nodes(promise, read.unlisted),
    )
    return tuple(filter(None, told))


def _not_written(read: ReadNetwork) -> str:
    """What the file tells of nodes; no defense that acts here changes it."""
    given = {"features": read.x is not None, "classes": read.y is not None}
    told = [*(name for name, there in given.items() if there), *map(repr, read.attributes)]
    return (
        f"not written: {_listed(told)} of nodes, which tell people apart whatever is done to edges" if told else ""
    )


def _types_by_number(names: Sequence[str]) -> str:
    """What each type is called in the file: settings and guarantees call them by number."""
    return f"types of edges: {_listed([f'{k} is {name}' for k, name in enumerate(names)])}" if names else ""


def _listed(names: Sequence[str]) -> str:
    more = [f"and {len(names) - MOST_LISTED:,} more"] if len(names) > MOST_LISTED else []
    return ", ".join([*names[:MOST_LISTED], *more])


def _told_by_nodes(promise: Guarantee | None, unlisted: int) -> str:
    """What a promise about edges does not cover, where nodes follow from them."""
    if promise is None or promise.unit != "edge" or not unlisted:
        return ""
    return (
        f"nodes that only edges name: {unlisted:,}; that one is in the result tells that it has an edge, which the "
        "promise below takes as public: list all nodes in the file, with or without edges, in lines '#@node ID'"
    )


def graph_defense(name: str) -> type[Defense]:
    """A kind of defense that changes a published graph.

    Raises:
        InputError: there is none of this name, or it acts elsewhere.
    """
    kind: type[Defense] = find("defenses", name)
    if "on_graph" not in kind.hooks():
        known = ", ".join(n for n in registered("defenses") if "on_graph" in find("defenses", n).hooks())
        raise InputError(f"the defense '{name}' does not change a graph: these do: {known}")
    return kind


def _renamed(network: Network, type_names: tuple[str, ...], new: Ints) -> tuple[Network, tuple[str, ...]]:
    """The network with the numbers ``new`` [n], drawn at random, added nodes too; its types in their names' order.

    Nodes and edges stand in the order of the new numbers. In the source's order they could be told by counting,
    whatever they are called; that of the types tells which edges came first.
    """
    if type_names:
        order = sorted(range(len(type_names)), key=type_names.__getitem__)
        network = _retyped(network, np.argsort(order))
        type_names = tuple(type_names[k] for k in order)
    return network.renamed(new), type_names


def _named_types(network: Network, names: tuple[str, ...]) -> tuple[Network, tuple[str, ...]]:
    """The network with the names of those types alone that it tells an edge of, in their order.

    The name of a type that was dropped tells that there were such edges.
    """
    types = network.types if network.counts is None else network.counts[:, 2]
    if types is None or not names:
        return network, ()
    told = np.unique(types)
    new = np.full(len(names), -1)
    new[told] = np.arange(len(told))
    return _retyped(network, new), tuple(names[k] for k in told)


def _retyped(network: Network, new: Ints) -> Network:
    """The network with type i called ``new[i]``, in its edges or its counts."""
    if network.counts is not None:
        counts = network.counts.copy()
        counts[:, 2] = new[counts[:, 2]]
        return replace(network, counts=counts[np.lexsort(counts.T[2::-1])])
    return network if network.types is None else replace(network, types=new[network.types])

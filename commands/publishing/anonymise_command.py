"""What `gaudit anonymize` does, without the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...graphs.files.name_map import check_map_name, write_map
from ...graphs.files.network_file import ReadNetwork, check_destination, ids_with_added, read_network, write_network
from ...graphs.files.people_file import write_people
from ...graphs.files.rows import Directed
from ...graphs.measures.at_risk import AtRisk, at_risk, check_at_risk_name, write_at_risk
from ...graphs.measures.utility import Kept, utility_of
from ...graphs.network import ATTRIBUTES, Network, Verified, changes
from ...graphs.snapshots import WindowsBy, window_names, windowed
from ...graphs.told_weights import ToldWeights
from ...mechanisms.guarantee import Guarantee
from ...randomness import branch
from ...registry import find, registered
from ...targets.defense import Defense
from ...targets.publishing.windows import windows_follow
from .edge_marks import marks_lines
from .people import PeopleRequest
from .renaming import named_types, renamed
from .told import Telling, listed, telling

UNDIRECTED = "It speaks of the undirected graph: directions of edges are not published."


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
        weights: what is told of weights (`ToldWeights.read`), which are published then.
        at_risk: a file for who is alone before and after, which only its owner may read.
        count_risk: count these people also where they are written nowhere.
        windows: publish as many windows of the times of edges, as types.
        windows_by: windows of equal length (time, the default), or with equally many events (count).
        people: attributes of people that are published with the network.
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
    weights: str | None = None
    at_risk: Path | None = None
    count_risk: bool = False
    windows: int | None = None
    windows_by: WindowsBy | None = None
    people: PeopleRequest = field(default_factory=PeopleRequest)


@dataclass(frozen=True)
class Anonymised:
    """What came of it: lines about the output, what changed, the checked guarantee, what is kept.

    Attributes:
        telling: what was told before the work.
        remarks: what a reader must know of the output, in sentences.
        changed: what the defense changed, in words.
        guarantee: of the defense, in words.
        promise: the differential privacy that it gives by design.
        verified: the guarantee as it was checked on the result.
        kept: what is kept of the structure, where that was measured.
        scope: what a reader must know of any guarantee here: which graph it speaks of.
        risk: who is alone, where that was asked for.
        people: nodes of the source.
    """

    telling: Telling
    remarks: tuple[str, ...]
    changed: str
    guarantee: str | None
    promise: Guarantee | None
    verified: Verified | None
    kept: tuple[Kept, ...]
    scope: str = ""
    risk: AtRisk | None = None
    people: int = 0


def anonymise(request: AnonymiseRequest, tell: Callable[[str], None] = lambda line: None) -> Anonymised:
    """Reads a network, changes it, checks the guarantee on the result, and only then writes it.

    Args:
        request: what the user asked for.
        tell: is given lines on what will be published and what will be left out, before the work.

    Raises:
        InputError: the input is unusable, the defense does not exist or does not fit, or its guarantee does not
            hold on the result, of which nothing is written then.
    """
    kind = graph_defense(request.defense)
    way = _checked(request, kind)
    read, whole = _read(request, kind)
    made = _made(request, kind, read)
    if made.promise() is not None:
        read = read.in_order_of_ids()
    network, unused = request.people.joined(read.network, read.ids)
    read = replace(read, network=network, attributes=(*read.attributes, *unused))
    seed = np.random.SeedSequence(request.seed)
    before = _told(request, kind, read, way, seed)
    beforehand = telling(read, before, made, way, whole)
    for line in beforehand.lines:
        tell(line)
    after = made.on_graph(before, branch(seed, "defense"))
    if before.people is not None and after.people is None:
        raise InputError(f"'{request.defense}' publishes no attributes of people: leave --people out")
    verified = made.verify(before, after)
    if verified is not None and not verified.holds:
        raise InputError(
            f"{request.defense}: the result does not keep its guarantee ({verified.guarantee}: {verified.detail}), "
            "nothing was written: try other settings"
        )
    counted = request.count_risk or request.at_risk is not None
    risk = at_risk(read.network, after) if counted else None
    _write(request, read, after, () if before.types is None else read.type_names, seed)
    if request.at_risk is not None and risk is not None:
        write_at_risk(request.at_risk, read.ids, risk)
    kept = tuple[Kept, ...]()
    if request.measure and after.counts is None:
        kept = utility_of(before, after, np.random.default_rng(branch(seed, "utility")))
    return Anonymised(
        beforehand,
        (*(() if way is None else (way.sentence,)), *marks_lines(before, after, whole is not None, way)),
        changes(before, after),
        made.guarantee,
        made.promise(),
        verified,
        kept,
        UNDIRECTED if read.dropped.merged else "",
        risk,
        before.nodes,
    )


def _made(request: AnonymiseRequest, kind: type[Defense], read: ReadNetwork) -> Defense:
    """The defense with its settings; without a seed its noise is the system's own, where it draws noise exactly.

    Raises:
        InputError: it takes other settings, or the windows of time that are asked for break its promise.
    """
    fresh = {"fresh": True} if request.seed is None and "fresh" in kind.Settings.model_fields else {}
    made = kind(**{**kind.for_owners, **fresh, **_by_number(request.settings, read.type_names)})
    made.check_types(read.type_names, read.types_in_order, request.windows is not None)
    unknown = windows_follow(request.windows_by or "time", made.promise()) if request.windows else None
    if unknown is not None:
        raise InputError(f"--defense {request.defense}: {unknown} (--windows-by time)")
    return made


def _read(request: AnonymiseRequest, kind: type[Defense]) -> tuple[ReadNetwork, Network | None]:
    """The source, by windows of time where these are asked for, and then also as the file tells it.

    Raises:
        InputError: it is unusable, or has no times.
    """
    if request.windows is None and request.windows_by is not None:
        raise InputError("--windows-by says how windows of time are cut: say how many with --windows")
    windows = request.windows
    read = read_network(request.source, _directed(request, kind), timed=windows is not None)
    if windows is None:
        return read, None
    cut = windowed(read.network, windows, request.windows_by or "time")
    return replace(read, network=cut, type_names=window_names(windows), types_in_order=True), read.network


def _checked(request: AnonymiseRequest, kind: type[Defense]) -> ToldWeights | None:
    """How weights are told; what could not be written, or read, is refused before the work."""
    check_destination(request.destination, kind.publishes)
    if request.write_map is not None:
        check_map_name(request.write_map)
    if request.at_risk is not None:
        check_at_risk_name(request.at_risk)
    request.people.check(kind)
    return None if request.weights is None else ToldWeights.read(request.weights)


def _told(
    request: AnonymiseRequest,
    kind: type[Defense],
    read: ReadNetwork,
    way: ToldWeights | None,
    seed: np.random.SeedSequence,
) -> Network:
    """What is published of edges, before a defense changes them.

    Raises:
        InputError: something was asked for that the file does not tell.
    """
    network = read.network
    asked = {name: f"--keep {name}" for name in request.keep}
    asked |= {} if way is None else {"weights": f"--weights {request.weights}"}
    for name, option in asked.items():
        if request.windows is not None and name != "types":
            raise InputError(f"{option}: {name} of edges do not go with --windows: leave one of both out")
        if getattr(network, name) is None:
            columns = f" ({read.dropped.columns})" if read.dropped.columns else ""
            raise InputError(
                f"{option}: {request.source} tells no {name} of edges: leave the option out, or call a column "
                f"'{name.rstrip('s')}'{columns}"
            )
    told = network.telling({*asked, ATTRIBUTES, *kind.publishes, *(() if request.windows is None else ("types",))})
    return told if way is None else way.of(told, np.random.default_rng(branch(seed, "weights")))


def _write(
    request: AnonymiseRequest,
    read: ReadNetwork,
    after: Network,
    types: tuple[str, ...],
    seed: np.random.SeedSequence,
) -> None:
    """Writes the result, and who is who in it where that is asked for."""
    written, told = named_types(after, types)
    if request.rename:
        new = np.random.default_rng(branch(seed, "names")).permutation(after.nodes)
        written, told = renamed(written, told, new)
        called = tuple(map(str, new.tolist()))
    else:
        called = ids_with_added(read.ids, after.nodes)
    write_network(written, request.destination, None if request.rename else read.ids, told)
    if request.people.destination is not None and written.people is not None:
        ids = tuple(map(str, range(written.nodes))) if request.rename else called
        write_people(request.people.destination, ids, written.people)
    if request.write_map is not None:
        write_map(request.write_map, list(zip_longest(read.ids, called, fillvalue="")))


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


def _by_number(settings: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The settings with a type of edges that is called by its name called by its number.

    Raises:
        InputError: no type has that name.
    """
    name = settings.get("sensitive")
    if not isinstance(name, str):
        return settings
    if name not in names:
        known = listed([f"{called} ({k})" for k, called in enumerate(names)]) or "none, edges have no types"
        raise InputError(f"sensitive={name}: no type of edges has this name, the types of this file are: {known}")
    return settings | {"sensitive": names.index(name)}


def graph_defense(name: str) -> type[Defense]:
    """A kind of defense that changes a published graph.

    Raises:
        InputError: there is none of this name, or it acts elsewhere.
    """
    kind: type[Defense] = find("defenses", name)
    if "on_graph" not in kind.hooks():
        known = [n for n in registered("defenses") if "on_graph" in find("defenses", n).hooks()]
        first = [n for n in known if n.startswith("k-")]
        others = f"and {len(known) - len(first)} more ('gaudit list defenses' lists them)"
        raise InputError(f"the defense '{name}' does not change a graph: these do: {', '.join(first)}, {others}")
    return kind

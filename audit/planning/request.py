"""What `gaudit attack` and `gaudit inspect` are asked for, as a plan like any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...attacks.attack import Attack
from ...errors import InputError, unknown_name
from ...registry import find, registered
from ...targets.defense import Defense
from ...targets.game import Neighbours
from ...targets.messages import kinds_of
from ...targets.recording import ABOUT
from ...targets.target import Target
from ...targets.transcript import observer_members
from .automatic import automatic
from .grid import Grid
from .plan import AUTO, Plan, PlannedAttack, PlannedDefense, PlannedTarget
from .resolve import graph_of, target_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

SEEDS = {"quick": 1, "paper": 5}
RECORDED = "recorded"


@dataclass(frozen=True)
class AttackRequest:
    """What the user asked for, word for word.

    Attributes:
        defenses: names with the settings that were written behind them.
        settings: of the target.
        attack_settings: of those attacks that have them.
        beside: whether attacks that cost next to nothing run beside those that are named.
        anyway: whether trials run that will not fit into memory.
    """

    target: str
    attacks: tuple[str, ...]
    dataset: str = "citations"
    graph: str | None = None
    defenses: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    strength: float | None = None
    preset: str = "quick"
    ratio: float | None = None
    ratio_of: str | None = None
    settings: Mapping[str, Any] | None = None
    attack_settings: Mapping[str, Any] | None = None
    seed: int = 0
    device: str = "cpu"
    observer: str | None = None
    neighbours: str = "true"
    seeds: int | None = None
    timeline: bool = False
    transfer: bool = False
    transcript: str | None = None
    save_transcripts: str | None = None
    workers: int | None = None
    sweep: bool = False
    beside: bool = False
    anyway: bool = False

    @property
    def repetitions(self) -> int:
        """How many seeds run."""
        return self.seeds or SEEDS.get(self.preset, 1)


def plan_of(request: AttackRequest) -> tuple[Plan, Data, Target]:
    """The plan that a request amounts to, its graph, and the target as it was asked for.

    Raises:
        InputError: something in the request does not exist or does not fit.
    """
    attacks = tuple(_attacks(request, registered("attacks")))  # refuses what is misspelt before a graph is read
    data = asked_graph(request)
    target = asked_target(request, data)
    if picks(request):
        attacks = tuple(_attacks(request, automatic(target, request.observer, request.attacks).chosen))
    elif request.beside:
        attacks += tuple(_cheap_beside(request, target))
    if not attacks:
        raise InputError(
            f"no attack reads what the target '{request.target}' lets out: name one, for example --attack mia "
            "('gaudit list attacks' lists them)"
        )
    _check_observers(attacks, target)
    if target.runs_elsewhere:
        _check_nothing_runs(request)
    runs = PlannedTarget(name=target_name(request), settings=target.settings.model_dump())
    return _plan(request, runs, tuple(_defenses(request, target)), attacks), data, target


def _plan(
    request: AttackRequest,
    target: PlannedTarget,
    defenses: tuple[PlannedDefense, ...],
    attacks: tuple[PlannedAttack, ...],
) -> Plan:
    content = {
        "name": request.target,
        "preset": request.preset,
        "datasets": (request.dataset if request.graph is None else request.graph,),
        "seeds": request.repetitions,
        "seed": request.seed,
        "timeline": request.timeline,
        "alternatives": False,
        "target": (target,),
        "defense": defenses,
        "attack": attacks,
    }
    return Plan.checked("request", content)


def target_name(request: AttackRequest) -> str:
    """The target that is audited: a recording of one where a transcript is given."""
    return request.target if request.transcript is None else RECORDED


def asked_graph(request: AttackRequest) -> Data:
    """The graph of a request.

    A recorded run was trained on somebody's split: one that is drawn here would make up the truth.
    """
    name = request.dataset if request.graph is None else request.graph
    kind: type[Target] = find("targets", target_name(request))
    return graph_of(name, request.graph is not None, not kind.runs_elsewhere, kind.plain)


def asked_target(request: AttackRequest, data: Data) -> Target:
    """The target of a request, with every option that concerns it."""
    fields = find("targets", target_name(request)).Settings.model_fields
    options = {"ratio": request.ratio, "ratio_of": request.ratio_of, "device": request.device}
    # a device that nobody asked for is no setting of targets that compute nothing
    given: dict[str, Any] = {
        key: value
        for key, value in options.items()
        if value is not None and (key in fields or (key, value) != ("device", "cpu"))
    }
    if request.transcript is not None:
        find("targets", request.target)  # refuses a name that nothing answers to
        given = {**given, "transcripts": (request.transcript,)}
        given |= {"pipeline": request.target} if request.target != RECORDED else {}
    transfer = {"transfer": True} if request.transfer else {}
    return target_of(target_name(request), request.preset, data, given, transfer, dict(request.settings or {}))


def asked_defense(name: str, own: Mapping[str, Any], request: AttackRequest) -> dict[str, Any]:
    """Its own settings, and the strength that was asked for if it has one; without its preset."""
    kind: type[Defense] = find("defenses", name)
    settings = dict(own)
    if request.strength is not None and kind.strength is not None:
        if own.get(kind.strength, request.strength) != request.strength:
            written = f"{name}:{kind.strength}={own[kind.strength]}"
            raise InputError(
                f"--strength {request.strength:g}: --defense {written} gives another strength, leave out one"
            )
        settings[kind.strength] = request.strength
    return settings


def _defenses(request: AttackRequest, target: Target) -> Iterator[PlannedDefense]:
    """Each asked (or published) defense once; with ``sweep`` at the strengths that it suggests, or one."""
    asked = request.defenses or ((target.published_defense, {}),)
    if request.strength is not None:
        _check_strength(tuple(name for name, _ in asked))
    seen = list[tuple[str, dict[str, Any]]]()
    for name, own in asked:
        settings = asked_defense(name, own, request)
        if (name, settings) in seen:
            continue
        seen.append((name, settings))
        kind: type[Defense] = find("defenses", name)
        sweeps = request.sweep and kind.strength is not None and kind.strength not in settings
        one = () if kind.strength is not None and not sweeps else None
        yield PlannedDefense(name=name, settings=settings, strengths=one)


def _check_strength(names: tuple[str, ...]) -> None:
    knobs = [name for name in names if find("defenses", name).strength is not None]
    if len(knobs) != 1:
        raise InputError(
            f"--strength needs exactly one defense with a strength, these have one: {', '.join(knobs) or 'none'}"
        )


def picks(request: AttackRequest) -> bool:
    """Whether attacks are chosen for the target, where nobody names any."""
    return not request.attacks or AUTO in request.attacks


def _attacks(request: AttackRequest, known_names: Iterable[str]) -> Iterator[PlannedAttack]:
    """Those that are named; of ``all`` and ``auto`` each of some names."""
    named = [name for name in request.attacks if name not in (AUTO, "all")]
    several = picks(request) or "all" in request.attacks
    names = tuple(dict.fromkeys([*named, *(known_names if several else ())]))
    if request.observer is not None:
        observer_members(request.observer)
    asked: tuple[Neighbours, ...] = (
        ("true", "partial", "none") if request.neighbours == "all" else (request.neighbours,)  # type: ignore[assignment]
    )
    given = request.attack_settings or {}
    known = {key for name in names for key in find("attacks", name).Settings.model_fields}
    for key in given:
        if key not in known:
            raise unknown_name("attack setting", key, sorted(known))
    for name in names:
        kind: type[Attack[Any]] = find("attacks", name)
        own = {key: value for key, value in given.items() if key in kind.Settings.model_fields}
        kind(**{**kind.preset(request.preset), **own})
        observers = None if request.observer is None else (request.observer,)
        yield PlannedAttack(name=name, observers=observers, neighbours=asked, settings=own)


def _cheap_beside(request: AttackRequest, target: Target) -> Iterator[PlannedAttack]:
    """Attacks that nobody named, and that cost next to nothing on what a target releases.

    A dear attack is not always the stronger one, and who reads its number alone may think a release safe that a
    comparison of rows gives away.
    """
    games = set(target.plays)
    if request.attacks and "all" not in request.attacks:
        games &= {game for name in request.attacks for game in find("attacks", name).games}
    for name in registered("attacks"):
        kind: type[Attack[Any]] = find("attacks", name)
        named = {name, kind.ranks_as, "all"} & set(request.attacks)
        fits = games & set(kind.games) and target.sent() & set(kinds_of(kind.cheap))
        if fits and not named and request.observer in (None, kind.observer):
            yield PlannedAttack(name=name, observers=(kind.observer,))


def _check_observers(attacks: tuple[PlannedAttack, ...], target: Target) -> None:
    """Refuses a client that will not exist before anything runs."""
    clients = target.offers.clients
    for plan in attacks:
        observer = "+".join(plan.observers or ())
        if observer in ("", find("attacks", plan.name).observer):
            continue  # nobody asked for it: the attack is left out where it has no place
        for member in observer_members(observer):
            number = member.partition(":")[2]
            if clients == 0 and number:
                raise InputError(f"no party '{member}' in this run: it has no clients (--set clients=4 makes some)")
            if clients is not None and number and int(number) >= clients:
                raise InputError(
                    f"no party '{member}' in this run: its clients are client:0 to client:{clients - 1}"
                )


def _check_nothing_runs(request: AttackRequest) -> None:
    """Refuses what would change a run where none takes place."""
    unused = {
        "--defense": request.defenses,
        "--strength": request.strength is not None,
        "--sweep": request.sweep,
        "--ratio": request.ratio is not None,
        "--seeds": request.seeds is not None,
        "--timeline": request.timeline,
        "--transfer": request.transfer,
        "--save-transcripts": request.save_transcripts,
    }
    for option, given in unused.items():
        if given:
            raise InputError(f"{option} has no meaning for a run that took place already: leave it out")


def recording(grid: Grid, folder: str | None) -> Grid:
    """The same trials, each of which writes what is sent into a folder of its own in a folder.

    Raises:
        InputError: the folder cannot be made, or holds such recordings already.
    """
    if folder is None:
        return grid
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write transcripts to {folder}: {error.strerror or error}") from error
    taken: dict[str, int] = {}
    tasks = []
    for task in grid.tasks:
        if task.cell >= 0:
            name = f"{task.plan.defense}-seed{task.plan.index}"
            taken[name] = taken.get(name, 0) + 1
            again = f"-{taken[name]}" if taken[name] > 1 else ""  # the same defense with other settings
            folder_of = place / f"{name}{again}"
            if (folder_of / ABOUT).exists():
                raise InputError(
                    f"{folder_of} holds a recording already: give another folder to --save-transcripts"
                )
            task = replace(task, plan=replace(task.plan, transcript=str(folder_of)))  # noqa: PLW2901
        tasks.append(task)
    return replace(grid, tasks=tuple(tasks))

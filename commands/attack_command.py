"""What `gaudit attack` does, without the terminal."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from .. import __version__
from ..attacks.attack import Attack
from ..audit.planning.resolve import graph_of, target_of
from ..audit.planning.trial_plan import AttackPlan, TrialPlan
from ..audit.results.outcome import DefenseOutcome
from ..audit.results.outcomes import SCHEMA, outcomes
from ..audit.running.recorded import attack_recorded
from ..audit.running.trial import TrialResult, use_one_thread
from ..audit.running.workers import run_trials
from ..audit.statistics.vulnerability import as_csv
from ..errors import InputError, unknown_name
from ..graphs.pyg import remarks_of
from ..registry import find, registered
from ..targets.defense import Defense
from ..targets.game import Neighbours
from ..targets.target import Target
from ..targets.transcript import observer_members
from .written_settings import read_defense

Report = Callable[[str, str, int, int], None]

SEEDS = {"quick": 1, "paper": 5}


@dataclass(frozen=True)
class AttackRequest:
    """What the user asked for, word for word."""

    target: str
    attacks: tuple[str, ...]
    dataset: str = "citations"
    graph: str | None = None
    defenses: tuple[str, ...] = ()
    strength: float | None = None
    preset: str = "quick"
    ratio: float | None = None
    ratio_of: str | None = None
    settings: dict[str, Any] | None = None
    attack_settings: dict[str, Any] | None = None
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


@dataclass(frozen=True)
class AttackAudit:
    """What came out, with what is needed to do it again."""

    request: AttackRequest
    dataset: str
    target_settings: dict[str, Any]
    seeds: int
    release_phrase: str
    outcomes: list[DefenseOutcome]

    def headline(self) -> str:
        """What was audited, in a line."""
        if self.request.transcript is not None:
            return f"{self.request.transcript}, recorded from {self.request.target}, on {self.dataset}"
        runs = f"{self.seeds} seed{'s' if self.seeds != 1 else ''}"
        return f"{self.request.target} on {self.dataset}, preset {self.request.preset}, {runs}"

    def per_node(self) -> str:
        """How exposed each member is, as CSV; the most exposed first within each attack."""
        return as_csv(
            (
                {
                    "defense": outcome.defense,
                    "attack": a.plan.name,
                    "observer": a.plan.observer,
                    "neighbours": a.plan.neighbours,
                },
                a.exposed,
            )
            for outcome in self.outcomes
            for a in outcome.attacks
        )

    def to_json(self, summary: str) -> str:
        """All results with their summary in words; the same request gives the same bytes."""
        content = {
            "schema": SCHEMA,
            "gaudit": __version__,
            "target": self.request.target,
            "dataset": self.dataset,
            "preset": self.request.preset,
            "settings": self.target_settings,
            "seed": self.request.seed,
            "seeds": self.seeds,
            "outcomes": [o.as_dict() for o in self.outcomes],
            "summary": summary,
        }
        return json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n"


def run_attack(request: AttackRequest, report: Report) -> AttackAudit:
    """Runs the undefended control and the asked (or published) defenses, all attacks, all seeds.

    Raises:
        InputError: something in the request does not exist or does not fit.
    """
    seeds = request.seeds or SEEDS.get(request.preset, 1)
    attack_plans = _attack_plans(request)
    data = asked_graph(request)
    target = asked_target(request, data)
    if request.transcript is not None:
        return _attack_recorded(request, attack_plans, data, target)
    _check_observers(attack_plans, target)
    plans = _trial_plans(request, target, attack_plans, seeds, int(data.num_nodes or 0))
    names = [f"{plan.defense}, seed {plan.index}" for plan in plans]
    results = run_trials(
        plans,
        data,
        request.workers if request.device == "cpu" else 1,
        lambda place, stage, done, total: report(names[place], stage, done, total),
    )
    _check_applied(results)
    settings = target.settings.model_dump(mode="json")
    return AttackAudit(request, data.name, settings, seeds, target.release_phrase, outcomes(results))


def _attack_recorded(
    request: AttackRequest, attacks: tuple[AttackPlan, ...], data: Data, target: Target
) -> AttackAudit:
    """Attacks a recorded run; what would change a run is refused, since none takes place."""
    unused = {
        "--defense": request.defenses,
        "--strength": request.strength is not None,
        "--sweep": request.sweep,
        "--set": set(request.settings or {})
        - ({"game", "recipe"} if hasattr(target.settings, "recipe") else set()),
        "--ratio": request.ratio is not None,
        "--seeds": request.seeds is not None,
        "--timeline": request.timeline,
        "--transfer": request.transfer,
        "--save-transcripts": request.save_transcripts,
    }
    for option, given in unused.items():
        if given:
            raise InputError(f"{option} has no meaning with --transcript, which runs nothing: leave it out")
    use_one_thread()
    result = attack_recorded(str(request.transcript), attacks, data, target, request.seed)
    _check_applied([result])
    (found,) = outcomes([result])
    settings = target.settings.model_dump(mode="json", include=set(_assumptions(target)))
    recorded = replace(
        found,
        defense="recorded",
        phrase="in the recorded run",
        guarantee=None,
        promise=None,
        notes=(
            f"the release of round {result.utility.round}; which defense was in place is not recorded",
            *((f"not recorded but assumed: {settings}",) if settings else ()),
            *remarks_of(data),
        ),
    )
    return AttackAudit(request, data.name, settings, 1, target.release_phrase, [recorded])


def _assumptions(target: Target) -> tuple[str, ...]:
    """Settings that an attack on a recorded run needs, and that the record does not hold."""
    known = ("game", "recipe") if hasattr(target.settings, "recipe") else ()
    return (*known, "features") if getattr(target.settings, "features", "given") != "given" else known


def _check_applied(results: list[TrialResult]) -> None:
    """Refuses where no attack applied to any run: a table without a result reads as safety."""
    if any(r.attacked for r in results):
        return
    reasons = {name: reason for r in results for name, reason in r.refused.items()}
    raise InputError("no attack applies: " + "; ".join(f"{name}: {reason}" for name, reason in reasons.items()))


def _check_observers(attacks: tuple[AttackPlan, ...], target: Target) -> None:
    """Refuses a client that will not exist before anything runs."""
    clients = target.clients
    for plan in attacks:
        if plan.observer == find("attacks", plan.name).observer:
            continue  # nobody asked for it: the attack is left out where it has no place
        for member in observer_members(plan.observer):
            number = member.partition(":")[2]
            if clients == 0 and number:
                raise InputError(f"no party '{member}' in this run: it has no clients (--set clients=4 makes some)")
            if clients is not None and number and int(number) >= clients:
                raise InputError(
                    f"no party '{member}' in this run: its clients are client:0 to client:{clients - 1}"
                )


def asked_graph(request: AttackRequest) -> Data:
    """The graph of a request.

    A recorded run was trained on somebody's split: one that is drawn here would make up the truth.
    """
    name = request.dataset if request.graph is None else request.graph
    plain = find("targets", request.target).plain
    return graph_of(name, request.graph is not None, draw_split=request.transcript is None, plain=plain)


def asked_target(request: AttackRequest, data: Data) -> Target:
    """The target of a request, with every option that concerns it."""
    options = {"ratio": request.ratio, "ratio_of": request.ratio_of, "device": request.device}
    given = {key: value for key, value in options.items() if value is not None}
    transfer = {"transfer": True} if request.transfer else {}
    return target_of(request.target, request.preset, data, given, transfer, request.settings or {})


def defense_settings(text: str, request: AttackRequest) -> dict[str, Any]:
    """Its preset, its own settings, and the strength that was asked for if it has one."""
    name, own = read_defense(text)
    kind: type[Defense] = find("defenses", name)
    settings = {**kind.preset(request.preset), **own}
    if request.strength is not None and kind.strength is not None:
        if own.get(kind.strength, request.strength) != request.strength:
            raise InputError(
                f"--strength {request.strength:g}: --defense {text} gives another '{kind.strength}', leave out one"
            )
        settings[kind.strength] = request.strength
    return settings


def _attack_plans(request: AttackRequest) -> tuple[AttackPlan, ...]:
    names = tuple(registered("attacks")) if "all" in request.attacks else tuple(dict.fromkeys(request.attacks))
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
    plans = []
    for name in names:
        kind: type[Attack[Any]] = find("attacks", name)
        observer = request.observer or kind.observer
        settings = {**kind.preset(request.preset), **_asked_for(kind, given)}
        plans += [AttackPlan(name, settings, observer, n) for n in asked]
    for plan in plans:
        plan.make()
    return tuple(plans)


def _asked_for(kind: type[Attack[Any]], given: dict[str, Any]) -> dict[str, Any]:
    """The settings that are meant for one attack: those that it has."""
    return {key: value for key, value in given.items() if key in kind.Settings.model_fields}


def _trial_plans(
    request: AttackRequest, target: Target, attacks: tuple[AttackPlan, ...], seeds: int, nodes: int
) -> list[TrialPlan]:
    """Seed by seed; the control is always among the defenses."""
    names = dict.fromkeys(("none", *(request.defenses or (target.published_defense,))))
    if request.strength is not None:
        _check_strength(tuple(read_defense(name)[0] for name in names))
    plans = []
    for index in range(seeds):
        for name, settings in _variants(names, request, nodes):
            plans.append(
                TrialPlan(
                    target=request.target,
                    target_settings=target.settings.model_dump(),
                    defense=name,
                    defense_settings=settings,
                    attacks=attacks,
                    seed=request.seed,
                    index=index,
                    timeline=request.timeline,
                )
            )
    for plan in plans[: len(plans) // seeds]:
        plan.make_defense()
    if request.save_transcripts is not None and getattr(target.settings, "split", "dataset") != "dataset":
        raise InputError(
            "--save-transcripts: members are drawn at random and a transcript does not say who they are: "
            "add --set split=dataset"
        )
    return list(_recording(plans, request.save_transcripts))


def _variants(names: Iterable[str], request: AttackRequest, nodes: int) -> list[tuple[str, dict[str, Any]]]:
    """Each defense with its settings; with ``sweep`` at each strength that it suggests, unless one is given."""
    found = []
    for text in names:
        name, settings = read_defense(text)[0], defense_settings(text, request)
        kind: type[Defense] = find("defenses", name)
        strengths = kind.strengths_for(nodes) if request.sweep and kind.strength not in settings else ()
        found += [(name, {**settings, str(kind.strength): value}) for value in strengths] or [(name, settings)]
    return found


def _check_strength(names: tuple[str, ...]) -> None:
    knobs = [name for name in names if find("defenses", name).strength is not None]
    if len(knobs) != 1:
        raise InputError(
            f"--strength needs exactly one defense with a strength, these have one: {', '.join(knobs) or 'none'}"
        )


def _recording(plans: list[TrialPlan], folder: str | None) -> Iterator[TrialPlan]:
    if folder is None:
        yield from plans
        return
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write transcripts to {folder}: {error.strerror or error}") from error
    taken: dict[str, int] = {}
    for plan in plans:
        name = f"{plan.defense}-seed{plan.index}"
        taken[name] = taken.get(name, 0) + 1
        again = f"-{taken[name]}" if taken[name] > 1 else ""  # the same defense with other settings
        yield replace(plan, transcript=str(place / f"{name}{again}.safetensors"))

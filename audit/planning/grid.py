"""From a plan to trials, each with a key that changes with everything that its result depends on."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ... import __version__
from ...attacks.attack import Attack
from ...errors import InputError
from ...graphs.pyg import size_of
from ...registry import find
from ...targets.defense import Defense
from ...targets.target import Target
from .observers import default_observer, observers_of
from .plan import Plan, PlannedTarget, is_file
from .resolve import graph_of, target_of
from .trial_plan import AttackPlan, TrialPlan

if TYPE_CHECKING:
    from torch_geometric.data import Data

LIBRARIES = ("torch", "numpy", "scipy", "scikit-learn", "torch-geometric", "numba")


@dataclass(frozen=True)
class PlannedTrial:
    """One trial of an audit.

    Attributes:
        key: of its content: the same key, the same result.
        cell: index of the cell that it belongs to, or -1 for a planted leak.
        dataset: the graph's name.
        plan: the trial.
    """

    key: str
    cell: int
    dataset: str
    plan: TrialPlan

    @property
    def title(self) -> str:
        """As a reader calls it."""
        facts = self.plan.facts
        strength = "" if facts.strength is None else f", {facts.knob} {facts.strength:g}"
        return f"{self.plan.target} on {self.dataset}, {self.plan.defense}{strength}, seed {self.plan.index}"

    @property
    def shares(self) -> tuple[object, ...]:
        """Trials of which this is the same may share shadow models."""
        return self.cell, self.dataset, self.plan.seed, self.plan.index


@dataclass(frozen=True)
class Cell:
    """One target on one graph; ``size`` counts the graph's nodes, edges and classes (`graphs.pyg.size_of`)."""

    target: str
    settings: dict[str, Any]
    dataset: str
    release_phrase: str
    refused: dict[str, str]
    size: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not all(type(count) is int and count >= 0 for count in self.size.values()):
            raise ValueError("the size of a graph is counted in whole numbers")


@dataclass(frozen=True)
class Grid:
    """A plan with its graphs loaded.

    Attributes:
        cells: one for each target on each graph.
        tasks: all trials in the order of the plan; planted leaks first.
        graphs: by name.
        fingerprint: of what is measured, without the code that does it.
    """

    cells: tuple[Cell, ...]
    tasks: tuple[PlannedTrial, ...]
    graphs: dict[str, Data]
    fingerprint: str


def laid_out(plan: Plan, loaded: Mapping[str, Data] | None = None) -> Grid:
    """All trials of a plan.

    Args:
        plan: the plan.
        loaded: graphs by name that need not be read again.

    Raises:
        InputError: a graph cannot be read, or settings do not fit.
    """
    graphs = graphs_for(plan, loaded)
    digests = {name: digest_of(data) for name, data in graphs.items()}
    cells: list[Cell] = []
    tasks: list[PlannedTrial] = []
    mounted: list[tuple[Target, tuple[AttackPlan, ...]]] = []
    for planned in plan.target:
        for dataset in _datasets(plan, planned):
            target = target_of(planned.name, planned.preset or plan.preset, graphs[dataset], planned.settings)
            target.check(graphs[dataset])
            attacks = tuple(_attack_plans(plan, target))
            mounted.append((target, attacks))
            refused: dict[str, str] = {}
            for trial in _trials(planned, target, plan, attacks, refused, int(graphs[dataset].num_nodes or 0)):
                tasks.append(PlannedTrial(key_of(trial, digests[dataset]), len(cells), dataset, trial))
            _check_repetitions(plan, target)
            settings = target.settings.model_dump(mode="json")
            size = size_of(graphs[dataset])
            cells.append(Cell(target.name, settings, dataset, target.release_phrase, refused, size))
    for trial, dataset in _planted(plan, mounted):
        if dataset not in graphs:
            graphs[dataset] = graph_of(dataset, file=False)
            digests[dataset] = digest_of(graphs[dataset])
        tasks.append(PlannedTrial(key_of(trial, digests[dataset]), -1, dataset, trial))
    in_order = sorted(tasks, key=lambda task: task.cell)
    tasks = list({(task.cell, task.key): task for task in in_order}.values())
    return Grid(tuple(cells), tuple(tasks), graphs, fingerprint_of(tasks, digests))


def graphs_for(plan: Plan, loaded: Mapping[str, Data] | None = None) -> dict[str, Data]:
    """The graphs of a plan, and those that its targets bring, by name.

    Args:
        plan: the plan.
        loaded: graphs by name that need not be read again.

    Raises:
        InputError: a graph cannot be read.
    """
    kinds: list[type[Target]] = [find("targets", planned.name) for planned in plan.target]
    plain, drawn = all(kind.plain for kind in kinds), not any(kind.runs_elsewhere for kind in kinds)
    graphs, wanted = dict(loaded or {}), () if all(kind.brings_graph for kind in kinds) else plan.datasets
    graphs |= {name: graph_of(name, is_file(name), drawn, plain) for name in wanted if name not in graphs}
    return graphs | dict(_brought(plan))


def _brought(plan: Plan) -> Iterator[tuple[str, Data]]:
    """The graphs that targets bring, by name."""
    for planned in plan.target:
        if find("targets", planned.name).brings_graph:
            target: Target = find("targets", planned.name)(**planned.settings)
            yield target.graph_name, target.own_graph()


def _datasets(plan: Plan, planned: PlannedTarget) -> tuple[str, ...]:
    """Names of the graphs that a target runs on: the plan's, unless it brings its own."""
    kind: type[Target] = find("targets", planned.name)
    return (kind(**planned.settings).graph_name,) if kind.brings_graph else plan.datasets


def _check_repetitions(plan: Plan, target: Target) -> None:
    """A plan whose seeds are not those that were recorded would always lack some."""
    held = target.repetitions or plan.seeds
    if held not in (1, plan.seeds):
        raise InputError(
            f"the plan has seeds = {plan.seeds}, and what '{target.name}' reads holds {held} runs: set seeds = "
            f"{held}"
        )


def _attack_plans(plan: Plan, target: Target) -> Iterator[AttackPlan]:
    for planned in plan.attack:
        kind: type[Attack[Any]] = find("attacks", planned.name)
        settings = {**kind.preset(plan.preset), **planned.settings}
        for observer in observers_of(planned, target):
            for neighbours in planned.neighbours:
                yield AttackPlan(planned.name, settings, observer, neighbours)


def _trials(
    planned: PlannedTarget,
    target: Target,
    plan: Plan,
    attacks: tuple[AttackPlan, ...],
    refused: dict[str, str],
    nodes: int,
) -> Iterator[TrialPlan]:
    """Seed by seed, the control first; defenses that have no place in the target are noted in ``refused``."""
    variants = [
        (d.name, settings) for d in plan.defenses_of(planned) for settings in d.variants(plan.preset, nodes)
    ]
    fitting = []
    for name, settings in variants:
        defense: Defense = find("defenses", name)(**settings)
        reason = target.why_not(defense)
        if reason is None:
            fitting.append((name, settings))
        else:
            refused[name] = reason
    for index in range(target.repetitions or plan.seeds):
        own = target.repetition(index)
        for name, settings in fitting:
            yield TrialPlan(planned.name, own, name, settings, attacks, plan.seed, index, plan.timeline)


def _planted(plan: Plan, mounted: list[tuple[Target, tuple[AttackPlan, ...]]]) -> Iterator[tuple[TrialPlan, str]]:
    """For each planted leak the attacks that must find it, once; an attack that reads nothing finds nothing.

    Whoever mounts an attack on the target may receive nothing from the control: it is mounted there by its default.
    """
    for target, attacks in mounted:
        reading = [a for a in attacks if a.make().kinds()]
        leaks = [leak_for(find("attacks", a.name), target.plays) for a in reading]
        for name in dict.fromkeys(leaks):
            kind: type[Target] = find("targets", name)
            control = kind(**{**_alike(kind, target), **kind.imitating(target.like)})
            own = tuple(_mounted_on(control, a) for a, leak in zip(reading, leaks, strict=True) if leak == name)
            once = tuple({a.identity: a for a in own}.values())
            yield TrialPlan(name, control.settings.model_dump(), "none", {}, once, plan.seed, 0), str(kind.dataset)


def _mounted_on(control: Target, attack: AttackPlan) -> AttackPlan:
    return replace(attack, observer=default_observer(find("attacks", attack.name), control))


def leak_for(attack: type[Attack[Any]], plays: Collection[str]) -> str:
    """The control that an attack must find a leak in, beside a target that plays some games."""
    played = next((game for game in attack.games if game in plays), None)
    own: str = "" if played is None else find("games", played).planted
    return own or attack.planted


def _alike(control: type[Target], target: Target) -> dict[str, Any]:
    """The target's game, and as many clients as it has at least, where the control has settings for them.

    An attack may play one game only.
    """
    fields, alike = control.Settings.model_fields, dict[str, Any]()
    if "game" in fields and target.offers.game in get_args(fields["game"].annotation):
        alike["game"] = target.offers.game  # a leak of owners is planted in games of owners alone
    if target.offers.clients is not None and "clients" in fields:  # no fewer than it has: few subjects show nothing
        alike["clients"] = max(target.offers.clients, fields["clients"].default)
    return alike


def key_of(trial: TrialPlan, graph: str) -> str:
    """A digest of graph (rows in their order), settings, seed, code and the libraries that compute."""
    classes = [find("targets", trial.target), find("defenses", trial.defense), *trial.make_target().brought()]
    classes += [find("attacks", a.name) for a in trial.attacks]
    content = {
        "graph": graph,
        "trial": described(trial),
        "code": sorted({source_digest(OURS), *(code_of(c) for c in classes)}),
        "libraries": versions(),
        **_files(trial),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _files(trial: TrialPlan) -> dict[str, Any]:
    """Digests of the files that a trial reads besides the graph, where it reads any."""
    read = trial.make_target().reads
    return {"files": dict(read)} if read else {}


def described(trial: TrialPlan) -> dict[str, Any]:
    """A trial's plan as plain values."""
    return {
        "target": trial.target,
        "target_settings": find("targets", trial.target)(**trial.target_settings).settings.model_dump(mode="json"),
        "defense": trial.defense,
        "defense_settings": trial.make_defense().settings.model_dump(mode="json"),
        "attacks": [[*a.identity[:3], a.make().settings.model_dump(mode="json")] for a in trial.attacks],
        "seed": trial.seed,
        "index": trial.index,
        "timeline": trial.timeline,
    }


def fingerprint_of(tasks: list[PlannedTrial], digests: dict[str, str]) -> str:
    """A short digest of what is measured, without the code that does it."""
    rows = [
        {"graph": digests[t.dataset], "trial": described(t.plan), **_files(t.plan)} for t in tasks if t.cell >= 0
    ]
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]


def digest_of(data: Data) -> str:
    """Of a graph: features, labels, edges, masks and names, in the order of the rows."""
    import torch

    known = hashlib.sha256()
    for name in sorted(data.keys()):
        value = data[name]
        if isinstance(value, torch.Tensor):
            dense = value.to_dense() if value.layout != torch.strided else value
            known.update(f"{name} {dense.dtype} {tuple(dense.shape)}".encode())
            known.update(np.ascontiguousarray(dense.cpu().numpy()).tobytes())
    for names in (data.get("called"), data.get("types_called")):
        if names is not None:
            known.update(json.dumps(list(names)).encode())
    return known.hexdigest()


@cache
def _installed(library: str) -> str:
    return version(library)


def versions() -> dict[str, str]:
    """Of gaudit and of the libraries that compute."""
    ours = {"gaudit": __version__}
    return ours | {name: _installed(name) for name in LIBRARIES} | {"python": sys.version.split()[0]}


@cache
def code_of(kind: type | Callable[..., Any]) -> str:
    """A digest of the source that a class or a function comes from: its whole top-level package, or its module.

    A folder without an ``__init__.py`` is no package: there it is the module. What a notebook or a running script
    defines is known by its name alone, which tells its code (`own_functions`).
    """
    top = sys.modules.get(kind.__module__.partition(".")[0]) or import_module(kind.__module__.partition(".")[0])
    if getattr(top, "__file__", None) is None and kind.__module__ == "__main__":
        return ""
    file = Path(inspect.getsourcefile(kind if top.__file__ is None else top) or "")
    return source_digest(file.parent if file.name == "__init__.py" else file)


OURS = Path(__file__).parents[2]
PASSIVE = ("reports", "commands", "reproductions", "tests", "benchmarks", "docs", "build", "examples")
"""Folders of our package whose code no result depends on."""


@cache
def source_digest(place: Path) -> str:
    """A digest of a module, or of all modules under a folder."""
    known = hashlib.sha256()
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    for file in files:
        inside = file.relative_to(place).parts if file != place else (file.name,)
        if (place == OURS and inside[0] in PASSIVE) or any(part.startswith(".") for part in inside):
            continue
        known.update("/".join(inside).encode() + b"\0" + file.read_bytes())
    return known.hexdigest()

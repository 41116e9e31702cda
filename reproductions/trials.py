"""From a published table or figure to the trials that fill it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from ..audit.planning.grid import Cell, Grid, PlannedTrial, digest_of, fingerprint_of, key_of
from ..audit.planning.plan import Plan, PlannedTarget
from ..audit.planning.resolve import merged, target_of
from ..audit.planning.trial_plan import AttackPlan, TrialPlan
from ..graphs.pyg import size_of
from ..registry import find
from .experiment import Experiment, Measure, Row

if TYPE_CHECKING:
    from torch_geometric.data import Data

At = int | float | str | None
ROUND = "round"
"""The axis that is the releases of one run."""


@dataclass(frozen=True)
class CellTrial:
    """One run of a cell.

    Attributes:
        row: how the system runs.
        dataset: on which graph.
        at: place of the axis; None without one, and where one run gives all places.
        tried: settings of which validation chooses.
        quick: whether it is a short run.
        plan: the trial.
    """

    row: Row
    dataset: str
    at: At
    tried: dict[str, Any] = field(default_factory=dict)
    quick: bool = False
    plan: TrialPlan = field(kw_only=True)

    @property
    def name(self) -> tuple[str, str, At, str, int, bool]:
        """What tells it from all others of its table."""
        return self.dataset, self.row.name, self.at, repr(sorted(self.tried.items())), self.plan.index, self.quick


def trials_of(
    experiment: Experiment, dataset: str, data: Data, seeds: range, quick: bool = False
) -> list[CellTrial]:
    """All trials of a table or figure on one graph, seed by seed.

    Args:
        experiment: what is reproduced.
        dataset: name of the graph.
        data: the graph.
        seeds: which repetitions.
        quick: with the settings for a first look.
    """
    cells = list(_cells(experiment, dataset))
    return [
        CellTrial(
            row, dataset, at, tried, quick, plan=_plan(experiment, row, dataset, data, at, tried, seed, quick)
        )
        for seed in seeds
        for row, at, tried in cells
    ]


def _cells(experiment: Experiment, dataset: str) -> Iterator[tuple[Row, At, dict[str, Any]]]:
    for row in experiment.rows_on(dataset):
        for at in (None,) if in_one_run(experiment, row) else experiment.places(dataset, row):
            for values in product(*row.tried.values()):
                yield row, at, dict(zip(row.tried, values, strict=True))


def _plan(
    experiment: Experiment,
    row: Row,
    dataset: str,
    data: Data,
    at: At,
    tried: dict[str, Any],
    seed: int,
    quick: bool,
) -> TrialPlan:
    kind = find("targets", row.target)
    settings = kind.preset("paper", data)
    for over in (*experiment.settings_of(row, dataset), _nested(tried)):
        settings = merged(settings, over)
    strength = dict(row.strength)
    if quick:
        settings = merged(settings, experiment.quick.get(row.target, {}))
        strength |= experiment.quick_strength.get(row.defense, {})
    if experiment.axis is not None and at is not None:
        setting = experiment.axis.setting_of(row.target)
        part, _, name = setting.partition(".")
        if part == "defense":
            strength |= {name: at}
        else:
            settings = merged(settings, _nested({setting: at}))
    attacks = {a.identity: a for m in experiment.measures_of(row) if (a := mounted(m)) is not None}
    others = any(m.release != "chosen" and m.attack for m in experiment.measures_of(row))
    timeline = others or in_one_run(experiment, row)
    mounting = tuple(attacks.values())
    return TrialPlan(row.target, settings, row.defense, strength, mounting, 0, seed, timeline)


def in_one_run(experiment: Experiment, row: Row) -> bool:
    """Whether the places of the axis are releases of one run."""
    return experiment.axis is not None and not row.once and experiment.axis.setting_of(row.target) == ROUND


def _nested(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by their names with dots, as tables within tables."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        *outer, last = name.split(".")
        inner: dict[str, Any] = {last: value}
        for part in reversed(outer):
            inner = {part: inner}
        found = merged(found, inner)
    return found


def mounted(measure: Measure) -> AttackPlan | None:
    """The attack whose number a measure is."""
    if measure.attack is None:
        return None
    return AttackPlan(measure.attack, dict(measure.settings), measure.observer)


def grid_of(
    experiment: Experiment, trials: list[CellTrial], graphs: dict[str, Data], seeds: int
) -> tuple[Plan, Grid]:
    """What a ledger keeps: a plan with the names of all, and the trials in its grid.

    Raises:
        InputError: settings do not fit, or a defense has no place in a target.
    """
    digests = {name: digest_of(data) for name, data in graphs.items()}
    cells: dict[tuple[Any, ...], Cell] = {}
    places: dict[tuple[Any, ...], int] = {}
    tasks = []
    for trial in trials:
        name = trial.name[:-2]
        if name not in cells:
            places[name] = len(cells)
            target = target_of(trial.plan.target, "paper", graphs[trial.dataset], trial.plan.target_settings)
            settings, size = target.settings.model_dump(mode="json"), size_of(graphs[trial.dataset])
            cells[name] = Cell(target.name, settings, trial.dataset, target.release_phrase, {}, size)
        key = key_of(trial.plan, digests[trial.dataset])
        tasks.append(PlannedTrial(key, places[name], trial.dataset, trial.plan))
    planned = tuple(PlannedTarget(name=name) for name in dict.fromkeys(t.plan.target for t in trials))
    plan = Plan(name=experiment.name, preset="paper", datasets=tuple(graphs), seeds=seeds, target=planned)
    return plan, Grid(tuple(cells.values()), tuple(tasks), graphs, fingerprint_of(tasks, digests))

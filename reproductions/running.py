"""Runs the trials of a table or figure that are not recorded yet, through a ledger."""

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..audit.planning.resolve import graph_of
from ..audit.running.ledger import Ledger
from ..audit.running.runner import run_audit
from ..graphs.pyg import size_of
from .experiment import GRAPH, Experiment
from .measures import read_off
from .records import Record
from .trials import CellTrial, grid_of, trials_of


def planned_trials(experiment: Experiment, seeds: range, quick: bool) -> tuple[list[CellTrial], dict[str, Any]]:
    """All trials of a table or figure, and its graphs by name.

    Raises:
        InputError: a graph cannot be read.
    """
    graphs = {name: graph_of(name, file=False) for name in experiment.datasets}
    return [t for name, data in graphs.items() for t in trials_of(experiment, name, data, seeds, quick)], graphs


def run_trials(
    experiment: Experiment,
    trials: list[CellTrial],
    graphs: dict[str, Any],
    seeds: int,
    ledger_file: Path,
    how: dict[str, Any],
    noted: Callable[[str, Record], None],
) -> list[Record]:
    """Runs what the ledger does not hold, and reads every number off the results.

    Args:
        experiment: what is reproduced.
        trials: of it.
        graphs: by name.
        seeds: how many there are.
        ledger_file: where every trial is kept.
        how: arguments of `run_audit`.
        noted: called with the title of a trial that has ended here, and what it measured.
    """
    plan, grid = grid_of(experiment, trials, graphs, seeds)
    by_key: dict[str, list[CellTrial]] = {}  # two rows may be one trial
    for task, trial in zip(grid.tasks, trials, strict=True):
        by_key.setdefault(task.key, []).append(trial)
    with Ledger(ledger_file, write=True) as ledger:

        def note(task: Any, done: Any) -> None:
            for trial in by_key[task.key]:
                noted(task.title, _record(experiment, trial, _result(done), done.seconds, done.reason))

        run_audit(plan, grid, ledger, note, **how)
        content = ledger.content()
        ended = [(key, trial) for key, own in by_key.items() for trial in own]
        return [
            _record(experiment, trial, content.results.get(key), content.seconds[key], content.failures.get(key))
            for key, trial in ended
            if key in content.seconds
        ]


def counted(experiment: Experiment) -> list[Record]:
    """Nodes, edges, features and classes of graphs: what a table of statistics prints."""
    found = []
    for name in experiment.datasets:
        data = graph_of(name, file=False)
        size = {**size_of(data), "features": int(data.num_features)}
        values = {measure.key: float(size[measure.key]) for measure in experiment.measure}
        found.append(Record(name, GRAPH, 0, values=values, made_by=_made_by()))
    return found


def _made_by() -> str:
    return f"gaudit {__version__}, {datetime.now(UTC).date()}"


def _result(done: Any) -> Any:
    from ..audit.running.serialization import loads

    return None if done.result is None else loads(done.result, trust_code=True)


def _record(experiment: Experiment, trial: CellTrial, result: Any, seconds: float, refused: str | None) -> Record:
    record = Record(
        trial.dataset,
        trial.row.name,
        trial.plan.index,
        trial.at,
        tried=trial.tried,
        seconds=seconds,
        quick=trial.quick,
        made_by=_made_by(),
    )
    if result is None:
        return replace(record, refused=refused or "failed")
    validation = result.utility.validation
    values = read_off(experiment, trial.row, result, seconds)
    return replace(record, values=values, validation=None if math.isnan(validation) else validation)

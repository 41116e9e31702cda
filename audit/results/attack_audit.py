"""What `gaudit attack` does: the audit of a small plan, in a ledger that nobody keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import InputError
from ...targets.target import Target
from ..planning.automatic import Choice, automatic
from ..planning.estimates import GIB, estimates, fitting, free_memory
from ..planning.grid import Grid, PlannedTrial, laid_out
from ..planning.plan import Plan
from ..planning.request import AttackRequest, picks, plan_of, recording
from ..running.attempt import Done
from ..running.ledger import Ledger
from ..running.runner import Noted, run_audit
from ..statistics.vulnerability import as_csv
from .assemble import assemble
from .audit_result import Audit, AuditControl
from .outcome import DefenseOutcome
from .outcomes import SCHEMA

if TYPE_CHECKING:
    from torch_geometric.data import Data

Report = Callable[[str, str, int, int], None]
"""Called as trials get on (`attempt.Report`), and with an empty title when one ends: its title, how many have."""


@dataclass(frozen=True)
class AttackAudit:
    """What came out, with what is needed to do it again.

    Attributes:
        request: what was asked for.
        dataset: the graph's name.
        target_settings: presets resolved.
        release_phrase: how a sentence calls what an outsider holds.
        outcomes: the undefended control first.
        controls: checks of the audit itself: permuted truth, planted leaks, shadow models.
        choice: which attacks were chosen and which left out, where nobody named any.
    """

    request: AttackRequest
    dataset: str
    target_settings: dict[str, Any]
    release_phrase: str
    outcomes: tuple[DefenseOutcome, ...]
    controls: tuple[AuditControl, ...]
    choice: Choice | None = None

    @property
    def valid(self) -> bool:
        """Whether every control holds; if not, no number in it means anything."""
        return all(control.passed for control in self.controls)

    @property
    def seeds(self) -> int:
        """How many repetitions ran."""
        return len(self.target_settings.get("transcripts", ())) or self.request.repetitions

    def headline(self) -> str:
        """What was audited, in a line."""
        if "transcripts" in self.target_settings:
            files, pipeline = self.target_settings["transcripts"], self.target_settings["pipeline"]
            of = f", recorded from {pipeline}" if pipeline else ""
            return f"{', '.join(files)}{of}, on {self.dataset}"
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
            "valid": self.valid,
            "controls": [vars(control) for control in self.controls],
            "outcomes": [o.as_dict() for o in self.outcomes],
            "summary": summary,
        }
        return json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n"


def run_attack(request: AttackRequest, report: Report) -> AttackAudit:
    """Runs the undefended control, the asked (or published) defenses, all attacks and seeds, and the controls.

    Raises:
        InputError: something in the request does not exist or does not fit, a trial will not fit into memory, or
            one could not be run.
    """
    plan, data, target, grid = _laid(request)
    grid = recording(grid, request.save_transcripts)
    workers = request.workers if request.device == "cpu" else 1
    alone = workers is None and sum(task.cell >= 0 for task in grid.tasks) == 1
    if not request.anyway:
        fits = fitting(grid, {task.key for task in grid.tasks}, 1 if alone else workers, free_memory())
        workers = workers if alone else fits
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "attack.db", write=True) as ledger:
        try:
            run_audit(plan, grid, ledger, _told(grid, report), workers, report=report, here=alone)
        except KeyboardInterrupt as stop:
            ran, trials = len(ledger.done()), len({task.key for task in grid.tasks})
            raise type(stop)(
                f"{ran} of {trials} trials had run. No result is kept: only 'gaudit audit' keeps them."
            ) from stop
        audit = assemble(ledger.content())
    outcomes = _outcomes(audit, {task.title for task in grid.tasks if task.cell >= 0})
    settings = target.settings.model_dump(mode="json")
    choice = automatic(target, request.observer, request.attacks) if picks(request) else None
    return AttackAudit(request, data.name, settings, target.release_phrase, outcomes, audit.controls, choice)


def foretold(request: AttackRequest) -> list[str]:
    """What the trials of a request take, and what memory there is, in sentences; nothing is run.

    Raises:
        InputError: something in the request does not exist or does not fit.
    """
    *_, grid = _laid(request)
    free = free_memory()
    left = "Nobody tells how much memory there is." if free is None else f"{free / GIB:.1f} GiB of memory are free."
    asked = sum(task.cell >= 0 for task in grid.tasks)
    leaks = len(grid.tasks) - asked
    return [f"Trials to run: {asked}. Planted leaks beside them: {leaks}.", *estimates(grid), left]


def _laid(request: AttackRequest) -> tuple[Plan, Data, Target, Grid]:
    """A request's plan, graph, target and trials; every defense has its place."""
    plan, data, target = plan_of(request)
    grid = laid_out(plan, dict.fromkeys(plan.datasets, data))
    for name, reason in grid.cells[0].refused.items():
        raise InputError(f"the defense '{name}' has no place in the target '{request.target}': {reason}")
    return plan, data, target, grid


def _told(grid: Grid, report: Report) -> Noted:
    """Tells of each trial that ended, but for planted leaks, which end sooner than trials that are asked for."""
    left = {task.key for task in grid.tasks if task.cell >= 0}
    trials = len(left)

    def noted(task: PlannedTrial, done: Done) -> None:
        left.discard(task.key)
        report("", task.title, trials - len(left), trials)

    return noted


def _outcomes(audit: Audit, trials: set[str]) -> tuple[DefenseOutcome, ...]:
    """Those of the one target. A failed trial, and a table without a result, are refused: they read as safety.

    A planted leak that could not be tried is a control that failed.
    """
    for failure in audit.failures:
        if failure.trial in trials:
            raise InputError(failure.reason)
    (section,) = audit.sections
    if not any(outcome.attacks for outcome in section.outcomes):
        reasons = {name: why for outcome in section.outcomes for name, why in outcome.refused.items()}
        raise InputError("no attack applies: " + "; ".join(f"{name}: {why}" for name, why in reasons.items()))
    return section.outcomes

"""Puts an audit's trials together: sections, verdicts, and the checks of the audit itself."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import InputError
from ..planning.grid import Cell, Grid, PlannedTrial
from ..planning.plan import Plan
from ..planning.trial_plan import AttackPlan
from ..running.ledger import Content, Ledger
from ..running.trial import TrialResult
from ..statistics.finding import Finding
from ..statistics.severity import Scale
from .audit_result import Audit, AuditControl, Failure, NotRun, Point, Section, Timing, titled
from .outcome import CONTROL, AttackOutcome, DefenseOutcome
from .outcomes import differing, outcomes
from .verdict import Verdict, verdict

PLANTED = "planted leak"
PLANTED_AUC = 0.75
"""What an attack must reach on a planted leak: the members are learned by heart there."""
SHADOW_GAP = 0.15
"""How far shadow models may be from the undefended target in accuracy before they say nothing about it."""


def read_audit(path: str | os.PathLike[str], trust_code: bool = False) -> Audit:
    """The audit that a ledger holds.

    Args:
        path: of the ledger, which is data: no code that it names is run.
        trust_code: import a ``module:Class`` that it names after all.

    Raises:
        InputError: as `Ledger` does, there is no plan in it, or what it holds makes no sense.
    """
    with Ledger(Path(path)) as ledger:  # guesses are read when they are summed up
        content = ledger.content(trust_code)
        try:
            return assemble(content)
        except InputError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"the ledger {path} is damaged: its numbers make no sense ({type(error).__name__}: {error})"
            ) from error


def assemble(content: Content) -> Audit:
    """The audit of a plan from what has run so far."""
    plan, grid, results, failures = content.plan, content.grid, content.results, content.failures
    sections: list[Section] = []
    controls: list[AuditControl] = []
    not_run: list[NotRun] = []
    for index, cell in enumerate(grid.cells):
        planned = [t for t in grid.tasks if t.cell == index]
        done = [results[t.key] for t in planned if t.key in results]
        alike = [c.settings for c in grid.cells if (c.target, c.dataset) == (cell.target, cell.dataset)]
        variant = differing(cell.settings, alike)
        lacking = tuple(_not_run(titled(cell.target, cell.dataset, variant), planned, results, failures))
        not_run += lacking
        if done:
            section = _section(cell, done, plan, variant, lacking)
            sections.append(section)
            controls += _checks(section)
    controls = [*_planted(grid, results, failures, _measured(sections)), *controls]
    tasks = {t.key: t for t in grid.tasks}.values()  # cells may share trials
    failed = tuple(Failure(t.title, failures[t.key]) for t in tasks if t.key in failures)
    missing = sum(t.key not in results and t.key not in failures for t in tasks)
    timings = tuple(
        Timing(t.title, t.key in failures, content.seconds[t.key]) for t in tasks if t.key in content.seconds
    )
    return Audit(
        plan,
        grid.fingerprint,
        tuple(sections),
        tuple(controls),
        failed,
        missing,
        content.versions,
        timings,
        not_run=tuple(not_run),
    )


def _not_run(
    title: str, planned: Sequence[PlannedTrial], results: Mapping[str, TrialResult], failures: Mapping[str, str]
) -> Iterator[NotRun]:
    """Each defense of a cell of which no trial has a result."""
    groups: dict[tuple[str, str], list[PlannedTrial]] = {}
    for task in planned:
        settings = json.dumps(task.plan.defense_settings, sort_keys=True)
        groups.setdefault((task.plan.defense, settings), []).append(task)
    for tasks in groups.values():
        if any(task.key in results for task in tasks):
            continue
        first, failed = tasks[0], next((failures[t.key] for t in tasks if t.key in failures), "")
        trial = first.plan
        yield NotRun(title, trial.target, first.dataset, trial.defense, trial.facts.strength, trial.attacks, failed)


def _section(
    cell: Cell, done: list[TrialResult], plan: Plan, variant: str, not_run: tuple[NotRun, ...] = ()
) -> Section:
    scale, listed = plan.severity, {defense.name for defense in plan.defense}
    ordered = sorted(outcomes(done, CONTROL, scale.fpr), key=lambda o: o.defense != CONTROL)
    # who lists a trivial alternative wants it tried as a defense
    found = [replace(o, alternative=o.alternative and o.defense not in listed) for o in ordered]
    return Section(
        cell.target,
        cell.settings,
        cell.dataset,
        cell.release_phrase,
        tuple(sorted({result.plan.index for result in done})),
        tuple(found),
        tuple(tuple(_judged(attack, scale) for attack in outcome.attacks) for outcome in found),
        cell.refused,
        variant,
        cell.size,
        not_run,
    )


def _judged(attack: AttackOutcome, scale: Scale) -> Verdict | None:
    """An attack that reads no message is a baseline, not a finding."""
    return verdict(attack, scale) if attack.plan.facts.reads else None


def _measured(sections: Sequence[Section]) -> set[tuple[str, ...]]:
    """The attacks, whoever mounted them, that found something or nothing in some section."""
    return {_whoever(a.plan) for section in sections for o in section.outcomes for a in o.attacks}


def _whoever(plan: AttackPlan) -> tuple[str, ...]:
    """What tells an attack from others but for who mounts it: on a control that may be somebody else."""
    return replace(plan, observer="").identity


def _planted(
    grid: Grid, results: Mapping[str, TrialResult], failures: Mapping[str, str], measured: set[tuple[str, ...]]
) -> Iterator[AuditControl]:
    """Every attack of the plan must find the leak that was planted for it.

    One that found nothing there because it was never tried may find nothing elsewhere either: where it was
    measured, that fails too. Before the trial has run there is nothing to say.
    """
    for task in grid.tasks:
        if task.cell >= 0:
            continue
        if task.key in failures:
            yield AuditControl(PLANTED, task.title, False, f"it could not be tried: {failures[task.key]}")
        if task.key not in results:
            continue
        tried = set()
        for outcome in outcomes([results[task.key]]):
            for attack in outcome.attacks:
                tried.add(_whoever(attack.plan))
                found = (attack.auc.estimate or 0) >= PLANTED_AUC and (attack.auc.low or 0) > 0.5
                detail = f"AUC {attack.auc.text(2)} where every member is learned by heart"
                yield AuditControl(PLANTED, named(attack), found, detail)
        for plan in task.plan.attacks:
            if _whoever(plan) in measured - tried:
                why = [r for title, r in results[task.key].refused.items() if title.partition(" (")[0] == plan.name]
                yield AuditControl(PLANTED, _called(plan), False, f"it could not be tried: {'; '.join(why)}")


def _checks(section: Section) -> Iterator[AuditControl]:
    for outcome in section.outcomes:
        for attack in outcome.attacks:
            about = f"{named(attack)}, {section.title}, {outcome.label}"
            seen = f"AUC {attack.null.text(2)} with the truth permuted"
            detail = seen if attack.null_tells else f"{seen}; {attack.null.note}"
            yield AuditControl("null", about, attack.valid, detail, attack.null_tells)
            if outcome.defense == CONTROL and attack.accuracies is not None:
                yield _shadow_accuracy(about, *attack.accuracies)


def _shadow_accuracy(about: str, target: float, shadow: float) -> AuditControl:
    """Defended targets may well be worse than models trained without the defense: only the control is checked."""
    near = abs(target - shadow) <= SHADOW_GAP
    return AuditControl(
        "shadow accuracy", about, near, f"shadow models {shadow:.1%}, target {target:.1%} on the same nodes"
    )


def named(attack: AttackOutcome) -> str:
    """An attack as a reader tells it from others."""
    return _called(attack.plan) + (f", {attack.variant}" if attack.variant else "")


def _called(plan: AttackPlan) -> str:
    return f"{plan.name} by {plan.observer}" + ("" if plan.neighbours == "true" else f", edges {plan.neighbours}")


def curve(section: Section, identity: tuple[str, ...]) -> list[Point]:
    """The privacy-utility points of one attack (`AttackPlan.identity`): accuracy against AUC.

    In the order of families and, within one, of strength. The Pareto front is that of the estimates.
    """
    pairs = [(o, a) for o in section.outcomes for a in o.attacks if a.plan.identity == identity]
    known = [(o, a) for o, a in pairs if o.accuracy.estimate is not None and a.auc.estimate is not None]
    points = [
        Point(
            o.label,
            o.defense,
            o.strength,
            o.accuracy,
            a.auc,
            _undominated(o.accuracy, a.auc.turned, known),
            _role(o),
        )
        for o, a in known
    ]
    families = list(dict.fromkeys(p.family for p in points))
    return sorted(points, key=lambda p: (families.index(p.family), p.strength or 0))


def _undominated(utility: Finding, leak: Finding, others: Sequence[tuple[DefenseOutcome, AttackOutcome]]) -> bool:
    """No other has at least as much utility and at most as much leak, and one of the two strictly."""
    mine = (utility.estimate or 0.0, -(leak.estimate or 0.0))
    theirs = [(o.accuracy.estimate or 0.0, -(a.auc.turned.estimate or 0.0)) for o, a in others]
    return not any(t != mine and t[0] >= mine[0] and t[1] >= mine[1] for t in theirs)


def _role(outcome: DefenseOutcome) -> str:
    if outcome.defense == CONTROL:
        return "control"
    return "alternative" if outcome.alternative else "defense"

"""An audit on a terminal: what is to run, how long it may take, and what came out."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from rich.console import Console
from rich.table import Table

from ...audit.planning.grid import Grid
from ...audit.results.audit_result import AttackFinding, Audit, Section
from ...audit.statistics.severity import Scale
from ...registry import installed, is_installed
from ..text.answers import rate_at
from ..text.short_answer import short_answer
from .brief_console import findings_table, held, notes
from .plain_console import say_on


def plan_table(grid: Grid, done: set[str]) -> Table:
    """Trials of each target on each graph, and how many of them the ledger has."""
    table = Table(title="Trials", title_justify="left")
    for column in ("target", "graph", "defenses", "seeds", "attacks", "trials", "in the ledger"):
        table.add_column(column, justify="right" if column in ("seeds", "attacks", "trials") else "left")
    for index, cell in enumerate(grid.cells):
        tasks = [t for t in grid.tasks if t.cell == index]
        strengths = Counter(t.plan.defense for t in tasks if t.plan.index == 0)
        names = ", ".join(f"{name} x {n}" if n > 1 else name for name, n in strengths.items())
        if is_installed("targets", cell.target) and installed("targets", cell.target).runs_elsewhere:
            names = "as recorded"
        if cell.refused:
            names += f" (no place for {', '.join(cell.refused)})"
        seeds = len({t.plan.index for t in tasks})
        kept = sum(t.key in done for t in tasks)
        table.add_row(
            cell.target,
            cell.dataset,
            names,
            str(seeds),
            str(len(tasks[0].plan.attacks)),
            str(len(tasks)),
            str(kept),
        )
    controls = [t for t in grid.tasks if t.cell < 0]
    kept = sum(t.key in done for t in controls)
    table.add_row("planted leak", "planted", "", "", "", str(len(controls)), str(kept))
    return table


def estimate(grid: Grid, seconds: Mapping[str, float], done: set[str], workers: int | None) -> str:
    """How long the rest may take, from the trials that have run."""
    left = 0.0
    for cell in {t.cell for t in grid.tasks}:
        tasks = [t for t in grid.tasks if t.cell == cell]
        known = [seconds[t.key] for t in tasks if t.key in seconds]
        missing = sum(t.key not in seconds for t in tasks)
        left += missing * sum(known) / max(len(known), 1)
    side_by_side = workers or os.cpu_count() or 1
    count = sum(t.key not in done for t in grid.tasks)
    return (
        f"{count} trials to run: about {in_words(left)} of CPU time, {in_words(left / side_by_side)} with "
        f"{side_by_side} side by side. Defenses may take longer than the undefended trial that this is judged by."
    )


def in_words(seconds: float) -> str:
    """A time as a reader says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def print_audit(console: Console, audit: Audit, verbose: bool = False) -> None:
    """Whether the audit holds, the answers, then its findings; all numbers and what levels mean if ``verbose``."""

    say = partial(say_on, console)
    for line in _state(audit):
        say(line, "bold red")
    if audit.valid and audit.findings():
        for section in audit.sections:
            for line in _answers(section, audit):
                say(line, "bold")
        for section in audit.sections:
            say("")
            say(f"{section.title}, {len(section.seeds)} seed{'s' if len(section.seeds) != 1 else ''}")
            console.print(findings_table(section.outcomes, audit.plan.severity))
            for line in notes(section.outcomes):
                say(line, "yellow")
        say(held(audit.controls))
        if verbose:
            console.print(_findings(audit))
            say(_legend(audit.plan.severity))
    if verbose:
        for line in dict.fromkeys(_refused(audit)):
            say(line, "yellow")


def _answers(section: Section, audit: Audit) -> list[str]:
    if not any(a.plan.facts.reads for o in section.outcomes for a in o.attacks):
        return []
    found = short_answer(section.outcomes, section.release_phrase, audit.plan.severity)
    start = f"{section.title}: " if len(audit.sections) > 1 else ""
    return [f"{start}{found[0]}", *found[1:]]


def _legend(scale: Scale) -> str:
    rate = f"{100 * scale.fpr:g} % FPR"
    return (
        f"Level: by the lower bound of TPR / FPR at {rate}, where an attack beats chance and every blind baseline: "
        f"low, from {scale.moderate:g} moderate, from {scale.high:g} high, from {scale.severe:g} severe. "
        "Leak found, size not measurable: too few non-members for that rate, or too few people exposed. "
        "Inconclusive: neither a leak nor its absence is shown."
    )


def _state(audit: Audit) -> list[str]:
    failed = [c for c in audit.controls if not c.passed]
    lines = [f"INVALID: the control '{c.name}' failed for {c.about}: {c.detail}" for c in failed]
    if failed:
        lines.append("Its numbers mean nothing: no verdict is given.")
    lines += [f"FAILED: {f.trial}: {f.reason}" for f in audit.failures]
    if audit.missing:
        lines.append(f"INCOMPLETE: {audit.missing} trials have not run yet.")
    return lines


def _refused(audit: Audit) -> Iterator[str]:
    for section in audit.sections:
        for outcome in section.outcomes:
            for attack, why in outcome.refused.items():
                yield f"Not tested: {attack} on {section.title}, {outcome.label}: {why}"


def _findings(audit: Audit) -> Table:
    scale = audit.plan.severity
    table = Table(title=f"Findings ({_held(audit)})", title_justify="left")
    rate = f"TPR at {100 * scale.fpr:g} % FPR"
    for column in ("target", "defense", "accuracy or utility %", "attack", "AUC", "blind", rate, "level"):
        table.add_column(column)
    before: tuple[str, str] | None = None
    for place in audit.findings():
        here = (place.section.title, place.outcome.label)
        if before is not None and here[0] != before[0]:
            table.add_section()
        table.add_row(*_head(place, before), *_cells(place, scale.fpr))
        before = here
    return table


def _held(audit: Audit) -> str:
    """How many controls hold, and how many could not have failed."""
    unsure = sum(not control.tells for control in audit.controls)
    held = f"{sum(c.passed and c.tells for c in audit.controls)} of {len(audit.controls)} controls hold"
    return f"{held}, {unsure} could not tell" if unsure else held


def _head(place: AttackFinding, before: tuple[str, str] | None) -> tuple[str, ...]:
    title, label = place.section.title, place.outcome.label
    if before == (title, label):
        return "", "", ""
    return "" if before is not None and before[0] == title else title, label, place.outcome.accuracy.text(1, True)


def _cells(place: AttackFinding, fpr: float) -> tuple[str, ...]:
    from ...audit.results.assemble import named

    a = place.attack
    rate = rate_at(a, fpr)
    level = "baseline" if place.verdict is None else str(place.verdict.level)
    return named(a), a.auc.text(3), a.blind.text(3), "" if rate is None else rate.text(3), level

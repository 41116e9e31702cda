"""Tables of what was measured: the same numbers as the figures."""

import math
from collections.abc import Callable, Sequence

from ...audit.results.audit_result import Point
from ...audit.results.outcome import AttackOutcome, DefenseOutcome
from ...audit.statistics.finding import Finding
from ...audit.statistics.identity_metrics import CROWDS, NAMED
from ...targets.game import THIRDS
from ..text.answers import rate_of
from ..text.table import Table
from ..text.words import gain
from .roc_chart import RocCurve, named_at

GRID = (0.001, 0.01, 0.05, 0.1, 0.5)
"""False-positive rates that a table of counts tells beside the decisive one."""


def counts_table(curves: Sequence[RocCurve], decisive: float) -> Table:
    """How many are named and wrongly accused along each ROC curve.

    A rate that was measured with an interval is the same number here as in every other table and sentence; the
    others are read off the drawn curve, in which all runs are taken together.
    """
    columns = ("defense", "at most wrongly accused", "of non-members", "named", "of members", "measurable")
    rows = tuple(
        _counts(curve, rate, named_share(curve, rate))
        for curve in curves
        for rate in sorted({*GRID, decisive, *(rate for rate, _ in curve.rates)})
    )
    caption = "Members named and non-members wrongly accused"
    note = (
        "Where a rate was measured with an interval, its estimate stands here, with people of equal score in a "
        "random order; the other rows are counted over all runs together, as the curve is drawn."
    )
    return Table(caption, columns, rows, (1, 2, 3, 4), note)


def _counts(curve: RocCurve, rate: float, named: float) -> tuple[str, ...]:
    roc = curve.roc
    return (
        curve.label,
        f"{100 * rate:.4g} %",
        f"{round(rate * roc.non_members)} of {roc.non_members}",
        f"{100 * named:.1f} %",
        f"{round(named * roc.members)} of {roc.members}",
        "yes" if rate >= roc.measurable - 1e-9 else "no",
    )


def named_share(curve: RocCurve, rate: float) -> float:
    """The share of members named at a false-positive rate: as measured with an interval, else as drawn."""
    measured = (f.estimate for at, f in curve.rates if math.isclose(at, rate) and f.estimate is not None)
    return next(measured, named_at(curve.roc, rate))


def rates_table(caption: str, rows: Sequence[tuple[str, AttackOutcome]]) -> Table:
    """What was measured of one attack under each defense."""
    rates = sorted(rate_of(f) for f in rows[0][1].tpr)
    crowds = [name for name in (NAMED, *CROWDS, "missed") if name in rows[0][1].more]
    named = (f"named at {100 * r:g} %" for r in rates)
    columns = ("defense", "AUC", *named, "members", "non-members", "runs", *crowds)
    cells = tuple(
        (
            label,
            attack.auc.text(3),
            *(f.text(1, percent=True) for f in sorted(attack.tpr, key=rate_of)),
            str(attack.auc.members),
            str(attack.auc.non_members),
            str(attack.auc.seeds),
            *(attack.more[name].text(1, percent=True) for name in crowds),
        )
        for label, attack in rows
    )
    return Table(caption, columns, cells, tuple(range(1, len(columns))))


def baselines_table(defense: str, attack: AttackOutcome) -> Table:
    """What the public graph alone tells, and what the attack adds to it under one defense."""
    rows = [("the attack, without the release", attack.blind.text(2), attack.beyond_blind.text(2))]
    rows += [(name, b.auc.text(2), b.beyond.text(2)) for name, b in attack.baselines.items()]
    columns = ("by", "tells (AUC)", "the attack tells more by")
    note = "A leak is attributed to the release only where the attack tells more than each of these."
    return Table(f"What is told without the release (defense: {defense})", columns, tuple(rows), (1, 2), note)


def risk_table(risk: dict[str, dict[str, Finding]]) -> Table:
    """AUC by group."""
    rows = tuple(
        (by, value, finding.text(2), str(finding.members), str(finding.non_members), finding.note)
        for by, part in risk.items()
        for value, finding in in_order(part).items()
    )
    columns = ("by", "group", "AUC", "members", "non-members", "remark")
    return Table("How well members are told from non-members of their own group", columns, rows, (2, 3, 4))


def in_order(groups: dict[str, Finding]) -> dict[str, Finding]:
    """Groups by rank where they are thirds, else by number where they are numbers, else by name."""

    def place(name: str) -> tuple[int, int, str]:
        if name in THIRDS:
            return 0, THIRDS.tolist().index(name), name
        return (1, int(name), name) if name.isdecimal() else (2, 0, name)

    return {name: groups[name] for name in sorted(groups, key=place)}


def points_table(points: Sequence[Point], outcomes: dict[str, DefenseOutcome]) -> Table:
    """The privacy-utility curve as numbers."""
    columns = (
        "defense",
        "role",
        "what the attack tells (AUC)",
        gain(points[0].utility),
        f"points of {gain(points[0].utility)} lost",
        "not beaten",
    )
    rows = tuple(
        (
            p.label,
            "trivial alternative" if p.role == "alternative" else p.role,
            p.leak.text(2),
            p.utility.text(1, percent=True),
            _lost(outcomes[p.label].cost),
            "yes" if p.on_front else "",
        )
        for p in points
    )
    caption = "What each defense leaves of the attack, and what it costs (95 % intervals)"
    return Table(caption, columns, rows, (2, 3, 4))


def _lost(cost: Finding | None) -> str:
    return "" if cost is None else cost.text(1, percent=True).replace(" %", "")


def course_table(
    caption: str, courses: Sequence[tuple[str, dict[int, Finding]]], show: Callable[[Finding], str]
) -> Table:
    """A measure by round."""
    rounds = sorted({r for _, course in courses for r in course})
    columns = ("round", *(label for label, _ in courses))
    rows = tuple((str(r), *(show(c[r]) if r in c else "" for _, c in courses)) for r in rounds)
    return Table(caption, columns, rows, tuple(range(1, len(columns))))

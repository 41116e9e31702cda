"""The figures of a report: each a drawing with its legend, a caption, and the table that says the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ...audit.results.assemble import curve, named
from ...audit.results.audit_result import Section
from ...audit.results.outcome import AttackOutcome, DefenseOutcome
from ...audit.statistics.finding import Finding
from ..text.answers import rate_of
from ..text.table import Table
from .curve_chart import FRONT, curve_chart
from .evidence_tables import counts_table, course_table, in_order, points_table, risk_table
from .interval_chart import interval_chart
from .marks import legend, marks
from .roc_chart import RocCurve, roc_chart
from .timeline_chart import Course, timeline_chart

Identity = tuple[str, ...]
CHANCE = 0.5
MOST_GROUPS = 10  # of one attribute in a figure; the table has all


@dataclass(frozen=True)
class Figure:
    """A drawing that nobody needs to see: the table has its numbers."""

    drawing: Markup
    legend: Markup
    caption: str
    table: Table


def identities(section: Section) -> list[Identity]:
    """The attacks of a section, in the plan's order, but for baselines that read nothing."""
    pairs = zip(section.outcomes, section.verdicts, strict=True)
    judged = [(a, v) for o, row in pairs for a, v in zip(o.attacks, row, strict=True)]
    return list(dict.fromkeys(a.plan.identity for a, v in judged if v is not None))


def of_identity(section: Section, identity: Identity) -> list[tuple[DefenseOutcome, AttackOutcome]]:
    """One attack under each defense."""
    return [(o, a) for o in section.outcomes for a in o.attacks if a.plan.identity == identity]


def least_leaking(section: Section, identity: Identity) -> list[tuple[DefenseOutcome, AttackOutcome]]:
    """The control, and of each defense the strength that leaves the least of the attack."""
    least: dict[str, tuple[DefenseOutcome, AttackOutcome]] = {}
    for outcome, attack in of_identity(section, identity):
        before = least.get(outcome.defense)
        if before is None or (attack.auc.estimate or 0.0) < (before[1].auc.estimate or 0.0):
            least[outcome.defense] = outcome, attack
    return list(least.values())


def roc_figure(name: str, section: Section, identity: Identity, fpr: float) -> Figure | None:
    """How many members are named at how many false accusations."""
    looks = marks(section)
    curves = [
        RocCurve(o.label, looks[o.defense], a.roc, tuple((rate_of(f), f) for f in a.tpr))
        for o, a in least_leaking(section, identity)
        if a.roc is not None
    ]
    if not curves:
        return None
    title = f"Members named against non-members wrongly accused: {identity[0]}, {section.title}"
    caption = "Members named at so many false accusations."
    if any(o.strength is not None for o, _ in of_identity(section, identity)):
        caption += " Of a defense with several strengths the one that leaves the least is drawn."
    drawing = roc_chart(name, title, curves, fpr)
    return Figure(drawing, _names(curves), caption, counts_table(curves, fpr))


def _names(curves: Sequence[RocCurve | Course]) -> Markup:
    """A legend of curves; where a defense has no strengths it is called in words."""
    return legend((c.mark.sample(), c.label if c.label != c.mark.defense else c.mark.name) for c in curves)


def risk_figure(name: str, section: Section, identity: Identity) -> Figure | None:
    """Who is more exposed than others, without a defense."""
    found = next(((o, a) for o, a in of_identity(section, identity) if risk_of(a)), None)
    if found is None:
        return None
    outcome, attack = found
    risk = risk_of(attack)
    groups = [(by, _most_exposed(in_order(part))) for by, part in risk.items()]
    shown = [(by, rows) for by, rows in groups if rows]
    if not shown:
        return None
    mark = marks(section)[outcome.defense]
    title = f"Risk by group: {identity[0]}, {section.title}, {outcome.label}"
    drawing = interval_chart(name, title, shown, mark, CHANCE)
    caption = f"How well members are told from non-members of their own group, {outcome.phrase}."
    if any(len(part) > MOST_GROUPS for part in risk.values()):
        caption += f" At most {MOST_GROUPS} groups of a kind are drawn, the most exposed ones; the table has all."
    return Figure(drawing, Markup(), caption, risk_table(risk))


def risk_of(attack: AttackOutcome) -> dict[str, dict[str, Finding]]:
    """By group of people, and with some members or non-members left out."""
    return {**attack.risk, **({"left in": attack.groups} if attack.groups else {})}


def _most_exposed(part: dict[str, Finding]) -> list[tuple[str, Finding]]:
    measured = [(value, f) for value, f in part.items() if f.estimate is not None]
    if len(measured) <= MOST_GROUPS:
        return measured
    return sorted(measured, key=lambda pair: -(pair[1].estimate or 0.0))[:MOST_GROUPS]


def curve_figure(name: str, section: Section, identity: Identity) -> Figure | None:
    """What each defense leaves of an attack, and what it costs."""
    points = curve(section, identity)
    if not points:
        return None
    looks = {family: look for family, look in marks(section).items() if any(p.family == family for p in points)}
    title = f"Privacy against utility: {identity[0]}, {section.title}"
    drawing = curve_chart(name, title, points, looks)
    entries = [(look.sample(), look.name) for look in looks.values()]
    entries.append((FRONT, "not beaten by any other (Pareto front)"))
    caption = "Up and to the left is better: more useful, and safer."
    knobs = {o.defense: o.knob for o in section.outcomes if any(p.family == o.defense for p in points)}
    named_knobs = [f"{knob} of {defense}" for defense, knob in knobs.items() if knob is not None]
    if named_knobs:
        caption += f" Numbers beside points: {', '.join(named_knobs)}."
    return Figure(drawing, legend(entries), caption, points_table(points, {o.label: o for o in section.outcomes}))


def timeline_figures(name: str, section: Section, identity: Identity) -> list[Figure]:
    """How the leak and the accuracy grow over the rounds, where releases of several rounds were attacked."""
    looks = marks(section)
    drawn = [o for o, _ in least_leaking(section, identity)]
    leaks = [(o, {a.round: a.auc for a in o.timeline if a.plan.identity == identity}) for o in drawn]
    leak = [Course(o.label, looks[o.defense], {r: f for r, f in c.items() if r is not None}) for o, c in leaks]
    leak = [course for course in leak if len(course.findings) > 1]
    if not leak:
        return []
    accuracy = [Course(o.label, looks[o.defense], o.curve) for o in drawn if o.label in {c.label for c in leak}]
    parts = (
        ("leak", "what the attack tells (AUC)", leak, CHANCE, False),
        ("accuracy", "accuracy", accuracy, None, True),
    )
    found = []
    for part, what, courses, chance, share in parts:
        title = f"Over rounds, {what}: {identity[0]}, {section.title}"
        drawing = timeline_chart(f"{name}-{part}", title, courses, what, chance=chance, share=share)
        found.append(
            Figure(
                drawing,
                _names(leak),
                f"Over rounds: {what}, with 95 % intervals.",
                _course_table(what, courses, share),
            )
        )
    return found


def _course_table(what: str, courses: Sequence[Course], share: bool) -> Table:
    def show(finding: Finding) -> str:
        return finding.text(1 if share else 2, percent=share)

    return course_table(f"{what} by round", [(c.label, dict(c.findings)) for c in courses], show)


def attack_title(section: Section, identity: Identity) -> str:
    """An attack as a heading, told from others of the same name by their settings."""
    attack = of_identity(section, identity)[0][1]
    alike = [i for i in identities(section) if i[:3] == identity[:3]]
    return named(attack) if len(alike) == 1 else f"{named(attack)}, settings {identity[3]}"

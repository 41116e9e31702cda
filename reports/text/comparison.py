"""What the defenses of an audit do for privacy, and at what cost, in sentences."""

from collections.abc import Iterator, Sequence

from ...audit.results.assemble import curve
from ...audit.results.audit_result import AttackFinding, Point, Section
from ...audit.results.outcome import DefenseOutcome
from ...audit.statistics.finding import Finding
from ...audit.statistics.severity import Scale
from .answers import base_for, between, people, rate_at
from .sentences import cost_phrase
from .words import gain


def compared(section: Section, identity: tuple[str, ...]) -> list[str]:
    """What the privacy-utility curve of one attack says of the defenses, in sentences."""
    points = curve(section, identity)
    control = next((p for p in points if p.role == "control"), None)
    if all(p.role == "control" for p in points):
        return ["No defense was tried."]
    if control is None:
        return ["The undefended pipeline did not run: there is nothing to compare with."]
    outcomes = {o.label: o for o in section.outcomes}
    return [
        *_of_defenses(points, control, outcomes),
        *_of_alternatives(points, outcomes),
        *_as_good(points, outcomes),
    ]


def _of_defenses(points: Sequence[Point], control: Point, outcomes: dict[str, DefenseOutcome]) -> list[str]:
    better = helpful(points)
    if not better:
        return [
            f"No defense that was tried is shown to leak less than the pipeline without one ({_leak(control)})."
        ]
    cheapest, safest = _cheapest(better), _safest(better)
    what = f"{gain(control.utility)} {control.utility.text(1, percent=True)}"
    said = [f"Without a defense: {_leak(control)}, {what}."]
    if safest is cheapest:
        said.append(f"Leaks least, and costs least of those that are shown to help: {_at(safest, outcomes)}.")
    else:
        said.append(f"Costs least of those that are shown to help: {_at(cheapest, outcomes)}.")
        said.append(f"Leaks least: {_at(safest, outcomes)}.")
    return said


def _of_alternatives(points: Sequence[Point], outcomes: dict[str, DefenseOutcome]) -> Iterator[str]:
    better = helpful(points, "alternative")
    if better:
        yield f"A trivial alternative is shown to help: {_at(_cheapest(better), outcomes)}."


def helpful(points: Sequence[Point], role: str = "defense") -> list[Point]:
    """Defenses, or trivial alternatives, that are shown to leak less than the control."""
    control = next((p for p in points if p.role == "control"), None)
    tried = [p for p in points if p.role == role]
    return [] if control is None else [p for p in tried if _clearly_less(p.leak.turned, control.leak.turned)]


def _cheapest(points: Sequence[Point]) -> Point:
    return max(points, key=lambda p: (p.utility.estimate or 0.0, -(p.leak.turned.estimate or 0.0)))


def _safest(points: Sequence[Point]) -> Point:
    return min(points, key=lambda p: (p.leak.turned.estimate or 0.0, -(p.utility.estimate or 0.0)))


def help_for(place: AttackFinding, scale: Scale) -> str:
    """What is left of a finding by the cheapest defense, and trivial alternative, that are shown to help.

    Empty where nothing is to mend.
    """
    if place.verdict is None or place.verdict.level.severity == 0:
        return ""
    points = curve(place.section, place.attack.plan.identity)
    defenses, alternatives = helpful(points), helpful(points, "alternative")
    if defenses:
        said = f"What helps and costs least: {_leaves(place, _cheapest(defenses), scale)}."
    elif all(p.role == "control" for p in points):
        said = "No defense was tried."
    else:
        said = "None of the defenses that were tried is shown to help."
    if not alternatives:
        return said
    return f"{said} A trivial alternative is shown to help: {_leaves(place, _cheapest(alternatives), scale)}."


def _leaves(place: AttackFinding, point: Point, scale: Scale) -> str:
    outcome = next(o for o in place.section.outcomes if o.label == point.label)
    same = next(a for a in outcome.attacks if a.plan.identity == place.attack.plan.identity)
    left = rate_at(same, scale.fpr)
    names = "less" if left is None or left.estimate is None else _left(left, scale.fpr)
    return f"{outcome.label} leaves {names}{cost_phrase(outcome.cost)}"


def _left(rate: Finding, fpr: float) -> str:
    base = base_for(rate.estimate or 0.0, fpr)
    return f"{people(rate.estimate, base)} in {base}{between(rate, base)}"


def _clearly_less(one: Finding, other: Finding) -> bool:
    """The intervals do not meet: stricter than a test of the difference."""
    return one.high is not None and other.low is not None and one.high < other.low


def _leak(point: Point) -> str:
    return f"AUC {point.leak.text(2)}"


def _at(point: Point, outcomes: dict[str, DefenseOutcome]) -> str:
    return f"{point.label}, {_leak(point)}{cost_phrase(outcomes[point.label].cost)}"


def _as_good(points: Sequence[Point], outcomes: dict[str, DefenseOutcome]) -> Iterator[str]:
    """Defenses whose trivial alternative does at least as well somewhere: their idea is not what protects."""
    for family in dict.fromkeys(p.family for p in points if p.role == "defense"):
        name = next(outcomes[p.label].beside for p in points if p.family == family)
        trivial = [p for p in points if p.family == name]
        beaten = [p for p in points if p.family == family and any(_at_least_as_good(t, p) for t in trivial)]
        if beaten:
            labels, what = ", ".join(p.label for p in beaten), gain(beaten[0].utility)
            yield f"The trivial alternative {name} gives as much {what} for as little leak as {labels}."


def _at_least_as_good(one: Point, other: Point) -> bool:
    more = (one.utility.estimate or 0.0) >= (other.utility.estimate or 0.0)
    return more and (one.leak.turned.estimate or 0.0) <= (other.leak.turned.estimate or 0.0)

"""What the defenses of an audit do for privacy, and at what cost, in sentences."""

from collections.abc import Iterator, Sequence

from ..audit.assemble import curve
from ..audit.audited import Place, Point, Section
from ..audit.finding import Finding
from ..audit.outcome import DefenseOutcome
from ..audit.verdict import Scale
from ..targets.registry import find
from .answers import base_for, between, people, rate_at
from .sentences import cost_phrase
from .words import gain


def compared(section: Section, identity: tuple[str, ...]) -> list[str]:
    """What the privacy-utility curve of one attack says of the defenses, in sentences."""
    points = curve(section, identity)
    control = next((p for p in points if p.role == "control"), None)
    if not any(p.role == "defense" for p in points):
        return ["No defense was tried."]
    if control is None:
        return ["The undefended pipeline did not run: there is nothing to compare with."]
    better = helpful(points)
    if not better:
        return [
            f"No defense that was tried is shown to leak less than the pipeline without one ({_leak(control)})."
        ]
    outcomes = {o.label: o for o in section.outcomes}
    cheapest, safest = _cheapest(better), _safest(better)
    what = f"{gain(control.utility)} {control.utility.text(1, percent=True)}"
    said = [f"Without a defense: {_leak(control)}, {what}."]
    if safest is cheapest:
        said.append(f"Leaks least, and costs least of those that are shown to help: {_at(safest, outcomes)}.")
    else:
        said.append(f"Costs least of those that are shown to help: {_at(cheapest, outcomes)}.")
        said.append(f"Leaks least: {_at(safest, outcomes)}.")
    return [*said, *_trivial(points)]


def helpful(points: Sequence[Point]) -> list[Point]:
    """Defenses that are shown to leak less than the control."""
    control = next((p for p in points if p.role == "control"), None)
    tried = [p for p in points if p.role == "defense"]
    return [] if control is None else [p for p in tried if _clearly_less(p.leak.turned, control.leak.turned)]


def _cheapest(points: Sequence[Point]) -> Point:
    return max(points, key=lambda p: (p.utility.estimate or 0.0, -(p.leak.turned.estimate or 0.0)))


def _safest(points: Sequence[Point]) -> Point:
    return min(points, key=lambda p: (p.leak.turned.estimate or 0.0, -(p.utility.estimate or 0.0)))


def help_for(place: Place, scale: Scale) -> str:
    """What the cheapest defense that is shown to help leaves of a finding; empty where nothing is to mend."""
    section, attack = place.section, place.attack
    if place.verdict is None or place.verdict.level.severity == 0:
        return ""
    points = curve(section, attack.plan.identity)
    if not any(p.role == "defense" for p in points):
        return "No defense was tried."
    better = helpful(points)
    if not better:
        return "None of the defenses that were tried is shown to help."
    best = next(o for o in section.outcomes if o.label == _cheapest(better).label)
    left = rate_at(next(a for a in best.attacks if a.plan.identity == attack.plan.identity), scale.fpr)
    names = "less" if left is None or left.estimate is None else _left(left, scale.fpr)
    return f"What helps and costs least: {best.label} leaves {names}{cost_phrase(best.cost)}."


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


def _trivial(points: Sequence[Point]) -> Iterator[str]:
    """Defenses whose trivial alternative does at least as well somewhere: their idea is not what protects."""
    for family in dict.fromkeys(p.family for p in points if p.role == "defense"):
        name = find("defenses", family).alternative
        trivial = [p for p in points if p.family == name]
        beaten = [p for p in points if p.family == family and any(_as_good(t, p) for t in trivial)]
        if beaten:
            labels, what = ", ".join(p.label for p in beaten), gain(beaten[0].utility)
            yield f"The trivial alternative {name} gives as much {what} for as little leak as {labels}."


def _as_good(one: Point, other: Point) -> bool:
    more = (one.utility.estimate or 0.0) >= (other.utility.estimate or 0.0)
    return more and (one.leak.turned.estimate or 0.0) <= (other.leak.turned.estimate or 0.0)

"""How a measure changes over the rounds of a pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ...audit.statistics.finding import Finding
from .axes import LEFT, RIGHT, TOP, WIDTH, Axes
from .marks import Mark
from .scales import AxisScale, linear
from .svg import drawing, element, line, polyline

HEIGHT = 210.0
MOST_TICKS = 8


@dataclass(frozen=True)
class Course:
    """One measure by round, or by whatever else is on the abscissa."""

    label: str
    mark: Mark
    findings: Mapping[int, Finding]


def timeline_chart(
    name: str,
    title: str,
    courses: Sequence[Course],
    y_title: str,
    *,
    chance: float | None = None,
    share: bool = False,
) -> Markup:
    """A curve with intervals for each course; ``chance`` draws a line, ``share`` writes percents."""
    axes = _axes(courses, y_title, chance, share)
    parts = [axes.frame()]
    if chance is not None:
        parts.append(line(axes(axes.x.low, chance), axes(axes.x.high, chance), "chance"))
    parts += [_course(axes, course) for course in courses]
    said = "; ".join(_said(course, share) for course in courses)
    return drawing(axes.width, axes.height, name, title, f"{y_title} by round. {said}.", *parts)


def _axes(courses: Sequence[Course], y_title: str, chance: float | None, share: bool) -> Axes:
    rounds = sorted({r for course in courses for r in course.findings})
    known = [v for c in courses for f in c.findings.values() for v in (f.estimate, f.low, f.high) if v is not None]
    marked = rounds[:: -(-len(rounds) // MOST_TICKS)]
    ends = (rounds[0], rounds[-1]) if len(rounds) > 1 else (rounds[0] - 1, rounds[0] + 1)
    x = AxisScale(*ends, LEFT + 12, WIDTH - RIGHT - 8, tuple((float(r), str(r)) for r in marked))
    values = known if chance is None else [*known, chance]
    y = linear(values, TOP + HEIGHT, TOP, lambda v: f"{100 * v:.4g} %" if share else f"{v:.4g}")
    return Axes(x, y, "round", y_title)


def _course(axes: Axes, course: Course) -> Markup:
    known = {r: f for r, f in sorted(course.findings.items()) if f.estimate is not None}
    places = [axes(r, f.estimate or 0.0) for r, f in known.items()]
    bars = [
        line(axes(r, f.low), axes(r, f.high), f"interval {course.mark.class_}")
        for r, f in known.items()
        if f.low is not None and f.high is not None
    ]
    joined = [polyline(places, course.mark.curve)] if len(places) > 1 else []
    return element("g", *bars, *joined, *map(course.mark.at, places))


def _said(course: Course, share: bool) -> str:
    shown = (f"round {r} {f.text(1 if share else 2, percent=share)}" for r, f in sorted(course.findings.items()))
    return f"{course.label}: {', '.join(shown)}"

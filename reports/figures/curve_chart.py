"""Privacy against utility: what each defense leaves of an attack, and what accuracy it leaves."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from ...audit.results.audit_result import Point
from ...audit.statistics.finding import Finding
from ..text.words import gain
from .axes import LEFT, RIGHT, TOP, WIDTH, Axes
from .marks import Mark
from .scales import linear
from .svg import Place, drawing, element, line, polyline, text

HEIGHT = 300.0
CHANCE = 0.5
LETTER, LINE = 7.0, 13.0  # the size of a letter of a label
AROUND = ((9.0, -7.0, "start"), (9.0, 16.0, "start"), (-9.0, -7.0, "end"), (-9.0, 16.0, "end"))
FRONT = element("svg", element("path", d="M0 0H34", class_="front"), viewBox="-1 -9 36 18", class_="sample")


def curve_chart(name: str, title: str, points: Sequence[Point], marks: Mapping[str, Mark]) -> Markup:
    """Accuracy against the attack's AUC with both intervals; strengths are written along each curve."""
    axes = _axes(points)
    places = [_place(axes, point) for point in points]
    parts = [axes.frame(), _chance(axes), _front(axes, points)]
    parts += [_curve(axes, points, mark, family) for family, mark in marks.items()]
    parts += [_intervals(axes, point, marks[point.family]) for point in points]
    parts += [marks[p.family].at(place) for p, place in zip(points, places, strict=True)]
    parts += _labels(axes, points, places)
    return drawing(axes.width, axes.height, name, title, _summary(points), *parts)


def _axes(points: Sequence[Point]) -> Axes:
    leaks = [v for p in points for v in _ends(p.leak)]
    gains = [v for p in points for v in _ends(p.utility)]
    x = linear([CHANCE, *leaks], LEFT, WIDTH - RIGHT, lambda v: f"{v:.4g}")
    y = linear(gains, TOP + HEIGHT, TOP, lambda v: f"{100 * v:.4g} %")
    useful = f"{gain(points[0].utility)} (higher is more useful)"
    return Axes(x, y, "told apart by the attack (AUC; 0.5 is guessing)", useful)


def _ends(finding: Finding) -> list[float]:
    return [v for v in (finding.estimate, finding.low, finding.high) if v is not None]


def _place(axes: Axes, point: Point) -> Place:
    return axes(point.leak.estimate or 0.0, point.utility.estimate or 0.0)


def _chance(axes: Axes) -> Markup:
    at = axes.x(CHANCE)
    return line((at, axes.y.start), (at, axes.y.end), "chance")


def _front(axes: Axes, points: Sequence[Point]) -> Markup:
    """The points that no other beats, joined from the safest to the most useful."""
    best = sorted(_place(axes, p) for p in points if p.on_front)
    return polyline(best, "front") if best else Markup()


def _curve(axes: Axes, points: Sequence[Point], mark: Mark, family: str) -> Markup:
    places = [_place(axes, p) for p in points if p.family == family]
    return polyline(places, mark.curve) if len(places) > 1 else Markup()


def _intervals(axes: Axes, point: Point, mark: Mark) -> Markup:
    x, y = _place(axes, point)
    parts, class_ = [], f"interval {mark.class_}"
    if point.leak.low is not None and point.leak.high is not None:
        parts.append(line((axes.x(point.leak.low), y), (axes.x(point.leak.high), y), class_))
    if point.utility.low is not None and point.utility.high is not None:
        parts.append(line((x, axes.y(point.utility.low)), (x, axes.y(point.utility.high)), class_))
    return element("g", *parts)


def _labels(axes: Axes, points: Sequence[Point], places: Sequence[Place]) -> list[Markup]:
    """A strength beside its point, where no other label or point is; the table has them all."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    written = []
    for point, (x, y) in zip(points, places, strict=True):
        if point.strength is None:
            continue
        label = f"{point.strength:g}"
        for right, down, anchor in AROUND:
            left = x + right - (len(label) * LETTER if anchor == "end" else 0)
            area = (left, y + down - LINE + 2, left + len(label) * LETTER, y + down + 2)
            inside = (
                area[0] >= axes.x.start and area[2] <= axes.x.end and axes.y.end <= area[1] <= axes.y.start - LINE
            )
            if inside and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                written.append(text((x + right, y + down), label, "strength", anchor))
                break
    return written


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _summary(points: Sequence[Point]) -> str:
    what = gain(points[0].utility)
    said = "; ".join(f"{p.label}: AUC {p.leak.text(2)}, {what} {p.utility.text(1, percent=True)}" for p in points)
    return f"{what.capitalize()} against leak, a point for each defense and strength. {said}."

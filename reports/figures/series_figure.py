"""A figure of a paper drawn again: measured numbers along an axis, one panel for each graph and measure.

The drawing is a file of its own, so it brings its colours along.
"""

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup

from ...audit.statistics.finding import Finding
from ...reproductions.comparison import At, Number, numbers
from ...reproductions.experiment import Experiment
from ...reproductions.records import Record
from .axes import BELOW, LEFT, RIGHT, TOP, WIDTH, Axes
from .marks import Mark, look
from .scales import AxisScale, linear
from .svg import drawing, element, line, polyline, text

HEIGHT = 210.0
GAP = 26.0
LINE = 18.0
COLOURS = ("#0b62b8", "#b3470c", "#23733c", "#8b2f97", "#9a1f4a", "#4d5b00")
DASHES = ("none", "9 3", "4 2", "9 3 2 3", "2 2", "14 4")
STYLE = (
    "text{font:13px sans-serif;fill:#1a1f26}.tick{fill:#55606e}.group{font-weight:600}"
    "path{fill:none;stroke-width:1.6}path.grid{stroke:#e3e8ed;stroke-width:1}path.axis{stroke:#55606e}"
    "path.interval{stroke-width:1.2;opacity:.75}path.curve{stroke-width:1.9}.page{fill:#fff}"
    + "".join(
        f"path.s{i}{{stroke:{c}}}path.curve.s{i}{{stroke-dasharray:{DASHES[i]}}}" for i, c in enumerate(COLOURS)
    )
    + "".join(f"path.point.s{i}{{fill:{c}}}" for i, c in enumerate(COLOURS))
)


def series_figure(experiment: Experiment, records: Sequence[Record]) -> str:
    """SVG of all panels that something was measured for; empty where nothing was, or where there is no axis."""
    if experiment.axis is None:
        return ""
    every = [n for n in numbers(experiment, records) if n.values]
    panels = [
        (f"{dataset}: {measure.name}", [n for n in every if (n.dataset, n.measure.key) == (dataset, measure.key)])
        for dataset in experiment.datasets
        for measure in experiment.measure
    ]
    panels = [(title, own) for title, own in panels if own]
    if not panels:
        return ""
    names = list(dict.fromkeys(n.row.name for n in every))
    marks = {name: Mark(name, name, *look(i)) for i, name in enumerate(names)}
    height = TOP + HEIGHT + BELOW + GAP
    parts = [element("style", Markup(STYLE)), element("rect", width="100%", height="100%", class_="page")]
    for place, (title, own) in enumerate(panels):
        parts.append(_panel(experiment, title, own, marks, place * height))
    top = len(panels) * height
    for place, mark in enumerate(marks.values()):
        down = top + place * LINE
        parts += [line((LEFT, down), (LEFT + 34, down), mark.curve), mark.at((LEFT + 17, down))]
        parts.append(text((LEFT + 44, down + 4.5), mark.name))
    said = "; ".join(f"{n.dataset}, {n.measure.name}, {n.row.name} at {n.at}: {_told(n)}" for n in every)
    name = experiment.name.replace(":", "-")
    whole = drawing(WIDTH, top + len(marks) * LINE, name, experiment.title, f"{said}.", *parts)
    return str(whole).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _panel(
    experiment: Experiment, title: str, found: Sequence[Number], marks: dict[str, Mark], down: float
) -> Markup:
    assert experiment.axis is not None
    places = [at for at in experiment.axis.values_on(found[0].dataset) if any(n.at in (at, None) for n in found)]
    steps: dict[At, int] = {at: i for i, at in enumerate(places)}
    shown = {
        (n.row.name, at): _shown(n)  # what the axis does not concern is drawn all along it
        for n in found
        for at in (places if n.at is None else [n.at])
    }
    values = [v for f in shown.values() for v in (f.estimate, f.low, f.high) if v is not None]
    share = found[0].measure.percent
    least, most = (0.0, 1.0) if share else (0.0, max(values) or 1.0)
    scaled = {key: _within(f, most) for key, f in shown.items()}
    y = linear(
        [v for f in scaled.values() for v in (f.estimate, f.low, f.high) if v is not None],
        TOP + GAP + HEIGHT,
        TOP + GAP,
        lambda v: f"{100 * v:.4g} %" if share else f"{most * v:.3g}",
    )
    end = max(len(places) - 1, 1)
    ticks = tuple((float(i), str(at)) for at, i in steps.items())
    axes = Axes(AxisScale(least, end, LEFT + 12, WIDTH - RIGHT - 8, ticks), y, experiment.axis.name, "")
    parts = [text((LEFT, TOP + 8), title, "group"), axes.frame()]
    for name, mark in marks.items():
        own = [(float(steps[at]), f) for (row, at), f in scaled.items() if row == name and f.estimate is not None]
        parts += [
            line(axes(x, f.low), axes(x, f.high), f"interval {mark.class_}")
            for x, f in own
            if f.low is not None and f.high is not None
        ]
        joined = [axes(x, f.estimate or 0.0) for x, f in own]
        parts += [polyline(joined, mark.curve)] if len(joined) > 1 else []
        parts += [mark.at(place) for place in joined]
    return element("g", *parts, transform=f"translate(0 {down:.1f})")


def _shown(number: Number) -> Finding:
    found = number.finding
    assert found is not None
    if not number.measure.percent:
        return found
    ends = (None if v is None else v / 100 for v in (found.estimate, found.low, found.high))
    estimate, low, high = ends
    return replace(found, estimate=estimate, low=low, high=high)


def _within(found: Finding, most: float) -> Finding:
    """Between 0 and 1, where the scale has its ticks; an interval is cut there."""
    ends = (None if v is None else min(max(v / most, 0.0), 1.0) for v in (found.estimate, found.low, found.high))
    estimate, low, high = ends
    return replace(found, estimate=estimate, low=low, high=high)


def _told(number: Number) -> str:
    found = number.finding
    assert found is not None
    return found.text(1 if number.measure.percent else 3)

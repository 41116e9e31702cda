"""ROC curves on logarithmic axes: the left end is where an attacker who must not err works.

The area left of the smallest measurable false-positive rate is shaded: what is drawn there rests on fewer than ten
false accusations (Carlini et al., S&P 2022, recommend the logarithmic axes).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ...audit.statistics.finding import Finding
from ...audit.statistics.rates import Roc
from .axes import LEFT, RIGHT, TOP, WIDTH, Axes
from .marks import Mark
from .scales import logarithmic
from .svg import Place, box, drawing, line, steps, text

HEIGHT = 330.0
APART = 2.0  # of a drawn step, in units of the drawing: finer ones are not seen
NARROW = 70.0  # a zone narrower than this has no room for its name


@dataclass(frozen=True)
class RocCurve:
    """One curve: its look, and the rates that were measured with an interval."""

    label: str
    mark: Mark
    roc: Roc
    rates: tuple[tuple[float, Finding], ...]


def roc_chart(name: str, title: str, curves: Sequence[RocCurve], decisive: float) -> Markup:
    """True-positive against false-positive rate with the chance line; ``decisive`` is where verdicts are made."""
    measurable = max(curve.roc.measurable for curve in curves)
    axes = _axes(min([decisive, *(curve.roc.measurable for curve in curves)]))
    parts = [_zone(axes, measurable), axes.frame(), line(axes(axes.x.low, axes.x.low), axes(1, 1), "chance")]
    parts.append(line((axes.x(decisive), axes.y.start), (axes.x(decisive), axes.y.end), "decisive"))
    parts += [steps(thinned(axes, curve.roc), curve.mark.curve) for curve in curves]
    parts += [part for curve in curves for part in _rates(axes, curve)]
    parts += _zone_name(axes, measurable)
    return drawing(axes.width, axes.height, name, title, _summary(curves, measurable), *parts)


def _axes(lowest: float) -> Axes:
    x = logarithmic(lowest / 2, LEFT, WIDTH - RIGHT)
    y = logarithmic(lowest / 2, TOP + HEIGHT, TOP)
    return Axes(x, y, "non-members wrongly accused", "members named")


def _zone(axes: Axes, measurable: float) -> Markup:
    return box(axes.x.start, axes.y.end, axes.x(measurable), axes.y.start, "unmeasured")


def _zone_name(axes: Axes, measurable: float) -> list[Markup]:
    if axes.x(measurable) - axes.x.start < NARROW:
        return []
    left = axes.x.start + 6
    return [
        text((left, axes.y.end + 16), "not", "tick"),
        text((left, axes.y.end + 31), "measurable", "tick"),
    ]


def thinned(axes: Axes, roc: Roc) -> list[Place]:
    """The curve as steps; vertices too near to the last drawn one are left out, which never raises the curve."""
    kept: list[Place] = []
    for fpr, tpr in zip(roc.fpr.tolist(), roc.tpr.tolist(), strict=True):
        place = axes(fpr, tpr)
        if not kept or max(abs(place[0] - kept[-1][0]), abs(place[1] - kept[-1][1])) >= APART:
            kept.append(place)
    return [*kept, axes(1.0, 1.0)]


def _rates(axes: Axes, curve: RocCurve) -> list[Markup]:
    """Where a rate was measured with an interval: the point and its bar."""
    parts = []
    for fpr, finding in curve.rates:
        if finding.estimate is None:
            continue
        at = axes(fpr, finding.estimate)
        if finding.low is not None and finding.high is not None:
            ends = axes(fpr, finding.low), axes(fpr, finding.high)
            parts.append(line(*ends, f"interval {curve.mark.class_}"))
        parts.append(curve.mark.at(at))
    return parts


def named_at(roc: Roc, fpr: float) -> float:
    """The share of members named where at most a share ``fpr`` of the non-members is accused."""
    place = int(np.searchsorted(roc.fpr, fpr + 1e-9, side="right")) - 1
    return float(roc.tpr[max(place, 0)])


def _summary(curves: Sequence[RocCurve], measurable: float) -> str:
    said = [f"{c.label}: {', '.join(f'{f.text(1, percent=True)} at {r:.2%}' for r, f in c.rates)}" for c in curves]
    return (
        "Share of members named against share of non-members wrongly accused, both axes logarithmic; the diagonal "
        f"is guessing. Below {100 * measurable:.2g} % nothing can be measured. {'; '.join(said)}."
    )

"""Rows of intervals: how strongly groups of people are exposed."""

from collections.abc import Sequence

from markupsafe import Markup

from ...audit.statistics.finding import Finding
from .axes import RIGHT, WIDTH, Axes
from .marks import Mark
from .scales import AxisScale, linear
from .svg import drawing, line, text

ROW, GAP = 19.0, 8.0
NAMES = 150.0  # room for the names
LONGEST = 15  # letters of a name


def interval_chart(
    name: str, title: str, groups: Sequence[tuple[str, Sequence[tuple[str, Finding]]]], mark: Mark, chance: float
) -> Markup:
    """One row for each measured finding, in named groups, with the line of chance."""
    titles, rows, bottom = _laid_out(groups)
    known = [v for _, f, _ in rows for v in (f.estimate, f.low, f.high) if v is not None]
    x = linear([chance, *known], NAMES, WIDTH - RIGHT, lambda v: f"{v:.4g}")
    axes = Axes(x, AxisScale(0, 1, bottom, 4.0, ()), "told apart (AUC; 0.5 is guessing)", "")
    parts = [axes.frame(), line((x(chance), bottom), (x(chance), 4.0), "chance")]
    parts += [text((0.0, y + 4), _short(about), "group") for about, y in titles]
    for label, finding, y in rows:
        parts.append(text((NAMES - 10, y + 4), _short(label), "tick", "end"))
        if finding.low is not None and finding.high is not None:
            parts.append(line((x(finding.low), y), (x(finding.high), y), f"interval {mark.class_}"))
        parts.append(mark.at((x(finding.estimate or 0.0), y)))
    said = "; ".join(f"{label}: {finding.text(2)}" for label, finding, _ in rows)
    return drawing(axes.width, axes.height, name, title, f"AUC by group. {said}.", *parts)


def _laid_out(
    groups: Sequence[tuple[str, Sequence[tuple[str, Finding]]]],
) -> tuple[list[tuple[str, float]], list[tuple[str, Finding, float]], float]:
    """Titles and rows with their heights, and the bottom."""
    titles, rows, y = [], [], 0.0
    for title, members in groups:
        y += ROW
        titles.append((title, y))
        for label, finding in members:
            y += ROW
            rows.append((label, finding, y))
        y += GAP
    return titles, rows, y


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"

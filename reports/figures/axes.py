"""The frame of a chart: axes with ticks, titles and grid."""

from dataclasses import dataclass

from markupsafe import Markup

from .scales import AxisScale
from .svg import Place, element, line, text

WIDTH = 520.0
LEFT, RIGHT, TOP = 72.0, 28.0, 12.0
BELOW = 48.0


@dataclass(frozen=True)
class Axes:
    """Two scales with their titles; ``y`` starts at the bottom."""

    x: AxisScale
    y: AxisScale
    x_title: str
    y_title: str

    def __call__(self, x: float, y: float) -> Place:
        return self.x(x), self.y(y)

    @property
    def width(self) -> float:
        """Of the whole drawing."""
        return self.x.end + RIGHT

    @property
    def height(self) -> float:
        """Of the whole drawing."""
        return self.y.start + BELOW

    def frame(self) -> Markup:
        """Grid lines, tick labels and titles."""
        parts = []
        for value, label in self.x.ticks:
            at = self.x(value)
            parts.append(line((at, self.y.start), (at, self.y.end), "grid"))
            parts.append(text((at, self.y.start + 18), label, anchor="middle"))
        for value, label in self.y.ticks:
            at = self.y(value)
            parts.append(line((self.x.start, at), (self.x.end, at), "grid"))
            parts.append(text((self.x.start - 7, at + 4.5), label, anchor="end"))
        parts.append(line((self.x.start, self.y.start), (self.x.end, self.y.start), "axis"))
        middle = (self.y.start + self.y.end) / 2
        parts.append(text(((self.x.start + self.x.end) / 2, self.y.start + 40), self.x_title, "title", "middle"))
        if self.y_title:
            turned = f"rotate(-90 14 {middle:.0f})"
            parts.append(text((14.0, middle), self.y_title, "title", "middle", transform=turned))
        return element("g", *parts)

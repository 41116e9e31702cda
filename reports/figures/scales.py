"""Scales from values to places on a chart, and the ticks that belong to them."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

FINEST = 1e-6
"""No logarithmic axis goes below."""


@dataclass(frozen=True)
class AxisScale:
    """Maps ``low`` to ``start`` and ``high`` to ``end``; values outside are put on the border.

    Attributes:
        low: the smallest value shown.
        high: the largest.
        start: where the smallest is drawn.
        end: where the largest is drawn.
        ticks: values that are marked, with their labels.
        logarithmic: whether equal steps are equal ratios.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        kept = min(max(value, self.low), self.high)
        read = math.log10 if self.logarithmic else float
        share = (read(kept) - read(self.low)) / (read(self.high) - read(self.low))
        return self.start + share * (self.end - self.start)


def linear(
    values: Iterable[float], start: float, end: float, label: Callable[[float], str], least: float = 0.02
) -> AxisScale:
    """Equal steps over all values, shares between 0 and 1, with round numbers at both ends; ``least`` wide."""
    known = list(values) or [0.0, 1.0]
    low, high = min(known), max(known)
    room = max(least - (high - low), 0.04 * (high - low)) / 2
    step = _round_step((high - low + 2 * room) / 5)
    first, last = math.floor((low - room) / step + 1e-9), math.ceil((high + room) / step - 1e-9)
    marked = [value for k in range(first, last + 1) if 0 <= (value := round(k * step, 10)) <= 1]
    return AxisScale(marked[0], marked[-1], start, end, tuple((v, label(v)) for v in marked))


def logarithmic(lowest: float, start: float, end: float) -> AxisScale:
    """Powers of ten from at or below ``lowest`` up to 1, as shares in percent."""
    least = min(math.floor(math.log10(max(lowest, FINEST)) + 1e-9), -1)
    marked = [10.0**k for k in range(least, 1)]
    return AxisScale(marked[0], 1.0, start, end, tuple((v, percent(v)) for v in marked), True)


def percent(value: float) -> str:
    """0.001 as ``0.1 %``."""
    return f"{100 * value:.4g} %"


def _round_step(rough: float) -> float:
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))

"""A value that was estimated from a sample, and how far off it may be."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..network import Floats

SURE = 0.95
"""Confidence of intervals."""
BUDGET = 1_000_000_000
"""Nanoseconds that a sample of one network may cost: both take as long as it takes to switch 1,000,000 edges."""
Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value, and what each draw of its sample says about it.

    Attributes:
        value: the estimate.
        pulls: how much higher than the value each draw alone would have it, to first order; their mean is 0 up to
            rounding. Empty where the value is exact, [s].
        population: how many there are to draw from without replacement; infinite where draws are independent.
        known: the interval of 95 % where draws that are all alike cannot tell it.
    """

    value: float
    pulls: Floats = field(default_factory=lambda: np.empty(0))
    population: float = np.inf
    known: Interval | None = None

    @property
    def sampled(self) -> bool:
        """Whether it comes from a sample of two draws or more, and not from everything."""
        return 1 < len(self.pulls) < self.population

    @cached_property
    def error(self) -> float:
        """Standard error; 0 where the value is exact."""
        if not self.sampled:
            return 0.0
        drawn = len(self.pulls)
        return float(np.std(self.pulls, ddof=1) * np.sqrt((1 - drawn / self.population) / drawn))

    @property
    def interval(self) -> Interval:
        """Student's interval of 95 %, not below 0, as no measure here is."""
        return self.known if self.known is not None else within(self.value, self.error, len(self.pulls))


def ratio(after: Estimate, before: Estimate) -> Estimate:
    """The quotient of two values, by its first-order expansion (the delta method).

    Samples of one size were drawn with the same random numbers, so that what both say about one draw is compared
    draw by draw: a source that is far from all in both networks says nothing of their difference. Otherwise the
    samples count as independent.

    Args:
        after: numerator.
        before: denominator, not 0 and finite.
    """
    quotient = after.value / before.value
    if after.sampled and before.sampled and len(after.pulls) == len(before.pulls):
        pulls = (after.pulls - quotient * before.pulls) / before.value
        return Estimate(quotient, pulls, max(after.population, before.population))
    error = np.hypot(after.error, quotient * before.error) / before.value
    drawn = min((len(part.pulls) for part in (after, before) if part.sampled), default=0)
    return Estimate(quotient, _spread(error, drawn)) if drawn else Estimate(quotient)


def _spread(error: float, drawn: int) -> Floats:
    """Pulls of ``drawn`` independent draws with this standard error."""
    signs = np.resize([1.0, -1.0], drawn)
    pulls: Floats = signs * (error * np.sqrt(drawn) / np.std(signs, ddof=1))
    return pulls


def within(value: float, error: float, drawn: int) -> Interval:
    """Student's interval of 95 % about a value from ``drawn`` draws, not below 0; of no width without an error."""
    if not error:
        return value, value
    from scipy.special import stdtrit

    reach = float(stdtrit(drawn - 1, (1 + SURE) / 2)) * error
    return max(0.0, value - reach), value + reach


def affordable(most: int, least: int, cost: int) -> int:
    """How many draws a sample has: ``most`` where `BUDGET` pays for them, and ``least`` at least.

    Args:
        most: of a sample of a network that is not large.
        least: below which an interval means little.
        cost: nanoseconds of a draw, by the size of the network and not by a clock: the same everywhere.
    """
    return max(least, min(most, BUDGET // max(cost, 1)))

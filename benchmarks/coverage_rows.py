"""A row of the coverage table: one measure in one world, and whether it holds its level there."""

from dataclasses import dataclass

import numpy as np

from gaudit.audit.statistics.finding import Finding

NORMAL_SEEDS = "normal seeds"
"""What every interval over seeds takes their differences for."""


@dataclass(frozen=True)
class Row:
    """One measure in one world.

    Attributes:
        measure: its name.
        world: that it was measured in.
        level: nominal, of the interval; of a bound or a test alone the nominal share of what holds.
        ends: one or two, that can miss.
        drawn: lower end, upper end and truth of each draw [d, 3].
        assumes: what the interval says that it rests on, if this world is made to break it.
    """

    measure: str
    world: str
    level: float
    ends: int
    drawn: np.ndarray
    assumes: str = ""

    def misses(self) -> tuple[float, float]:
        """The share of lower ends above the truth, and of upper ends below it."""
        low, high, truth = self.drawn.T
        return float((low > truth + 1e-9).mean()), float((high < truth - 1e-9).mean())

    def verdict(self) -> str:
        """Whether it holds its level."""
        above, below = self.misses()
        size, error = len(self.drawn), 1 - self.level
        shares = [(above + below, error), *((miss, error / self.ends) for miss in (above, below))]
        if any(share > nominal + 2 * np.sqrt(nominal * (1 - nominal) / size) for share, nominal in shares):
            return f"too narrow: assumes {self.assumes}" if self.assumes else "**too narrow**"
        return "conservative" if above + below < error - 2 * np.sqrt(error * (1 - error) / size) else "holds"

    def cells(self) -> tuple[str, ...]:
        """As the table shows it."""
        above, below = self.misses()
        shares = (f"{100 * share:.1f} %" for share in (1 - above - below, above, below))
        return self.measure, self.world, f"{100 * self.level:g} %", *shares, self.verdict()


def ends_of(found: Finding) -> tuple[float, float]:
    low = -np.inf if found.low is None else found.low
    return low, np.inf if found.high is None else found.high

"""Candidate minus baseline, seed by seed: intervals, tests and power of the mean difference."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nct, t

Floats = NDArray[np.float64]
FEW_SEEDS = 8  # up to so many, all 2^K signs are tried
MOST_SEEDS = 200  # more are not suggested
WANTED_POWER = 0.8


@dataclass(frozen=True)
class Comparison:
    """Candidate minus baseline, seed by seed.

    Attributes:
        differences: [K], by seed.
        mean: their mean.
        error: its standard error.
        p: one-sided, of a mean above 0; 1 where there is no telling.
    """

    differences: Floats
    mean: float
    error: float
    p: float

    @property
    def seeds(self) -> int:
        return len(self.differences)

    @property
    def identical(self) -> bool:
        """Whether every number is exactly as it was."""
        return not self.differences.any()

    def reach(self, alpha: float) -> float:
        """How far a one-sided bound at level ``alpha`` lies from the mean."""
        return float(t.isf(alpha, self.seeds - 1)) * self.error if self.seeds > 1 else math.inf

    def power(self, rise: float, alpha: float, seeds: int | None = None) -> float:
        """How often a rise would be told from none with so many seeds of this spread; by default with its own.

        As often as, without any rise, the upper bound lies below it: the two tests mirror each other.
        """
        seeds = self.seeds if seeds is None else seeds
        if seeds < 2 or self.seeds < 2:
            return 0.0
        if self.error == 0:
            return 1.0
        shift = rise / (self.error * math.sqrt(self.seeds / seeds))
        return float(nct.sf(t.isf(alpha, seeds - 1), seeds - 1, shift))

    def seeds_needed(self, rise: float, alpha: float) -> int | None:
        """The fewest seeds with which a rise is told from none four times in five; None where that is too many."""
        choices = range(2, MOST_SEEDS + 1)
        place = bisect_left(choices, WANTED_POWER, key=lambda seeds: self.power(rise, alpha, seeds))
        return choices[place] if place < len(choices) else None

    def sign_flips(self) -> float | None:
        """Exact one-sided p of the mean under random signs (Fisher); None for many seeds, where t is trusted."""
        if self.seeds > FEW_SEEDS:
            return None
        signs = np.array(list(product((1.0, -1.0), repeat=self.seeds)))
        sums = signs @ self.differences
        return float(np.mean(sums >= sums[0] - 1e-12))


def paired(candidate: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Both measured with the same seeds, in the same order."""
    d = np.asarray(candidate, dtype=float) - np.asarray(baseline, dtype=float)
    mean = float(d.mean())
    if len(d) < 2:
        return Comparison(d, mean, math.inf, 1.0)
    error = float(d.std(ddof=1) / math.sqrt(len(d)))
    if error == 0:
        return Comparison(d, mean, error, 0.0 if mean > 0 else 1.0)
    return Comparison(d, mean, error, float(t.sf(mean / error, len(d) - 1)))


def holm(p: Sequence[float], alpha: float) -> list[float]:
    """The level at which each of several tests is made, so that together they make one false alarm in 1 / alpha.

    The k-th smallest p of m is tested at alpha / (m - k + 1), as long as all before it were rejected; the rest at
    the level at which this ended.
    """
    order = sorted(range(len(p)), key=lambda i: p[i])
    levels, stopped = [alpha] * len(p), None
    for rank, i in enumerate(order):
        level = alpha / (len(p) - rank) if stopped is None else stopped
        levels[i] = level
        if stopped is None and p[i] >= level:
            stopped = level
    return levels

"""Candidate minus baseline, seed by seed: intervals, tests and power of the mean difference.

Student's t does not see what a few seeds have not shown: where nine seeds in ten rise a little and the tenth falls
far, five seeds hold no fall in 59 % of cases. No test of five numbers can rule out falls of any size. So a rise is
shown only if it also stands against falls of up to B in the seeds that were not run: down to no leak at all, or to
what is thought possible. With falls of
at most B and a mean of at most 0, the product over seeds of 1 + c d / B has a mean of at most 1 for each c in
(0, 1], and so has the average of such products; it is above 1 / alpha in at most a share alpha of cases (Markov;
Waudby-Smith and Ramdas, Journal of the Royal Statistical Society B 2024). That level is never exceeded, whatever
the distribution of such differences is.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]
FEW_SEEDS = 8  # up to so many, all 2^K signs are tried
MOST_SEEDS = 200  # more are not suggested
WANTED_POWER = 0.8
STAKES = ((1.0, 0.5), (0.5, 0.25), (0.25, 0.125), (0.125, 0.125))  # c, and its weight in the average


@dataclass(frozen=True)
class Comparison:
    """Candidate minus baseline, seed by seed.

    Attributes:
        differences: [K], by seed.
        mean: their mean.
        error: its standard error.
        p: one-sided, of a mean above 0; 1 where there is no telling. The larger of Student's and of the one that
            reckons with falls.
        fall: the most that one seed can fall, B; 0 where falls are not reckoned with.
    """

    differences: Floats
    mean: float
    error: float
    p: float
    fall: float = 0.0

    @property
    def seeds(self) -> int:
        return len(self.differences)

    @property
    def identical(self) -> bool:
        """Whether every number is exactly as it was."""
        return not self.differences.any()

    @property
    def student(self) -> float:
        """One-sided p of a mean above 0 by Student's test alone."""
        if self.seeds < 2:
            return 1.0
        if self.error == 0:
            return float(self.mean <= 0)
        return float(stdtr(self.seeds - 1, -self.mean / self.error))

    def reach(self, alpha: float) -> float:
        """How far a one-sided bound at level ``alpha`` lies from the mean."""
        return float(-stdtrit(self.seeds - 1, alpha)) * self.error if self.seeds > 1 else math.inf

    def power(self, rise: float, alpha: float, seeds: int | None = None) -> float:
        """How often a rise would be told from none with so many seeds of this spread; by default with its own.

        By Student's test alone: as often as, without any rise, the upper bound lies below it, since the two tests
        mirror each other. It is 0 where even the same rise in each of so many seeds would not stand against falls.
        """
        from scipy.stats import nct

        seeds = self.seeds if seeds is None else seeds
        if seeds < 2 or self.seeds < 2:
            return 0.0
        if self.fall > 0 and _against_falls(np.full(seeds, rise), self.fall) > alpha:
            return 0.0
        if self.error == 0:
            return 1.0
        shift = rise / (self.error * math.sqrt(self.seeds / seeds))
        return float(nct.sf(-stdtrit(seeds - 1, alpha), seeds - 1, shift))

    def seeds_needed(self, rise: float, alpha: float) -> int | None:
        """The fewest seeds with which a rise is told from none four times in five; None where that is too many."""
        choices = range(2, MOST_SEEDS + 1)
        place = bisect_left(choices, WANTED_POWER, key=lambda seeds: self.power(rise, alpha, seeds))
        return choices[place] if place < len(choices) else None

    def seeds_against_falls(self, alpha: float) -> int | None:
        """The fewest seeds that stand against falls if each rises by the mean; None if that is too many."""
        choices = range(2, MOST_SEEDS + 1)
        place = bisect_left(choices, -alpha, key=lambda k: -_against_falls(np.full(k, self.mean), self.fall))
        return choices[place] if place < len(choices) else None

    def sign_flips(self) -> float | None:
        """Exact one-sided p of the mean under random signs (Fisher); None for many seeds, where t is trusted."""
        if self.seeds > FEW_SEEDS:
            return None
        signs = np.array(list(product((1.0, -1.0), repeat=self.seeds)))
        sums = signs @ self.differences
        return float(np.mean(sums >= sums[0] - 1e-12))


def paired(
    candidate: Sequence[float], baseline: Sequence[float], nothing: float = 0.5, most: float = math.inf
) -> Comparison:
    """Both measured with the same seeds, in the same order.

    Args:
        candidate: values by seed.
        baseline: values by seed.
        nothing: the value where nothing leaks (of an AUC by default), below which a seed falls by chance at most.
        most: the largest fall of one seed that is thought possible, if that is less than down to ``nothing``.
    """
    new, old = np.asarray(candidate, dtype=float), np.asarray(baseline, dtype=float)
    d = new - old
    mean = float(d.mean())
    if len(d) < 2:
        return Comparison(d, mean, math.inf, 1.0)
    deepest = float(old.max() - min(nothing, new.min(), old.min()))
    fall = max(min(deepest, most), float(-d.min()))
    error = float(d.std(ddof=1) / math.sqrt(len(d)))
    found = Comparison(d, mean, error, 1.0, fall)
    return replace(found, p=max(found.student, _against_falls(d, fall)))


def _against_falls(d: Floats, fall: float) -> float:
    """One-sided p of a mean above 0, whatever the distribution, where no difference is below ``-fall``."""
    if fall <= 0:
        return float(d.mean() <= 0)
    with np.errstate(over="ignore"):
        won = sum(weight * float(np.prod(np.maximum(1 + stake * d / fall, 0.0))) for stake, weight in STAKES)
    return min(1.0, 1 / won) if won > 0 else 1.0


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

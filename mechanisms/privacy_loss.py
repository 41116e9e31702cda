"""What two laws tell apart: the epsilon at a delta of one release exactly, of many together from below."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..graphs.network import Floats

FAR = 1e-13
"""Probability that is left outside the window of a composition, on either side."""
SLACK = 1e-10
"""More than what the window and the rounding of Fourier transforms can add to a delta."""
FEW, MOST_TOGETHER = 100, 2**16
"""Releases up to which a coarse grid will do, and beyond which a composition leaves the rest out."""
COARSE, FINE = 2**17, 2**20
"""Cells of the grids."""
TILTS = np.geomspace(1e-3, 1e3, 31)


@dataclass(frozen=True)
class Pair:
    """Laws of one release on two neighbouring inputs, over finitely many outcomes.

    Attributes:
        here: logarithm of each outcome's probability on the one input, [m]; -inf where it cannot occur.
        there: on the other one, [m].
        times: independent repetitions.
    """

    here: Floats
    there: Floats
    times: int = 1

    def repeated(self, times: int) -> Pair:
        """The same, so many times as often."""
        return Pair(self.here, self.there, self.times * times)

    def turned(self) -> Pair:
        """With both inputs exchanged."""
        return Pair(self.there, self.here, self.times)

    def merged(self, outcomes: int) -> Pair:
        """With runs of neighbouring outcomes counted as one, so that about so many are left: it tells no more."""
        starts = np.arange(0, len(self.here), -(-len(self.here) // outcomes))
        return Pair(np.logaddexp.reduceat(self.here, starts), np.logaddexp.reduceat(self.there, starts), self.times)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon of one repetition at a delta, in this direction.

        The delta at an epsilon is the largest P(S) - e^epsilon Q(S), and S holds the outcomes of the largest
        ratios: epsilon is the largest ln((P(S) - delta) / Q(S)).
        """
        possible = ~(np.isneginf(self.here) & np.isneginf(self.there))
        here, there = self.here[possible], self.there[possible]
        order = np.argsort(there - here, kind="stable")
        inside, outside = (np.logaddexp.accumulate(law[order]) for law in (here, there))
        kept = np.exp(inside) > delta * (1 + 1e-9)  # sums are rounded
        if not kept.any():
            return 0.0
        left = inside[kept] + (np.log1p(-delta * np.exp(-inside[kept])) if delta else 0.0)
        return max(0.0, float((left - outside[kept]).max()))


def normals(shifts: Floats, weights: Floats, cells: int = 10_000) -> Pair:
    """A mixture of N(shift, 1) beside N(0, 1), their outcomes rounded to cells.

    Rounding is post-processing: what the pair tells apart, the laws themselves tell apart too.
    """
    from scipy.special import log_ndtr

    edges = np.linspace(-9.0, 9.0 + float(np.max(shifts)), cells)
    parts = [log_cells(log_ndtr, edges - shift) for shift in shifts]
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp.reduce(np.array(parts) + np.log(weights)[:, None])
    return Pair(mixed, log_cells(log_ndtr, edges))


def log_cells(log_below: Callable[[Floats], Floats], edges: Floats) -> Floats:
    """Logarithms of the chances of lying below, between and above edges, under a law that is symmetric around 0.

    Args:
        log_below: logarithm of the chance of lying below.
        edges: rising, [e].

    Returns:
        [e + 1], exact in both tails.
    """
    below, above = log_below(edges), log_below(-edges)
    far, near = np.where(edges[:-1] > 0, above[1:], below[:-1]), np.where(edges[:-1] > 0, above[:-1], below[1:])
    with np.errstate(divide="ignore"):
        inner = near + np.log(-np.expm1(np.minimum(far - near, 0.0)))
    return np.concatenate([below[:1], inner, above[-1:]])


def laplaces(distance: float, cells: int = 4000) -> Pair:
    """Laplace noise of scale 1 around 0 and around ``distance``, rounded to cells."""
    edges = np.linspace(0.0, distance, cells)
    inner = np.log(-np.expm1(-distance / (cells - 1))) - math.log(2)
    here = np.concatenate([[-math.log(2)], inner - edges[:-1], [-math.log(2) - distance]])
    return Pair(here, here[::-1].copy())


def least_epsilon(pairs: Sequence[Pair], delta: float) -> float:
    """An epsilon below which all pairs together tell more than a delta above 0 allows.

    Privacy losses are rounded down to a grid and added up by Fourier transforms (Koskela, Jaelkoe and Honkela
    2020); what that may miscount is taken off. With more than `MOST_TOGETHER` repetitions some are left out.
    """
    total = sum(pair.times for pair in pairs)
    if not total or delta + SLACK >= 1:
        return 0.0
    if total > MOST_TOGETHER:
        kept = [(pair, pair.times * MOST_TOGETHER // total) for pair in pairs]
        pairs = [Pair(pair.here, pair.there, times) for pair, times in kept if times]
    return max(_least(pairs, delta + SLACK), _least([pair.turned() for pair in pairs], delta + SLACK))


def _least(pairs: Sequence[Pair], delta: float) -> float:
    """In one direction."""
    losses = [_losses(pair) for pair in pairs]
    times, finite = sum(pair.times for pair in pairs), 0.0
    for pair in pairs:
        never = float(np.exp(pair.here[np.isneginf(pair.there)]).sum())
        finite += pair.times * math.log1p(-min(never, 1 - 1e-12))
    low, high = _window(pairs, losses)
    size = COARSE if times <= FEW else FINE
    step = (high - low) / (size - 2 * times)
    first = math.floor(low / step) - times
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for pair, (values, chances) in zip(pairs, losses, strict=True):
        cells = np.floor(values / step).astype(np.int64) % size
        spectrum *= np.fft.rfft(np.bincount(cells, np.exp(chances), size)) ** pair.times
    masses = np.asarray(np.roll(np.fft.irfft(spectrum, size), -(first % size)), dtype=np.float64)
    reached = step * np.arange(first, first + size, dtype=np.float64)
    masses, reached, infinite = masses[reached > 0], reached[reached > 0], -math.expm1(finite)

    def told(epsilon: float) -> float:
        above = reached > epsilon
        return infinite + float((masses[above] * -np.expm1(epsilon - reached[above])).sum())

    found, most = 0.0, max(high, 0.0)
    if told(0.0) <= delta:
        return 0.0
    while most - found > 1e-4 * max(found, 1e-2):
        middle = (found + most) / 2
        found, most = (middle, most) if told(middle) > delta else (found, middle)
    return found


def _losses(pair: Pair) -> tuple[Floats, Floats]:
    """Finite privacy losses and the logarithms of their chances, [m] each; the rest is an infinite loss."""
    finite = np.isfinite(pair.here) & np.isfinite(pair.there)
    return pair.here[finite] - pair.there[finite], pair.here[finite]


def _window(pairs: Sequence[Pair], losses: Sequence[tuple[Floats, Floats]]) -> tuple[float, float]:
    """Between which the sum of all losses lies but for `FAR` on either side (Chernoff's bound)."""

    from scipy.special import logsumexp

    def beyond(sign: float) -> float:
        bounds = [-math.log(FAR) / float(tilt) for tilt in TILTS]
        for pair, (values, chances) in zip(pairs, losses, strict=True):
            for index, tilt in enumerate(TILTS):
                bounds[index] += pair.times * float(logsumexp(sign * tilt * values + chances)) / float(tilt)
        return min(bounds)

    return -beyond(-1.0), beyond(1.0)

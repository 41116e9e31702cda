"""The law of a number released by a ladder: explicit, and drawn from exactly (Zhang et al. 2015).

A ladder of a number f of a network is I_0 <= I_1 <= ... with

- f of two neighbours differs by at most I_0 of either, and
- I_t of one is at most I_(t+1) of the other, for every t.

Whole numbers are then ranked by rungs around f: rung 0 is f itself, rung t the I_(t-1) next numbers on either side
of the rungs before. One step to a neighbour moves a number by one rung at most, so the exponential mechanism with
minus the rung as quality, e^(-epsilon rung / 2), is epsilon-private.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ..graphs.network import Floats
from .exact_noise import UniformIntegers, exponential_bounds, geometric

PRECISION = 128
"""Bits of the first table that a rung is looked up in; where they do not decide, there are twice as many."""


@dataclass(frozen=True)
class Ladder:
    """Widths of rungs.

    Attributes:
        widths: I_0 to I_M, never falling; every later one is I_M.

    Raises:
        ValueError: there is none, one is negative, or they fall.
    """

    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.widths or self.widths[0] < 0 or any(b < a for a, b in pairwise(self.widths)):
            raise ValueError("the widths of a ladder's rungs are 0 or more and do not fall")

    def width(self, step: int) -> int:
        """I_t."""
        return self.widths[min(step, len(self.widths) - 1)]

    @property
    def last(self) -> int:
        """I_M, the width that stays."""
        return self.widths[-1]

    @cached_property
    def reaches(self) -> tuple[int, ...]:
        """How far the rungs 1 to M + 1 reach from the centre: I_0, I_0 + I_1, ..."""
        return tuple(accumulate(self.widths))

    def reach(self, rung: int) -> int:
        """How far a rung reaches from the centre."""
        further = max(rung - len(self.reaches), 0)
        return (self.reaches[min(rung, len(self.reaches)) - 1] if rung else 0) + further * self.last

    def rung(self, distance: int) -> int | None:
        """On which rung lies what is so far from the centre; None where no rung comes that far."""
        if distance <= self.reaches[-1]:
            return bisect_left(self.reaches, distance) + 1 if distance else 0
        beyond = distance - self.reaches[-1]
        return len(self.reaches) - (-beyond // self.last) if self.last else None


def climbing(first: int, step: Callable[[int], int], most: int) -> Ladder:
    """A ladder that starts at a local sensitivity and grows by bounds on what one more changed edge adds to it.

    Args:
        first: I_0.
        step: bound on what the t-th changed edge adds, t = 0, 1, ...; it does not fall, and exceeds 0 in the end.
        most: what no I_t exceeds, whatever the edges.
    """
    widths = [min(first, most)]
    while widths[-1] < most:
        widths.append(min(widths[-1] + step(len(widths) - 1), most))
    return Ladder(tuple(widths))


@dataclass(frozen=True)
class LadderLaw:
    """Which whole number is released with which probability.

    Attributes:
        centre: the number that is hidden.
        ladder: around it.
        epsilon: above 0.
    """

    centre: int
    ladder: Ladder
    epsilon: Fraction

    def log_probability(self, value: int) -> float:
        """Natural logarithm of the probability that ``value`` is released; accurate to about 1e-12."""
        rung = self.ladder.rung(abs(value - self.centre))
        return -math.inf if rung is None else -rung * float(self.epsilon) / 2 - self._log_weight

    def beyond(self, reach: int) -> float:
        """Probability of a number further than ``reach`` from the centre, on both sides together."""
        rung = self.ladder.rung(reach)
        if rung is None:
            return 0.0
        left = 2 * (self.ladder.reach(rung) - reach)  # numbers that are left of the rung that reach ends on
        here = math.log(left) - rung * float(self.epsilon) / 2 if left else -math.inf
        return float(np.exp(np.logaddexp(here, self._log_weight_from(rung + 1)) - self._log_weight))

    def draw(self, size: int, rng: np.random.Generator | None = None) -> list[int]:
        """Numbers by this law, exactly, [size].

        The rungs' weights are irrational. They are bounded from both sides to so many bits; where a uniform number
        falls between the bounds, more bits of both are computed.
        """
        source, tables = UniformIntegers(rng), _tables(self.ladder, self.epsilon / 2)
        known = [next(tables)]
        rungs = [_looked_up(source, known, tables) for _ in range(size)]
        tail = len(self.ladder.widths) + 1  # the first rung of those that are all alike: how many further?
        further = iter(geometric(self.epsilon / 2, rungs.count(tail), rng).tolist())
        return [self._on(rung + next(further) if rung == tail else rung, source) for rung in rungs]

    def _on(self, rung: int, source: UniformIntegers) -> int:
        """One of the numbers on a rung, each as likely."""
        if not rung:
            return self.centre
        place = source.large(2 * self.ladder.width(rung - 1))
        distance = self.ladder.reach(rung) - place // 2
        return self.centre + (distance if place % 2 else -distance)

    @cached_property
    def _log_weight(self) -> float:
        return self._log_weight_from(0)

    def _log_weight_from(self, rung: int) -> float:
        """Logarithm of the weight of a rung and all after it, where rung 0 weighs 1."""
        widths, rate = self.ladder.widths, float(self.epsilon) / 2
        first = max(rung, 1)
        logs = np.array([math.log(2 * w) if w else -math.inf for w in widths[first - 1 :]])
        logs -= rate * np.arange(first, first + len(logs))
        end = max(len(widths) + 1, first)
        parts = [0.0] if rung == 0 else []
        if self.ladder.last:
            parts.append(math.log(2 * self.ladder.last) - rate * end - math.log(-math.expm1(-rate)))
        whole: float = np.logaddexp.reduce(np.concatenate([logs, parts, [-math.inf]]))
        return float(whole)


@dataclass(frozen=True, eq=False)
class Window:
    """A law on the whole numbers, explicit around its centre.

    Attributes:
        values: consecutive whole numbers [v].
        probabilities: of each of them [v].
        beyond: of all others together.
    """

    values: tuple[int, ...]
    probabilities: Floats
    beyond: float


def ladder_law(centre: int, ladder: Ladder, epsilon: Fraction, reach: int) -> Window:
    """The law of a release by a ladder, up to ``reach`` from the centre.

    Raises:
        ValueError: reach is negative.
    """
    if reach < 0:
        raise ValueError(f"reach is {reach}: expected 0 or more")
    law = LadderLaw(centre, ladder, epsilon)
    base = law.log_probability(centre)
    rungs = [ladder.rung(distance) for distance in range(reach + 1)]
    side = [0.0 if rung is None else math.exp(base - rung * float(epsilon) / 2) for rung in rungs]
    values = tuple(range(centre - reach, centre + reach + 1))
    return Window(values, np.array(side[:0:-1] + side), law.beyond(reach))


@dataclass(frozen=True)
class _Table:
    """Whole numbers around the summed weights of rungs 0 to t, times 2^bits, and around the sum of all.

    ``open``: the table ends before the ladder does, because what follows is lost in rounding.
    """

    bits: int
    least: list[int]
    most: list[int]
    least_total: int
    most_total: int
    open: bool

    def rung(self, uniform: int, bits: int) -> int | None:
        """The rung at a uniform number in [uniform, uniform + 1) / 2^bits, or None if that is not decided."""
        low = (uniform * self.least_total) >> bits
        high = -(-((uniform + 1) * self.most_total) >> bits)
        found = bisect_left(self.least, high)
        if found and self.most[found - 1] > low:
            return None
        return None if found == len(self.least) and self.open else found


def _looked_up(source: UniformIntegers, known: list[_Table], tables: Iterator[_Table]) -> int:
    """A rung, drawn by its weight; ``known`` keeps the tables that were needed for one."""
    uniform, bits, level, rung = 0, 0, 0, None
    while rung is None:
        if level == len(known):
            known.append(next(tables))
        uniform = uniform << known[level].bits | source.bits(known[level].bits)
        bits += known[level].bits
        rung = known[level].rung(uniform, bits)
        level += 1
    return rung


def _tables(ladder: Ladder, rate: Fraction) -> Iterator[_Table]:
    bits = PRECISION
    while True:
        yield _table(ladder, rate, bits)
        bits *= 2


def _table(ladder: Ladder, rate: Fraction, bits: int) -> _Table:
    """Weights in whole numbers, rounded down and up at every step."""
    one = 1 << bits
    down, up = exponential_bounds(rate, bits)
    low = high = one
    least, most = [one], [one]
    for width in ladder.widths:
        low, high = low * down >> bits, -(-high * up >> bits)
        least.append(least[-1] + 2 * width * low)
        most.append(most[-1] + 2 * width * high)
        if high <= 1:  # no more than rounding is left of the weights
            break
    rest_least = 2 * ladder.last * low * down // (one - down)
    rest_most = -(-2 * ladder.last * high * up // (one - up))
    unfinished = len(least) <= len(ladder.widths)
    rest = 0 if unfinished else rest_least
    return _Table(bits, least, most, least[-1] + rest, most[-1] + rest_most, unfinished)

"""Discrete Laplace and Gaussian noise from whole numbers only, after Canonne, Kamath and Steinke (2020).

Floating-point noise carries no guarantee: which floats can occur at all depends on the value that it hides (Mironov
2012). Here every decision compares whole numbers that are drawn uniformly, so that the laws are those of the paper
and not nearly so. A number's size still shows in the time that it takes; no attempt is made to hide that.

With ``rng`` a release can be repeated, as audits and tests must: whoever knows the seed can take the noise off
again. A real release leaves ``rng`` at None, which draws from the operating system's entropy.
"""

import math
import secrets
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graphs.network import Floats, Ints

Coins = Callable[[Ints], NDArray[np.bool_]]
"""Independent coins for the places that are asked for, one toss each."""

WORD = 62
"""Bits that are drawn and compared at a time; they and their sums fit into int64."""
WIDEST = 2**55
"""Largest scale: noise that does not fit into int64 then has a probability below e^-255."""


class UniformIntegers:
    """Whole numbers that are uniform, exactly: from a generator, or from the operating system's entropy."""

    def __init__(self, rng: np.random.Generator | None) -> None:
        self.rng = rng

    def words(self, size: int) -> NDArray[np.uint64]:
        """Uniform from 0 to 2^64 - 1, [size]."""
        if self.rng is None:
            return np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64)
        return self.rng.integers(0, 2**64, size=size, dtype=np.uint64)

    def below(self, bound: int, size: int) -> Ints:
        """Uniform from 0 to bound - 1, [size]; bound from 1 to 2^62."""
        found = np.zeros(size, dtype=np.int64)
        waiting = np.arange(size if bound > 1 else 0)
        last = np.uint64(2**64 - 1 - 2**64 % bound)  # words up to here hold each remainder equally often
        while len(waiting):
            drawn = self.words(len(waiting))
            good = drawn <= last
            found[waiting[good]] = (drawn[good] % np.uint64(bound)).astype(np.int64)
            waiting = waiting[~good]
        return found

    def bits(self, count: int) -> int:
        """Uniform from 0 to 2^count - 1, however large."""
        size = -(-count // 64)
        return int.from_bytes(self.words(size).tobytes(), "little") >> (64 * size - count)

    def large(self, bound: int) -> int:
        """Uniform from 0 to bound - 1, however large."""
        while (drawn := self.bits(bound.bit_length())) >= bound:
            pass
        return drawn


def geometric(rate: Fraction, size: int, rng: np.random.Generator | None = None) -> Ints:
    """Numbers y = 0, 1, ... with probability (1 - e^-rate) e^(-rate y), [size] (Canonne et al., Algorithm 2).

    Raises:
        InputError: the rate is below 2^-55, or has a denominator of more than 62 bits.
    """
    if not rate * WIDEST >= 1 or rate.denominator.bit_length() > WORD:
        scale = 1 / rate if rate else "infinite"
        expected = f"expected a fraction above 0 and up to 2^55, of a numerator below 2^{WORD}"
        raise InputError(f"the noise's scale is {scale}: {expected}")
    source, length = UniformIntegers(rng), rate.denominator
    part = _kept(size, lambda count: _part(source, length, count))
    whole = _run_lengths(source, size)
    if size and length * (int(whole.max()) + 1) >= 2**63:
        exactly = (part.astype(object) + whole.astype(object) * length) // rate.numerator
        return np.array(exactly, dtype=np.int64)
    if rate.numerator >= 2**63:
        return np.zeros(size, dtype=np.int64)  # no int64 reaches it
    found: Ints = (part + whole * length) // rate.numerator
    return found


def discrete_laplace(scale: Fraction, size: int, rng: np.random.Generator | None = None) -> Ints:
    """Discrete Laplace noise: z with probability proportional to e^(-|z| / scale), [size].

    Added to whole numbers whose L1 distance between neighbours is at most s, it gives epsilon = s / scale.

    Args:
        scale: a fraction above 0.
        size: how many.
        rng: for audits that must be repeatable. None draws fresh entropy, as a real release must.

    Raises:
        InputError: the scale is not above 0, is over 2^55, or has a numerator of more than 62 bits.

    Source: Canonne, Kamath and Steinke 2020, Algorithm 2.
    """
    scale = Fraction(scale)
    if not scale > 0:
        raise InputError(f"the noise's scale is {scale}: expected a fraction above 0")
    source = UniformIntegers(rng)

    def signed(count: int) -> Ints:
        sizes = geometric(1 / scale, count, rng)
        negative = source.below(2, count) == 1
        kept = ~(negative & (sizes == 0))  # zero has one sign, not two
        signs: Ints = np.where(negative, -sizes, sizes)[kept]
        return signs

    return _kept(size, signed)


def discrete_gaussian(variance: Fraction, size: int, rng: np.random.Generator | None = None) -> Ints:
    """Discrete Gaussian noise: z with probability proportional to e^(-z^2 / (2 variance)), [size].

    Added to whole numbers whose L2 distance between neighbours is at most s, it gives s^2 / (2 variance) zCDP.

    Args:
        variance: sigma squared, a fraction above 0. The noise's own variance is at most this.
        size: how many.
        rng: for audits that must be repeatable. None draws fresh entropy, as a real release must.

    Raises:
        InputError: the variance is not above 0, or 2^100 or more.

    Source: Canonne, Kamath and Steinke 2020, Algorithm 3.
    """
    variance = Fraction(variance)
    if not 0 < variance < 2**100:
        raise InputError(f"the noise's variance is {variance}: expected a fraction above 0 and below 2^100")
    source, scale = UniformIntegers(rng), math.isqrt(math.floor(variance)) + 1

    def accepted(count: int) -> Ints:
        drawn = discrete_laplace(Fraction(scale), count, rng)
        sizes, place = np.unique(np.abs(drawn), return_inverse=True)
        costs = [(size - variance / scale) ** 2 / (2 * variance) for size in sizes.tolist()]
        return drawn[_exponential_coins(source, costs, place.astype(np.int64))]

    return _kept(size, accepted)


def discrete_laplace_pmf(scale: Fraction, values: Ints) -> Floats:
    """Probability of each value under `discrete_laplace`, [v]."""
    found: Floats = math.tanh(float(1 / (2 * scale))) * np.exp(-np.abs(values) * float(1 / scale))
    return found


def discrete_gaussian_pmf(variance: Fraction, values: Ints) -> Floats:
    """Probability of each value under `discrete_gaussian`, [v].

    The sum over all whole numbers is taken directly for a small variance and by Poisson's summation for a larger
    one; both leave out less than 1e-30 of it.
    """
    spread, near = float(variance), np.arange(-20.0, 21.0)
    if spread <= 2:
        total = float(np.exp(-(near**2) / (2 * spread)).sum())
    else:
        total = math.sqrt(2 * math.pi * spread) * float(np.exp(-2 * (math.pi * near) ** 2 * spread).sum())
    found: Floats = np.exp(-(np.asarray(values, dtype=np.float64) ** 2) / (2 * spread)) / total
    return found


def exponential_bounds(rate: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers below and above e^-rate times 2^bits.

    ``decimal`` rounds quotients and exponentials correctly, so the error is a unit of the last digit for the
    exponential and, for the quotient, one times the rate.
    """
    context = Context(prec=bits // 3 + 20)
    quotient = context.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    value = Fraction(context.exp(context.minus(quotient)))
    slack = value * (rate + 1) / 10 ** (context.prec - 1)
    return max(math.floor((value - slack) * 2**bits), 0), math.ceil((value + slack) * 2**bits) + 1


def tossed(
    bounds: Callable[[int], tuple[int, int]], size: int, rng: np.random.Generator | None
) -> NDArray[np.bool_]:
    """Coins of one chance that is no fraction, exactly, [size]: uniform numbers of which bits are drawn as needed.

    Args:
        bounds: whole numbers below and above the chance times 2^bits, that come together with more bits.
        size: how many.
        rng: for audits only; None draws fresh entropy.
    """
    source = UniformIntegers(rng)
    low, high = (min(max(bound, 0), 2**WORD) for bound in bounds(WORD))
    drawn = source.below(2**WORD, size)
    heads: NDArray[np.bool_] = drawn < low
    for place in np.flatnonzero(~heads & (drawn < high)).tolist():
        heads[place] = _decided(source, bounds, int(drawn[place]))
    return heads


def _decided(source: UniformIntegers, bounds: Callable[[int], tuple[int, int]], drawn: int) -> bool:
    """Whether a uniform number that starts with `WORD` bits is below the chance, by as many more as that takes."""
    bits = WORD
    while True:
        drawn, bits = drawn << bits | source.bits(bits), 2 * bits
        low, high = bounds(bits)
        if drawn < low or drawn >= high:
            return drawn < low


def _kept(size: int, draw: Callable[[int], Ints]) -> Ints:
    """The first so many of what repeated draws keep; each draw is asked for some more than are missing."""
    found = [np.empty(0, dtype=np.int64)]
    missing = size
    while missing > 0:
        found.append(draw(missing + missing // 2 + 8)[:missing])
        missing -= len(found[-1])
    return np.concatenate(found)


def _part(source: UniformIntegers, length: int, count: int) -> Ints:
    """Those of count numbers uniform below ``length`` that pass a coin of e^(-number / length)."""
    drawn = source.below(length, count)
    passed = _odd_runs(source, count, lambda places: source.below(length, len(places)) < drawn[places])
    return drawn[passed]


def _run_lengths(source: UniformIntegers, size: int) -> Ints:
    """How often in a row a coin of e^-1 comes up, [size]."""
    found = np.zeros(size, dtype=np.int64)
    running = np.arange(size)
    while len(running):
        running = running[_odd_runs(source, len(running), _always)]
        found[running] += 1
    return found


def _always(places: Ints) -> NDArray[np.bool_]:
    return np.ones(len(places), dtype=bool)


def _odd_runs(source: UniformIntegers, count: int, coins: Coins) -> NDArray[np.bool_]:
    """Coins of e^-g from coins of g (0 <= g <= 1), [count] (Canonne et al., Algorithm 1).

    Toss coins of g/1, g/2, g/3, ... until one fails: e^-g is the chance that this is an odd one. A coin of g/k is
    one of g and one of 1/k that both come up, so that no product of g's denominator has to fit into a word.
    """
    odd = np.zeros(count, dtype=bool)
    alive, turn = np.arange(count), 1
    while len(alive):
        passed = coins(alive) & (source.below(turn, len(alive)) == 0)
        odd[alive[~passed]] = turn % 2 == 1
        alive, turn = alive[passed], turn + 1
    return odd


def _exponential_coins(source: UniformIntegers, costs: list[Fraction], which: Ints) -> NDArray[np.bool_]:
    """Coins of e^-cost for any cost from 0, [s]; ``which`` [s] says which of the costs each has."""
    whole = np.array([min(math.floor(cost), 2**WORD) for cost in costs], dtype=np.int64)[which]
    rest = [cost - math.floor(cost) for cost in costs]
    heads = np.array([math.floor(part * 2**WORD) for part in rest], dtype=np.int64)
    passed = np.ones(len(which), dtype=bool)
    alive = np.flatnonzero(whole > 0)
    while len(alive):
        passed[alive] = came_up = _odd_runs(source, len(alive), _always)
        alive = alive[came_up]
        whole[alive] -= 1
        alive = alive[whole[alive] > 0]
    open_ = np.flatnonzero(passed)

    def coins(places: Ints) -> NDArray[np.bool_]:
        kind = which[open_[places]]
        drawn = source.below(2**WORD, len(places))
        less = drawn < heads[kind]
        for tie in np.flatnonzero(drawn == heads[kind]):  # the first digits of both agree: compare the next ones
            less[tie] = _less(source, rest[int(kind[tie])])
        return less

    passed[open_] = _odd_runs(source, len(open_), coins)
    return passed


def _less(source: UniformIntegers, chance: Fraction) -> bool:
    """Whether a uniform number whose first digits are those of ``chance`` is less than it."""
    while True:
        chance = chance * 2**WORD - math.floor(chance * 2**WORD)
        drawn = int(source.below(2**WORD, 1)[0])
        if drawn != math.floor(chance * 2**WORD):
            return bool(drawn < chance * 2**WORD)

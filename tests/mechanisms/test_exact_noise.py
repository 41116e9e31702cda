"""Exact noise: the laws it is said to have, by chi-square; false alarms of each test 1e-6, on fixed seeds."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from gaudit.errors import InputError
from gaudit.mechanisms import exact_noise
from gaudit.mechanisms.exact_noise import (
    UniformIntegers,
    discrete_gaussian,
    discrete_gaussian_pmf,
    discrete_laplace,
    discrete_laplace_pmf,
    exponential_bounds,
    geometric,
    tossed,
)

DRAWS = 100_000
FALSE_ALARM = 1e-6
WRITTEN = Fraction(repr(2 / 3))


def seeded(seed=0):
    return np.random.default_rng(seed)


def agrees(drawn, pmf, widest):
    """Chi-square against the law, on cells that are each expected ten times or more; the rest is one cell."""
    values = np.arange(-widest, widest + 1)
    expected = pmf(values) * len(drawn)
    used = expected >= 10
    counted = np.bincount(np.clip(drawn, -widest - 1, widest + 1) + widest + 1, minlength=2 * widest + 3)[1:-1]
    rest, drawn_rest = len(drawn) - expected[used].sum(), len(drawn) - counted[used].sum()
    cells, hits = expected[used], counted[used]
    if rest >= 10:
        cells, hits = np.append(cells, rest), np.append(hits, drawn_rest)
    else:  # too rare for a cell of its own
        cells[0], hits[0] = cells[0] + rest, hits[0] + drawn_rest
    return chisquare(hits, cells).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(20), WRITTEN, 7 + WRITTEN])
def test_laplace_has_its_law(scale):
    drawn = discrete_laplace(scale, DRAWS, seeded(1))
    assert agrees(drawn, lambda values: discrete_laplace_pmf(scale, values), 400)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(1), Fraction(7, 2), Fraction(100), 3 + WRITTEN])
def test_gaussian_has_its_law(variance):
    drawn = discrete_gaussian(variance, DRAWS, seeded(2))
    assert agrees(drawn, lambda values: discrete_gaussian_pmf(variance, values), 100)


def test_fresh_entropy_has_the_law_too():
    drawn = discrete_laplace(Fraction(3), DRAWS)
    assert agrees(drawn, lambda values: discrete_laplace_pmf(Fraction(3), values), 100)
    assert not np.array_equal(discrete_laplace(Fraction(3), 100), discrete_laplace(Fraction(3), 100))


@pytest.mark.parametrize("wrong", [Fraction(29, 10), Fraction(31, 10)])
def test_a_scale_that_is_a_little_off_is_noticed(wrong):
    drawn = discrete_laplace(wrong, DRAWS, seeded(3))
    assert not agrees(drawn, lambda values: discrete_laplace_pmf(Fraction(3), values), 100)


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(3, 2), Fraction(4)])
def test_geometric_starts_at_0_and_has_its_law(rate):
    drawn = geometric(rate, DRAWS, seeded(4))
    assert agrees(drawn, lambda v: (v >= 0) * -np.expm1(-float(rate)) * np.exp(-float(rate) * abs(v)), 1000)


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
def test_noise_is_whole_symmetric_and_repeatable(draw):
    drawn = draw(Fraction(50), DRAWS, seeded(5))
    assert drawn.dtype == np.int64
    assert drawn.shape == (DRAWS,)
    ups, downs = (drawn > 0).sum(), (drawn < 0).sum()
    assert abs(ups - downs) < 5 * np.sqrt(ups + downs)  # false alarm: 6e-7
    assert np.array_equal(drawn, draw(Fraction(50), DRAWS, seeded(5)))
    assert not np.array_equal(drawn, draw(Fraction(50), DRAWS, seeded(6)))
    assert len(draw(Fraction(50), 0, seeded(5))) == 0


def test_large_parameters_stay_within_whole_numbers():
    wide = Fraction(2**62 - 1, 1024)  # parts and whole lengths together do not fit into 64 bits
    drawn = geometric(1 / wide, 2000, seeded(7)).astype(float) / float(wide)
    assert abs(drawn.mean() - 1) < 5 / np.sqrt(2000)
    assert abs((drawn > np.log(2)).mean() - 0.5) < 5 * 0.5 / np.sqrt(2000)
    broad = discrete_gaussian(Fraction(10**24), 2000, seeded(8)) / 1e12
    assert abs(broad.std() - 1) < 5 / np.sqrt(4000)
    assert (geometric(Fraction(10**30, 7), 100, seeded(9)) == 0).all()


@pytest.mark.parametrize("bound", [1, 2, 3, 64, 1000, 2**62])
def test_whole_numbers_are_uniform(bound):
    drawn = UniformIntegers(seeded(10)).below(bound, DRAWS)
    assert drawn.min() >= 0
    assert drawn.max() < bound
    tenths = np.bincount((drawn.astype(object) * 10 // bound).astype(int), minlength=10)
    numbers = np.arange(bound) if bound <= 1000 else None
    share = np.bincount(numbers * 10 // bound, minlength=10) / bound if numbers is not None else np.full(10, 0.1)
    assert chisquare(tenths[share > 0], DRAWS * share[share > 0]).pvalue > FALSE_ALARM or bound == 1


def test_words_that_would_favour_small_remainders_are_drawn_again():
    class Fixed(UniformIntegers):
        def words(self, size):
            return np.array([next(given) for _ in range(size)], dtype=np.uint64)

    given = iter([2**64 - 1, 5])  # 2^64 - 1 is the one word too many for thirds: 2^64 = 1 mod 3
    assert Fixed(None).below(3, 1).tolist() == [2]


def test_digits_that_agree_are_compared_further(monkeypatch):
    """Words of two bits tie often; then the next digits decide, and the chance stays what it is."""
    chance, draws = Fraction(5, 7), 4000
    monkeypatch.setattr(exact_noise, "WORD", 2)
    source = UniformIntegers(seeded(11))
    coins = exact_noise._exponential_coins(source, [chance], np.zeros(draws, dtype=np.int64))
    expected = np.exp(-5 / 7)
    assert abs(coins.mean() - expected) < 5 * np.sqrt(expected * (1 - expected) / draws)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(40)])
def test_probabilities_add_up_and_fall_as_they_should(scale):
    values = np.arange(-4000, 4001)
    laplace, gauss = discrete_laplace_pmf(scale, values), discrete_gaussian_pmf(scale, values)
    assert laplace.sum() == pytest.approx(1, abs=1e-12)
    assert gauss.sum() == pytest.approx(1, abs=1e-12)
    one, none = values == 1, values == 0
    assert np.log(laplace[none] / laplace[one])[0] == pytest.approx(float(1 / scale))
    assert np.log(gauss[none] / gauss[one])[0] == pytest.approx(float(1 / (2 * scale)))


@pytest.mark.parametrize("draw", [discrete_laplace, discrete_gaussian])
@pytest.mark.parametrize("wrong", [Fraction(0), Fraction(-1), Fraction(2**110)])
def test_what_cannot_be_drawn_is_refused(draw, wrong):
    with pytest.raises(InputError, match="expected a fraction above 0"):
        draw(wrong, 1, seeded())


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 3), Fraction(7)])
def test_coins_of_an_irrational_chance_come_up_as_often(rate):
    """e^-rate, whose bits never end; the count of 100,000 tosses, of false alarm 1e-6."""
    heads = int(tossed(lambda bits: exponential_bounds(rate, bits), DRAWS, seeded()).sum())
    assert binomtest(heads, DRAWS, float(np.exp(-float(rate)))).pvalue > FALSE_ALARM


def test_coins_that_many_bits_do_not_decide_are_tossed_on():
    """Bounds that are wide at first: every coin needs more bits, and the chance is that of the bounds' limit."""
    asked = []

    def wide(bits):
        asked.append(bits)
        third = 2**bits // 3
        return (0, 2**bits) if bits < 200 else (third, third + 1)

    heads = int(tossed(wide, 3000, seeded()).sum())
    assert binomtest(heads, 3000, 1 / 3).pvalue > FALSE_ALARM
    assert set(asked) == {62, 124, 248}
    assert tossed(lambda bits: (2**bits, 2**bits), 5, seeded()).all()
    assert not tossed(lambda bits: (0, 0), 5, seeded()).any()

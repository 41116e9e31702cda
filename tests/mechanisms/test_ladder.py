"""Release by a ladder: an explicit law that is drawn from exactly. Chi-square false alarms 1e-6, on fixed seeds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.mechanisms import ladder as module
from gaudit.mechanisms.exact_noise import exponential_bounds
from gaudit.mechanisms.ladder import Ladder, LadderLaw, ladder_law

LADDERS = {
    "rising": Ladder((1, 2, 2, 5)),
    "flat": Ladder((3,)),
    "from 0": Ladder((0, 0, 1, 4)),
    "wide": Ladder((1000, 10**9)),
}


def rungs_by_hand(ladder, most):
    """The rung at each distance, by walking outwards."""
    found, rung = [0], 0
    while len(found) <= most:
        rung += 1
        found += [rung] * ladder.width(rung - 1)
    return found[: most + 1]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).map(sorted).filter(lambda widths: widths[-1] > 0))
def test_rungs_are_those_of_a_walk_outwards(widths):
    ladder = Ladder(tuple(widths))
    walked = rungs_by_hand(ladder, 60)
    assert [ladder.rung(distance) for distance in range(61)] == walked
    for rung in range(8):
        inside = [d for d in range(61) if walked[d] <= rung]
        assert ladder.reach(rung) == inside[-1] or inside[-1] == 60


@pytest.mark.parametrize("name", ["rising", "flat", "from 0"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_the_law_is_explicit_and_adds_up(name, epsilon):
    """Weights by hand, as far as 1e-15 of them reach; tolerance 1e-12."""
    ladder, reach = LADDERS[name], 5000
    weights = np.exp(-float(epsilon) / 2 * np.array(rungs_by_hand(ladder, reach)))
    whole = 2 * weights.sum() - 1
    window = ladder_law(17, ladder, epsilon, 40)
    assert window.values == tuple(range(-23, 58))
    expected = np.concatenate([weights[40:0:-1], weights[:41]]) / whole
    assert window.probabilities == pytest.approx(expected, rel=1e-10)
    assert window.beyond == pytest.approx(1 - expected.sum(), abs=1e-12)
    law = LadderLaw(17, ladder, epsilon)
    assert [law.log_probability(v) for v in window.values] == pytest.approx(np.log(expected), abs=1e-10)
    for short in range(12):
        part = ladder_law(17, ladder, epsilon, short)
        assert part.probabilities.sum() + part.beyond == pytest.approx(1, abs=1e-12)


def law_is_drawn(law, reach, draws=60_000, seed=1):
    drawn = np.array(law.draw(draws, np.random.default_rng(seed)))
    window = ladder_law(law.centre, law.ladder, law.epsilon, reach)
    counted = np.array([(drawn == value).sum() for value in window.values])
    expected = window.probabilities * draws
    used = expected >= 10
    cells = np.append(expected[used], draws - expected[used].sum())
    hits = np.append(counted[used], draws - counted[used].sum())
    return chisquare(hits, cells).pvalue > 1e-6


@pytest.mark.parametrize("name", ["rising", "flat", "from 0"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2)])
def test_what_is_drawn_has_the_law(name, epsilon):
    assert law_is_drawn(LadderLaw(-4, LADDERS[name], epsilon), 60)


def test_a_tail_that_starts_one_rung_late_would_be_noticed():
    flat, late = LadderLaw(0, Ladder((3,)), Fraction(1)), LadderLaw(0, Ladder((3, 4)), Fraction(1))
    drawn = np.array(late.draw(60_000, np.random.default_rng(2)))
    share = ladder_law(0, flat.ladder, flat.epsilon, 6).beyond
    assert abs((abs(drawn) > 6).mean() - share) > 5 * math.sqrt(share * (1 - share) / 60_000)


def test_few_bits_are_completed_where_they_do_not_decide(monkeypatch):
    """Tables of 6 bits leave most draws open; they are looked up again in finer ones, and the law is the same."""
    monkeypatch.setattr(module, "PRECISION", 6)
    assert law_is_drawn(LadderLaw(0, LADDERS["rising"], Fraction(1, 2)), 60, draws=20_000)


@given(st.fractions(Fraction(1, 1000), 40), st.sampled_from([8, 64, 128, 300]))
def test_exponentials_are_bounded_from_both_sides(rate, bits):
    """Against the series of e^-rate, cut where what is left is below 2^-400, in fractions."""
    term, whole, k = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 2**400):
        k += 1
        term = term * rate / k
        term = Fraction(math.ceil(term * 2**700), 2**700)  # keeps the numbers short; costs far below 2^-500
        whole += term
    exact = 2**bits / whole
    low, high = exponential_bounds(rate, bits)
    assert low <= exact * (1 + Fraction(1, 2**350))
    assert exact <= high * (1 + Fraction(1, 2**350))
    assert high - low <= 3


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=30).map(sorted), st.fractions(Fraction(1, 50), 10), st.data()
)
def test_tables_bound_the_weights(widths, rate, data):
    ladder = Ladder(tuple(widths))
    table = module._table(ladder, rate, 80)
    weight, floats = 1.0, [1.0]
    for rung in range(1, len(table.least)):
        weight += 2 * ladder.width(rung - 1) * math.exp(-float(rate) * rung)
        floats.append(weight)
    for low, high, middle in zip(table.least, table.most, floats, strict=True):
        assert low <= high
        assert low / 2**80 <= middle * (1 + 1e-12)
        assert middle <= high / 2**80 * (1 + 1e-12)
    total = math.exp(LadderLaw(0, ladder, 2 * rate)._log_weight)
    assert table.least_total / 2**80 <= total * (1 + 1e-12)
    assert total <= table.most_total / 2**80 * (1 + 1e-12)
    assert table.most_total - table.least_total < 2**70  # 1e-3 of the lowest weight


def test_wide_ladders_give_whole_numbers_of_any_size():
    ladder = Ladder((10**30,))
    drawn = LadderLaw(5, ladder, Fraction(1)).draw(50, np.random.default_rng(0))
    assert all(type(value) is int for value in drawn)
    assert max(map(abs, drawn)) > 10**28
    assert drawn == LadderLaw(5, ladder, Fraction(1)).draw(50, np.random.default_rng(0))


def test_a_ladder_without_width_hides_nothing_because_nothing_can_change():
    law = LadderLaw(9, Ladder((0,)), Fraction(1))
    assert law.draw(20, np.random.default_rng(0)) == [9] * 20
    assert law.log_probability(9) == pytest.approx(0)
    assert law.log_probability(10) == -math.inf
    assert ladder_law(9, law.ladder, law.epsilon, 2).probabilities.tolist() == [0, 0, 1, 0, 0]


@pytest.mark.parametrize("widths", [(), (-1,), (2, 1)])
def test_widths_do_not_fall(widths):
    with pytest.raises(ValueError, match="do not fall"):
        Ladder(widths)

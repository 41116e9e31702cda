"""Noise on a sample, against every sample that can be drawn, on neighbours of each kind."""

import itertools
import math

import numpy as np
import pytest

from gaudit.audit.lint.claim_statement import Noise
from gaudit.audit.lint.sampled_noise import account_of, amplify, is_sampled, renyi_drawn
from gaudit.mechanisms.renyi import ORDERS, epsilon_of_renyi, renyi_of_laplace

REACH = 120


def noise(scale=2.0, rate=0.3, sampling="poisson", mechanism="discrete-laplace", sensitivity=1, **facts):
    stated = {"mechanism": mechanism, "sensitivity": sensitivity, "norm": "any", "scale": scale, **facts}
    return Noise.checked("noise", {"name": "it", **stated, "sampling": sampling, "sample_rate": rate})


def noisy(total, scale):
    """Law of a whole number with discrete Laplace noise."""
    return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(np.arange(-REACH, REACH + 1) - total) / scale)


def poisson(values, rate, scale):
    """Law of the noisy sum of a sample that each value is in with probability ``rate``."""
    law = np.zeros(2 * REACH + 1)
    for drawn in itertools.product([0, 1], repeat=len(values)):
        chance = math.prod(rate if one else 1 - rate for one in drawn)
        law += chance * noisy(np.dot(drawn, values), scale)
    return law


def without_replacement(values, size, scale):
    """Law of the noisy sum of so many of the values, all subsets as likely."""
    subsets = list(itertools.combinations(values, size))
    return sum(noisy(sum(subset), scale) for subset in subsets) / len(subsets)


def delta_at(epsilon, here, there):
    rise = math.exp(epsilon)
    return max(np.maximum(here - rise * there, 0).sum(), np.maximum(there - rise * here, 0).sum())


def ratio(here, there):
    return float(np.abs(np.log(here / there)).max())


@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.02])
@pytest.mark.parametrize("rate", [0.1, 0.6])
def test_poisson_samples_of_units_that_come_or_go(rate, delta):
    kept, scale = account_of(noise(rate=rate), "add/remove"), 2.0
    tight = (poisson([0, 0, 1], rate, scale), poisson([0, 0], rate, scale))
    others = [(poisson([*rest, 1], rate, scale), poisson(rest, rate, scale)) for rest in ([0, 1], [1, 1], [1, -1])]
    assert all(delta_at(kept.sound(delta) + 1e-9, *pair) <= delta + 1e-12 for pair in [tight, *others])
    assert delta_at(kept.least(delta) * 0.999, *tight) > delta
    assert kept.sound(delta) == pytest.approx(kept.least(delta))


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_a_fixed_number_of_units_one_of_which_is_another(delta):
    kept = account_of(noise(rate=0.5, sampling="without-replacement"), "replace")
    tight = (without_replacement([0, 0, 0, 1], 2, 2.0), without_replacement([0, 0, 0, 0], 2, 2.0))
    other = (without_replacement([0, 1, 1, 1], 2, 2.0), without_replacement([0, 1, 1, 0], 2, 2.0))
    assert all(delta_at(kept.sound(delta) + 1e-9, *pair) <= delta + 1e-12 for pair in (tight, other))
    assert delta_at(kept.least(delta) * 0.999, *tight) > delta


def test_a_fixed_number_of_units_one_of_which_goes_needs_twice_the_sensitivity():
    """Values from -1 to 1: another one is drawn in place of the one that is gone."""
    here, there = without_replacement([-1, -1, -1, 1], 2, 2.0), without_replacement([-1, -1, -1], 2, 2.0)
    stated = noise(rate=0.5, sampling="without-replacement", sensitivity_for="add/remove")
    kept = account_of(stated, "add/remove")
    assert ratio(here, there) == pytest.approx(kept.sound(0.0), rel=1e-6)
    assert kept.sound(0.0) > 1.3 * account_of(noise(rate=0.5), "add/remove").sound(0.0)
    untold = account_of(noise(rate=0.5, sampling="without-replacement"), "add/remove")
    assert untold.least(0.0) < untold.sound(0.0) == pytest.approx(kept.sound(0.0))


def test_poisson_samples_amplify_nothing_for_units_that_are_replaced_by_near_ones():
    """50 becomes 51: whoever sees a large sum knows that it was drawn."""
    here, there = poisson([0, 50], 0.3, 2.0), poisson([0, 51], 0.3, 2.0)
    near = account_of(noise(sensitivity_for="replace"), "replace")
    assert ratio(here, there) == pytest.approx(near.sound(0.0), rel=1e-6)
    assert near.sound(0.0) == pytest.approx(0.5)
    for delta in (1e-3, 0.05):
        assert delta_at(near.sound(delta) + 1e-6, here, there) <= delta + 1e-9
    both = account_of(noise(sensitivity_for="both"), "replace")
    assert both.sound(0.0) == pytest.approx(amplify(0.5, 0.3))
    for pair in (([0, 1], [0, 0]), ([1, 1], [1, 0]), ([-1, 0], [-1, 1])):
        assert ratio(*(poisson(values, 0.3, 2.0) for values in pair)) <= both.sound(0.0) + 1e-9
    untold = account_of(noise(), "replace")
    assert (untold.least(0.0), untold.sound(0.0)) == (both.least(0.0), near.sound(0.0))


def test_twice_the_sensitivity_holds_for_replaced_units():
    kept = account_of(noise(sensitivity_for="add/remove"), "replace")
    here, there = poisson([0, 1], 0.3, 2.0), poisson([0, -1], 0.3, 2.0)
    assert ratio(here, there) <= kept.sound(0.0) + 1e-9


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.99])
def test_rate_times_epsilon_is_below_what_is_kept(rate):
    for epsilon in (1e-3, 0.5, 3.0, 50.0, 2000.0):
        found = amplify(epsilon, rate)
        assert rate * epsilon <= found * (1 + 1e-9) <= epsilon * (1 + 1e-6)
        if epsilon < 700:
            assert found == pytest.approx(math.log1p(rate * math.expm1(epsilon)))


@pytest.mark.parametrize(
    ("mechanism", "delta"), [("laplace", 0.0), ("gaussian", 1e-6), ("discrete-gaussian", 1e-6)]
)
def test_all_units_are_no_sample(mechanism, delta):
    whole, none = noise(rate=1.0, mechanism=mechanism), noise(rate=0.2, mechanism=mechanism, sampling="none")
    assert not is_sampled(whole)
    assert account_of(whole, "replace").sound(delta) == account_of(none, "replace").sound(delta)


def test_divergences_of_a_sample_bound_those_of_every_order():
    """Of Laplace noise on a sum, at the law of all samples; on a grid so fine that it is as good as continuous."""
    scale, rate = 40.0, 0.3
    at = np.arange(-4000, 4001)

    def law(middle):
        return math.tanh(1 / (2 * scale)) * np.exp(-np.abs(at - middle) / scale)

    stated = noise(mechanism="laplace", scale=1.0, rate=rate)
    kept = account_of(stated, "add/remove").sound(0.0)
    found = renyi_drawn(stated, "add/remove", renyi_of_laplace(1.0), kept)
    mixed, without = rate * law(40) + (1 - rate) * law(0), law(0)
    for index in range(0, 150, 15):
        order = ORDERS[index]
        for one, two in ((mixed, without), (without, mixed)):
            exact = math.log((two * (one / two) ** order).sum()) / (order - 1)
            assert exact <= found[index] + 1e-6
    assert epsilon_of_renyi(100 * found, 1e-6) < 100 * kept

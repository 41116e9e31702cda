"""Accountants of private training: against Opacus, closed forms, and mixtures that are integrated."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opacus.accountants import RDPAccountant
from opacus.accountants.analysis.rdp import compute_rdp
from scipy.stats import binom, norm

from gaudit.errors import InputError
from gaudit.mechanisms.accounting import (
    default_delta,
    least_noise,
    sampled,
    sampled_terms,
    what_delta_means,
    whole,
)
from gaudit.mechanisms.gaussian import delta_of
from gaudit.mechanisms.renyi import ORDERS, epsilon_of_renyi


@pytest.mark.parametrize(("noise", "rate", "steps"), [(0.8, 0.05, 200), (1.5, 0.3, 50), (4.0, 1.0, 20)])
def test_single_records_are_opacus(noise, rate, steps):
    theirs = RDPAccountant()
    theirs.history = [(noise, rate, steps)]
    expected = theirs.get_epsilon(1e-5, alphas=ORDERS.tolist())
    found = sampled(noise, rate, steps)
    assert expected * (1 - 1e-9) <= epsilon_of_renyi(found, 1e-5) <= expected * 1.01
    for order, ours in zip(ORDERS, found, strict=True):
        theirs_here = compute_rdp(q=rate, noise_multiplier=noise, steps=steps, orders=float(order))
        assert ours >= theirs_here * (1 - 1e-9)
        if order % 1 == 0:
            assert ours == pytest.approx(theirs_here, rel=1e-9)


@given(noise=st.floats(0.5, 50), times=st.integers(1, 50))
def test_whole_steps_add_up_and_never_promise_more_than_is_true(noise, times):
    """T Gaussians are one of sqrt(T) times the distance, of which the exact epsilon is known."""
    found = epsilon_of_renyi(whole(noise, times), 1e-5)
    assert delta_of(math.sqrt(times) / noise, found) <= 1e-5 * (1 + 1e-9)
    assert np.allclose(whole(noise, times), sampled(noise, 1.0, times))


@pytest.mark.parametrize(("noise", "rate", "terms"), [(6.0, 0.3, 2), (8.0, 0.1, 3), (20.0, 0.5, 4)])
def test_terms_bound_the_divergence_of_the_worst_mixture(noise, rate, terms):
    """All terms flip from one clip to the other side: two mixtures of normals, integrated."""
    grid = np.linspace(-40 * noise, 40 * noise, 400_001)
    drawn = np.arange(terms + 1)
    chance = binom.pmf(drawn, terms, rate)
    p, q = ((chance[:, None] * norm.pdf(grid[None], side * drawn[:, None], noise)).sum(0) for side in (1.0, -1.0))
    bound = sampled_terms(noise, rate, 1, terms)
    for order in (1.5, 2.0, 4.0, 16.0):
        kept = (p > 0) & (q > 0)
        integral = np.exp(order * np.log(p[kept]) + (1 - order) * np.log(q[kept])).sum() * (grid[1] - grid[0])
        divergence = math.log(integral) / (order - 1)
        (place,) = np.flatnonzero(np.isclose(ORDERS, order))
        assert divergence <= bound[place] * (1 + 1e-6) + 1e-9


def test_all_terms_at_once_are_one_large_step():
    assert np.allclose(sampled_terms(10.0, 1.0, 3, 5), whole(1.0, 3) * (2 * 5 / 10) ** 2)


@given(epsilon=st.floats(0.1, 16), steps=st.integers(1, 50), terms=st.integers(1, 12))
def test_the_least_noise_keeps_the_promise_and_a_little_less_does_not(epsilon, steps, terms):
    def spent(noise):
        return epsilon_of_renyi(sampled_terms(noise, 0.5, steps, terms), 1e-5)

    noise = least_noise(epsilon, 1e-5, lambda z: sampled_terms(z, 0.5, steps, terms))
    assert spent(noise) <= epsilon < spent(noise * 0.999)


@pytest.mark.parametrize(("epsilon", "delta", "said"), [(0.001, 1e-5, "no noise reaches"), (0, 1e-5, "above 0")])
def test_what_no_noise_reaches_is_said_in_one_line(epsilon, delta, said):
    with pytest.raises(InputError) as caught:
        least_noise(epsilon, delta, lambda z: whole(z, 1))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("delta", [0, 1, -1])
def test_a_delta_out_of_range_is_refused(delta):
    with pytest.raises(InputError, match="delta is"):
        epsilon_of_renyi(whole(1.0), delta)


def test_orders_without_a_number_are_left_out_and_none_at_all_is_said():
    known = whole(3.0)
    part = np.where(ORDERS < 2, np.nan, known)
    assert epsilon_of_renyi(part, 1e-5) == epsilon_of_renyi(known, 1e-5)
    with pytest.raises(InputError, match="has no number"):
        epsilon_of_renyi(np.full_like(ORDERS, np.nan), 1e-5)


@pytest.mark.parametrize(("units", "expected"), [(4, 1e-2), (10, 1e-2), (11, 1e-3), (2708, 1e-5), (100_000, 1e-6)])
def test_the_default_delta_is_a_tenth_of_one_over_the_units_or_less(units, expected):
    assert default_delta(units) == pytest.approx(expected)
    assert not what_delta_means(default_delta(units), units, "node")


def test_a_delta_that_means_little_is_said():
    (said,) = what_delta_means(0.1, 10, "client")
    assert "one client in 10" in said

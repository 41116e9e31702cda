"""What discrete Gaussian noise keeps, against sums over its probabilities."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.mechanisms.gaussian import discrete_epsilon_of, epsilon_of


def delta_at(epsilon, shift, deviation):
    """Sum over whole numbers of what one law has beyond e^epsilon times the other."""
    reach = math.ceil(40 * deviation) + 2 * shift
    weights = {z: math.exp(-(z**2) / (2 * deviation**2)) for z in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return math.fsum(
        max(0.0, weight - math.exp(epsilon) * weights.get(z + shift, 0.0)) / total for z, weight in weights.items()
    )


@pytest.mark.parametrize(
    ("deviation", "delta", "epsilon", "continuous"),
    [(1.0, 1e-5, 4.430, 4.377), (0.7, 1e-5, 6.956, 6.652), (0.6, 1e-3, 6.452, 5.979)],
)
def test_small_deviations_keep_less_than_continuous_noise(deviation, delta, epsilon, continuous):
    assert discrete_epsilon_of(1, deviation, delta) == pytest.approx(epsilon, abs=5e-4)
    assert epsilon_of(1 / deviation, delta) == pytest.approx(continuous, abs=5e-4)
    assert delta_at(continuous, 1, deviation) > delta


def test_epsilon_of_5_is_sound_at_a_deviation_of_seven_tenths():
    assert discrete_epsilon_of(1, 0.7, 1e-3) < 5.0
    assert delta_at(5.0, 1, 0.7) <= 1e-3


@given(
    shift=st.integers(1, 5), deviation=st.floats(0.3, 30), delta=st.floats(1e-12, 0.3), less=st.floats(1e-6, 0.05)
)
def test_epsilon_keeps_its_delta_and_no_smaller_one_does(shift, deviation, delta, less):
    found = discrete_epsilon_of(shift, deviation, delta)
    assert delta_at(found, shift, deviation) <= delta * (1 + 1e-6)
    if found > 0:
        assert delta_at(found * (1 - less), shift, deviation) > delta


def test_tiny_deviations_tell_the_number_and_no_more_than_it():
    """Almost all the mass is on 0: epsilon is 1 / (2 deviation^2), where continuous noise would have 284."""
    assert discrete_epsilon_of(1, 0.05, 1e-5) == pytest.approx(200.0, rel=1e-6)
    assert epsilon_of(1 / 0.05, 1e-5) > 284


@pytest.mark.parametrize("deviation", [50.0, 9999.0, 20_000.0])
def test_large_deviations_are_as_good_as_continuous(deviation):
    assert discrete_epsilon_of(3, deviation, 1e-9) == pytest.approx(epsilon_of(3 / deviation, 1e-9), rel=1e-4)

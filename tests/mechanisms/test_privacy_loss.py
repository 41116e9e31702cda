"""Epsilons of pairs of laws: against every set of outcomes, closed forms and exact compositions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gaudit.mechanisms.gaussian import epsilon_of
from gaudit.mechanisms.privacy_loss import Pair, laplaces, least_epsilon, log_cells, normals


def delta_at(epsilon, here, there):
    """The largest P(S) - e^epsilon Q(S), added up outcome by outcome."""
    return sum(max(0.0, p - math.exp(epsilon) * q) for p, q in zip(here, there, strict=True))


def pair_of(here, there, times=1):
    with np.errstate(divide="ignore"):
        return Pair(np.log(here), np.log(there), times)


laws = st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(any)


@given(here=laws, there=laws, delta=st.sampled_from([0.0, 1e-3, 0.1, 0.5]))
def test_epsilon_is_the_largest_of_all_sets_of_outcomes(here, there, delta):
    p, q = np.array(here) / sum(here), np.array(there) / sum(there)
    best = 0.0
    for picks in itertools.product([False, True], repeat=6):
        inside, outside = p[list(picks)].sum(), q[list(picks)].sum()
        if inside > delta + 1e-12:
            best = max(best, math.log((inside - delta) / outside) if outside else math.inf)
    assert pair_of(p, q).epsilon(delta) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(("times", "delta"), [(1, 1e-3), (5, 1e-4), (12, 1e-6)])
def test_composition_is_at_most_the_exact_one_and_near_to_it(times, delta):
    """Three outcomes, so many repetitions: every sequence of outcomes counted."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.35, 0.4])
    found = least_epsilon([pair_of(p, q, times)], delta)
    here, there = [], []
    for counts in itertools.product(range(times + 1), repeat=2):
        if sum(counts) <= times:
            full = (*counts, times - sum(counts))
            ways = math.factorial(times) // math.prod(math.factorial(n) for n in full)
            here.append(ways * math.prod(p**full))
            there.append(ways * math.prod(q**full))
    exact = max(pair_of(here, there).epsilon(delta), pair_of(there, here).epsilon(delta))
    assert exact * 0.995 <= found <= exact


@pytest.mark.parametrize("distance", [0.01, 1.0, 8.0, 50.0])
def test_cells_of_normals_tell_nearly_as_much_as_the_normals(distance):
    exact = epsilon_of(distance, 1e-6)
    found = least_epsilon([normals(np.array([distance]), np.ones(1))], 1e-6)
    assert exact * 0.999 <= found <= exact


def test_many_normals_together_are_one():
    parts = normals(np.array([0.25]), np.ones(1)).repeated(16)
    exact = epsilon_of(math.hypot(1.0, 2.0), 1e-5)
    found = least_epsilon([parts, normals(np.array([2.0]), np.ones(1))], 1e-5)
    assert exact * 0.995 <= found <= exact


@given(distance=st.floats(0.01, 20), delta=st.floats(1e-9, 0.3))
def test_cells_of_laplace_noise_have_its_closed_form(distance, delta):
    exact = max(0.0, distance + 2 * math.log1p(-delta))
    assert laplaces(distance).epsilon(delta) == pytest.approx(exact, rel=1e-3, abs=1e-3)
    assert laplaces(distance).epsilon(delta) <= exact + 1e-9


def test_an_outcome_that_gives_away_the_input_is_no_epsilon():
    assert math.isinf(pair_of([0.1, 0.9], [0.0, 1.0]).epsilon(0.05))
    assert pair_of([0.1, 0.9], [0.0, 1.0]).epsilon(0.1) == 0.0


def test_more_repetitions_than_fit_are_left_out_and_still_tell():
    few, many = (least_epsilon([pair_of([0.501, 0.499], [0.499, 0.501], n)], 1e-6) for n in (2**16, 2**20))
    assert few == many > 4


def test_cells_are_exact_in_both_tails():
    edges = np.array([-40.0, -39.0, 0.0, 39.0, 40.0])
    found = log_cells(norm.logcdf, edges)
    assert found[1] == pytest.approx(norm.logcdf(-39.0), rel=1e-6)
    assert found[1] == pytest.approx(found[4])
    assert found[2] == pytest.approx(math.log(0.5))

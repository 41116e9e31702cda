"""Degrees, private in edges: sensitivities by brute force, the law of the noise, what follows it."""

from fractions import Fraction
from itertools import combinations_with_replacement

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.degrees import (
    degree_counts,
    degree_counts_sensitivity,
    degree_histogram,
    degree_sequence,
    graphical_below,
    nearest_with_sum,
    rising,
    sorted_degrees,
    sorted_degrees_sensitivity,
)
from gaudit.mechanisms.exact_noise import discrete_laplace, discrete_laplace_pmf
from support import every_network as every

PATH = Network.from_edges(4, [0, 1, 2], [1, 2, 3])
QUERIES = {
    "sequence": (sorted_degrees, sorted_degrees_sensitivity()),
    "histogram": (degree_counts, degree_counts_sensitivity()),
    "bounded": (lambda network: degree_counts(network, 2), degree_counts_sensitivity()),
    "narrow": (lambda network: degree_counts(network, 1), degree_counts_sensitivity()),
}


@pytest.mark.parametrize("name", QUERIES)
def test_sensitivity_holds_on_all_networks_and_is_reached(name):
    query, sensitivity = QUERIES[name]
    for nodes in range(2, 6):
        values = np.array([query(network) for network in every.labelled(nodes)])
        changes = [np.abs(values - values[other]).sum(axis=1).max() for other in every.one_edge_away(len(values))]
        assert max(changes) == sensitivity
    for network in every.atlas(6):
        here = query(network)
        assert max(np.abs(here - query(other)).sum() for other in every.flipped(network)) <= sensitivity


@pytest.mark.parametrize("name", QUERIES)
def test_no_output_is_more_than_epsilon_likelier(name):
    """The log-ratio of any output is at most the L1 distance over the scale: at most epsilon, in fractions."""
    query, sensitivity = QUERIES[name]
    epsilon = Fraction(7, 10)
    scale = sensitivity / epsilon
    for network in every.labelled(4):
        here = query(network)
        for other in every.flipped(network):
            assert int(np.abs(here - query(other)).sum()) / scale <= epsilon


def test_the_noise_has_the_scale_that_the_sensitivity_asks_for():
    """Chi-square of 6,000 cells of noise; false alarm 1e-6."""
    truth, rng = degree_counts(PATH), np.random.default_rng(1)
    drawn = np.concatenate([degree_histogram(PATH, 2, rng=rng).values - truth for _ in range(1500)])
    values = np.arange(-9, 10)
    expected = discrete_laplace_pmf(Fraction(2), values)
    counted = np.array([(drawn == value).sum() for value in values])
    rest = 1 - expected.sum()
    found = chisquare(np.append(counted, len(drawn) - counted.sum()), np.append(expected, rest) * len(drawn))
    assert found.pvalue > 1e-6


def test_the_sequence_is_sorted_before_the_noise_and_not_after():
    """With the same noise, the release is the fit to sorted degrees plus noise."""
    noise = discrete_laplace(Fraction(4), 4, np.random.default_rng(5))
    expected = np.clip(np.rint(rising(np.array([1, 1, 2, 2]) + noise)), 0, 3)
    assert np.array_equal(degree_sequence(PATH, 0.5, np.random.default_rng(5)).values, expected)


@given(st.integers(0, 200), st.integers(2, 30), st.fractions(Fraction(1, 20), 5))
def test_released_degrees_rise_and_lie_within_limits(seed, nodes, epsilon):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.3, 1)
    network = Network.from_edges(nodes, *np.nonzero(upper))
    for graphical in (False, True):
        values = degree_sequence(network, epsilon, rng, graphical=graphical).values
        assert values.dtype == np.int64
        assert values.shape == (nodes,)
        assert (np.diff(values) >= 0).all()
        assert values.min() >= 0
        assert values.max() < nodes
        assert not graphical or nx.is_graphical(values.tolist())


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30), st.integers(0, 1000))
def test_the_fit_is_no_further_from_a_rising_truth_than_the_noisy_values(truth, seed):
    truth = np.sort(np.array(truth))
    noisy = truth + np.random.default_rng(seed).integers(-30, 31, len(truth))
    fit = rising(noisy)
    assert (np.diff(fit) >= -1e-9).all()
    assert ((fit - truth) ** 2).sum() <= ((noisy - truth) ** 2).sum() + 1e-9


def test_the_fit_cuts_the_error_of_many_equal_degrees():
    truth, rng = np.repeat([1, 2, 3, 40], [500, 300, 100, 5]), np.random.default_rng(3)
    noisy = truth + rng.laplace(scale=2, size=len(truth))
    assert ((rising(noisy) - truth) ** 2).sum() < ((noisy - truth) ** 2).sum() / 10


def test_graphical_degrees_stay_and_others_are_lowered_as_little_as_can_be():
    """All ascending sequences of up to 6 nodes; least is the sum of what must be taken off, by brute force."""
    for nodes in range(1, 7):
        whole = [np.array(d) for d in combinations_with_replacement(range(nodes), nodes)]
        possible = np.array([d for d in whole if nx.is_graphical(d.tolist())])
        for degrees in whole:
            found = graphical_below(degrees)
            assert nx.is_graphical(found.tolist())
            assert (found <= degrees).all()
            below = possible[(possible <= degrees).all(axis=1)]
            assert degrees.sum() - found.sum() == (degrees - below).sum(axis=1).min()


def test_every_cell_gets_noise_and_the_support_is_public():
    rng = np.random.default_rng(0)
    empty = Network.from_edges(50, [], [])
    drawn = np.array([degree_histogram(empty, 1, 10, rng).values for _ in range(200)])
    assert drawn.shape == (200, 11)
    assert (drawn[:, 1:] != 0).any(axis=0).all()
    assert degree_histogram(empty, 1, rng=rng).values.shape == (50,)
    assert degree_histogram(empty, 1, 400, rng).values.shape == (50,)


def test_what_a_bound_drops_is_in_no_cell_and_said_alike_for_all():
    star = Network.from_edges(6, [0] * 5, range(1, 6))
    assert degree_counts(star, 2).tolist() == [0, 5, 0]
    dropped = degree_histogram(star, 1, 2, np.random.default_rng(0))
    none = degree_histogram(Network.from_edges(6, [], []), 1, 2, np.random.default_rng(0))
    assert (dropped.notes, dropped.guarantee, dropped.sensitivity) == (none.notes, none.guarantee, none.sensitivity)
    assert "degree over 2" in " ".join(dropped.notes)
    assert "the degree bound 2" in dropped.guarantee.public


def test_the_guarantee_is_for_edges():
    released = degree_sequence(PATH, 0.1, np.random.default_rng(0))
    assert (released.guarantee.unit, released.guarantee.adjacency) == ("edge", "add/remove")
    assert released.guarantee.epsilon == Fraction(1, 10)
    assert released.guarantee.delta == 0
    assert released.sensitivity == 2


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: degree_sequence(PATH, 0), "epsilon is 0"),
        (lambda: degree_histogram(PATH, -1.0), "epsilon is -1.0"),
        (lambda: degree_histogram(PATH, 1, 0), "degree bound is 0: expected a whole number of 1 or more"),
        (lambda: degree_sequence(Network.from_edges(1, [], []), 1), "1 nodes"),
        (lambda: degree_histogram(Network.from_edges(0, [], []), 1), "0 nodes"),
    ],
)
def test_bad_input_is_one_line(call, said):
    with pytest.raises(InputError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8), st.integers(0, 60))
def test_nearest_numbers_with_a_sum(values, total):
    """All positive ones are lowered alike, and none that is 0 would be above it: the conditions of the optimum."""
    values = np.array(values, dtype=float)
    found = nearest_with_sum(values, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total)
    positive = found > 0
    if positive.any():
        lowered = (values - found)[positive]
        assert np.ptp(lowered) < 1e-9
        assert (values[~positive] <= lowered[0] + 1e-9).all()


def test_nearest_numbers_of_huge_noise():
    """A sum that is lost in the rounding of numbers is no error."""
    assert nearest_with_sum(np.array([-(10**12), 10**12 + 2]), 2.0).sum() == pytest.approx(2, abs=1e-3)
    assert (nearest_with_sum(np.array([10.0**18, -(10.0**18)]), 1.0) >= 0).all()

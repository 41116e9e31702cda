"""Graphs with given numbers of edges between degrees, and such numbers from noisy ones."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.private_graphs.joint_degree_graph import deviation, with_joint_degrees
from gaudit.defenses.private_graphs.joint_degree_target import balanced, fitting, rounded
from gaudit.mechanisms.joint_degrees import joint_degree_counts
from support.small_networks import karate, networks


def ends_of(table):
    return (table + table.T).sum(axis=1)


def class_ends(degrees, top):
    return np.bincount(np.minimum(degrees, top), degrees, top + 1)[1:].astype(np.int64)


@given(networks(2, 10), st.integers(0, 1000))
def test_degrees_and_numbers_are_those_asked_for_where_some_graph_has_them(network, seed):
    """Also complete graphs and stars, of which there is only one."""
    target = joint_degree_counts(network, network.nodes)
    made = with_joint_degrees(network.degrees, target, np.random.default_rng(seed))
    assert np.array_equal(made.degrees, network.degrees)
    assert np.array_equal(joint_degree_counts(made, network.nodes), target)
    assert nx.is_valid_joint_degree(nx.degree_mixing_dict(nx.Graph(made.edges.T.tolist())))


@given(networks(2, 10), st.integers(1, 4), st.integers(0, 1000))
def test_degrees_stay_whatever_the_bound(network, bound, seed):
    """Classes of several degrees have no construction that always works; what is missed is counted."""
    target = joint_degree_counts(network, bound)
    made = with_joint_degrees(network.degrees, target, np.random.default_rng(seed))
    assert np.array_equal(made.degrees, network.degrees)
    found = joint_degree_counts(made, bound)
    assert deviation(found, target) == max(0, int((target - found).clip(0).sum()))


def test_karate_keeps_its_numbers_and_few_of_its_edges():
    before = karate()
    for bound in (5, 10, 33):
        target = joint_degree_counts(before, bound)
        made = [with_joint_degrees(before.degrees, target, np.random.default_rng(seed)) for seed in range(5)]
        missed = [deviation(joint_degree_counts(one, bound), target) for one in made]
        assert max(missed) <= (0 if bound == 33 else 4), bound
        assert np.mean([np.isin(before.codes, one.codes).mean() for one in made]) < 0.7
        assert len({tuple(one.codes) for one in made}) == 5


def test_matchings_are_equally_likely():
    """Four nodes with a link each, three ways: chi-square of 900 draws."""
    rng = np.random.default_rng(0)
    seen = [tuple(with_joint_degrees(np.ones(4, dtype=int), np.array([[2]]), rng).codes) for _ in range(900)]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 3
    assert chisquare(counts).pvalue > 1e-4


def test_what_no_graph_has_is_missed_by_as_few_as_counted():
    """Two hubs shall be linked three times, and four leaves among themselves."""
    degrees, target = np.array([3, 3, 1, 1, 1, 1]), np.diag([2, 0, 3])
    made = with_joint_degrees(degrees, target, np.random.default_rng(0))
    assert made.degrees.tolist() == degrees.tolist()
    assert joint_degree_counts(made, 3).tolist() == [[0, 0, 4], [0, 0, 0], [0, 0, 1]]
    assert deviation(joint_degree_counts(made, 3), target) == 4


def test_deviation_counts_misplaced_missing_and_additional_edges():
    table = np.array([[3, 0], [0, 2]])
    assert deviation(table, table) == 0
    assert deviation(np.array([[2, 1], [0, 2]]), table) == 1
    assert deviation(np.array([[0, 0], [0, 2]]), table) == 3


@given(networks(2, 12), st.integers(1, 12), st.integers(0, 100), st.sampled_from([0.0, 0.5, 5.0, 1000.0]))
def test_fitted_numbers_have_the_ends_of_the_degrees(network, bound, seed, scale):
    rng = np.random.default_rng(seed)
    counts = joint_degree_counts(network, bound)
    noisy = np.triu(counts + np.rint(rng.laplace(scale=scale + 1e-9, size=counts.shape)).astype(np.int64))
    found = fitting(noisy, class_ends(network.degrees, len(counts)), scale, rng)
    assert (found >= 0).all()
    assert (np.tril(found, -1) == 0).all()
    assert np.array_equal(ends_of(found), class_ends(network.degrees, len(counts)))
    if scale == 0:
        assert np.array_equal(found, counts)


def test_numbers_that_noise_explains_become_random_mixing():
    ends, rng = np.array([400, 600]), np.random.default_rng(0)
    found = fitting(np.array([[200, 0], [0, 300]]), ends, 10_000.0, rng)  # all edges within classes
    assert np.abs(found - np.array([[80, 240], [0, 180]])).max() <= 1
    kept = fitting(np.array([[200, 0], [0, 300]]), ends, 10.0, rng)
    assert kept.tolist() == [[200, 0], [0, 300]]


@given(st.integers(1, 6), st.integers(0, 200))
def test_balanced_rows_have_their_sums_or_less(size, seed):
    rng = np.random.default_rng(seed)
    table = rng.random((size, size)) + 0.1
    sums = rng.integers(0, 30, size)
    found = balanced(table + table.T, sums)
    assert np.allclose(found, found.T)
    assert (found.sum(axis=1) <= sums + 1e-9).all()
    if size > 1 and (sums > 0).all():
        assert found.sum(axis=1) == pytest.approx(sums, rel=1e-3)


def test_rounding_treats_equal_cells_alike():
    """Each number between classes is 2.5 and every class has half an end more: means of 2,000 tables."""
    rng = np.random.default_rng(0)
    table, sums = np.full((4, 4), 2.5) + np.diag([2.5] * 4), np.full(4, 13)
    found = [rounded(table, sums, rng) for _ in range(2000)]
    assert all(np.array_equal(ends_of(one), sums) for one in found)
    between = np.mean(found, axis=0)[np.triu_indices(4, 1)]
    assert np.ptp(between) < 0.1  # each has a standard error of about 0.015
    assert 2.4 < between.mean() < 2.7

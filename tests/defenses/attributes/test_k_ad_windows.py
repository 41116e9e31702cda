"""Signatures over every window of snapshots, counted by sets of triples."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.attributes.k_attributed_degree import KAttributedDegree
from gaudit.defenses.attributes.k_attributed_degree_by_snapshot import KAttributedDegreeBySnapshot
from gaudit.defenses.attributes.k_attributed_degree_windows import KAttributedDegreeWindows
from gaudit.defenses.attributes.sequence import by_attributes, enough, parted
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import network_of_data
from gaudit.graphs.snapshots import windowed
from gaudit.graphs.tables.node_table import NodeTable
from support.directed_networks import real
from support.snapshots_of_people import AGE, JOB, arcs, attributes, nothing_lost, people, rarest, told, workers

SEED = np.random.SeedSequence(0)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 6),
    window=st.integers(1, 5),
    relations=st.integers(1, 2),
    directed=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_signatures_over_every_window_occur_k_times_and_no_arc_is_lost(seed, k, window, relations, directed):
    before = people(30, seed, kinds=4, directed=directed)
    made = KAttributedDegreeWindows(k=k, window=window, relations=relations)
    after = made.on_graph(before, SEED)
    assert rarest(after, window, relations) >= k
    assert nothing_lost(before, after)
    assert (after.directions is None) == (not directed)
    assert made.verify(before, after).holds
    assert made.verify(before, before).holds == (rarest(before, window, relations) >= k)


def test_windows_of_two_do_not_cover_three():
    """Why w is told: of ten networks some have people with fewer like them in three, which w = 3 covers."""
    found = [KAttributedDegreeWindows(k=4).on_graph(workers(90, seed), SEED) for seed in range(10)]
    assert all(rarest(after, 2) >= 4 for after in found)
    assert any(rarest(after, 3) < 4 for after in found)
    wider = KAttributedDegreeWindows(k=4, window=3)
    assert all(rarest(wider.on_graph(workers(90, seed), SEED), 3) >= 4 for seed in range(10))


def test_a_check_sees_a_lost_arc_and_a_value_that_is_missing():
    before, made = people(40, 5), KAttributedDegreeWindows(k=4)
    after = made.on_graph(before, SEED)
    lost = replace(after.only(np.arange(after.size) > 0), people=after.people)
    false = replace(after, people=replace(after.people, runs=(after.people.runs + 1) % 8))
    back = replace(after, directions=3 - after.directions % 3)
    assert not any(made.verify(before, wrong).holds for wrong in (lost, false, back))


def test_people_who_are_alike_already_stay_as_they_are():
    """Two snapshots of rings, all of them of one attribute: nothing is added, nothing told more coarsely."""
    ring = [np.arange(12), (np.arange(12) + 1) % 12]
    ends = np.hstack([ring, ring])
    table = NodeTable.of_values((JOB,), np.repeat([[0], [1]], 6, axis=0))
    before = replace(Network.from_edges(12, *ends, types=np.repeat([0, 1], 12)), people=table)
    after = KAttributedDegreeWindows(k=6).on_graph(before, SEED)
    assert arcs(after) == arcs(before)
    assert told(after) == told(before)


def test_rare_attributes_alone_are_told_coarsely():
    """Of 12 people two are of a rare job: with k = 3 they take the smallest class that was enough with them."""
    jobs = np.array([0] * 6 + [1] * 4 + [2] * 2)
    table = NodeTable.of_values((JOB,), jobs[:, None])
    points = np.eye(3)[jobs]
    group = by_attributes(table, points, 3, lambda rows: len(rows) >= 3)
    assert len(set(group[:6])) == 1
    assert len({*group[:6]} & {*group[6:]}) == 0
    assert min(np.bincount(np.unique(group, return_inverse=True)[1])) >= 3


def test_what_is_not_enough_joins_the_nearest_and_parts_stay_within_their_class():
    points = np.array([[0.0], [0.1], [5.0], [5.1], [5.2], [9.0]])
    group = enough(points, np.array([0, 0, 1, 1, 1, 2]), lambda rows: len(rows) >= 2)
    assert group[5] == group[2] == group[4] != group[0] == group[1]
    whole = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    parts = parted(np.arange(8.0)[:, None], whole, 2, lambda rows: len(rows) >= 2)
    assert np.bincount(parts).tolist() == [2, 2, 2, 2]
    assert not set(parts[whole == 0]) & set(parts[whole == 1])


def test_networks_without_types_attributes_or_edges_are_published_too():
    plain = Network.from_edges(12, [0, 1, 2, 3], [4, 5, 6, 6])
    assert rarest(KAttributedDegreeWindows(k=3).on_graph(plain, SEED), 2) >= 3
    none = np.empty(0, dtype=np.int64)
    empty = replace(Network.from_edges(6, none, none, types=none), people=attributes(6, np.random.default_rng(0)))
    made = KAttributedDegreeWindows(k=3)
    after = made.on_graph(empty, SEED)
    assert made.verify(empty, after).holds
    assert min(told(after).count(cell) for cell in told(after)) >= 3


def test_too_few_people_are_refused_in_one_line():
    with pytest.raises(InputError, match="only 10 nodes: choose k of at most 10"):
        KAttributedDegreeWindows(k=11).on_graph(people(10, 0), SEED)


def test_windows_cost_less_than_all_snapshots_on_collegemsg(gaudit_data):
    """CollegeMsg in six windows, attributes made up: every two months are covered, by fewer edges than all six."""
    network = windowed(network_of_data(load_dataset("CollegeMsg", gaudit_data)), 6)
    before = replace(network, people=attributes(network.nodes, np.random.default_rng(0)))
    made = KAttributedDegreeWindows(k=5)
    after = made.on_graph(before, SEED)
    assert rarest(after, 2) >= 5
    assert nothing_lost(before, after)
    assert made.verify(before, after).holds
    assert after.size < KAttributedDegree(k=5).on_graph(before, SEED).size
    assert rarest(KAttributedDegreeBySnapshot(k=5).on_graph(before, SEED), 2) == 1


def test_directed_blogs_in_three_snapshots_drawn_openly(gaudit_data):
    network = real(gaudit_data, "PolBlogs")
    rng = np.random.default_rng(1)
    drawn = replace(network, types=rng.integers(3, size=network.size), weights=None)
    before = replace(drawn, people=NodeTable.of_values((AGE,), rng.integers(8, size=(network.nodes, 1))))
    after = KAttributedDegreeWindows(k=10).on_graph(before, SEED)
    assert rarest(after, 2) >= 10
    assert nothing_lost(before, after)

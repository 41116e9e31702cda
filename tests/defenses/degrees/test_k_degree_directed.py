"""Pairs of in- and out-degree: read off the output by plain sets, and compared with random edits at equal cost."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.degrees.degree_pairs import balanced, k_anonymous_pairs
from gaudit.defenses.degrees.degree_sequences import k_anonymous
from gaudit.defenses.degrees.k_degree_directed import KDegreeDirected, verify_k_pairs
from gaudit.errors import InputError
from gaudit.graphs.arcs import degree_pairs
from gaudit.graphs.network import Network
from support.directed_networks import (
    REAL,
    arcs_in,
    directed_networks,
    network_of_arcs,
    pairs_by_sets,
    rarest_pair,
    real,
)


def defended(network, seed=0, **how):
    return KDegreeDirected(**how).on_graph(network, np.random.SeedSequence(seed))


def rarest(pairs) -> int:
    return min(Counter(map(tuple, pairs.tolist())).values())


@given(network=directed_networks(), data=st.data())
def test_guarantee_every_pair_occurs_k_times_and_every_arc_stays(network, data):
    k = data.draw(st.integers(1, network.nodes))
    after = defended(network, k=k)
    assert after.nodes == network.nodes
    assert arcs_in(network) <= arcs_in(after)
    assert rarest_pair(after) >= k
    assert KDegreeDirected(k=k).verify(network, after).holds
    if k == 1:
        assert arcs_in(network) == arcs_in(after)


@given(network=directed_networks(), data=st.data())
def test_guarantee_is_seen_to_fail(network, data):
    k = data.draw(st.integers(1, network.nodes))
    assert verify_k_pairs(network, k).holds == (rarest_pair(network) >= k)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=7, max_size=30), st.data())
def test_pairs_only_grow_occur_k_times_and_then_have_equal_sums(pairs, data):
    pairs, k = np.array(pairs), data.draw(st.integers(1, len(pairs)))
    grouped = k_anonymous_pairs(pairs, k)
    even = balanced(grouped, k)
    assert (grouped >= pairs).all()
    assert (even >= grouped).all()
    assert min(rarest(grouped), rarest(even)) >= k
    assert even[:, 0].sum() == even[:, 1].sum()
    assert even.max() < len(pairs)
    least = sum(np.abs(k_anonymous(side, k) - side).sum() for side in pairs.T)
    assert (grouped - pairs).sum() >= least


def test_who_is_left_of_a_frequent_pair_is_not_left_behind_when_the_others_are_raised():
    """Six have no link out and one in; five of them make a group, which is raised to the hub's pair."""
    pairs = np.array([[6, 1]] + [[0, 1]] * 6 + [[0, 0], [1, 0]])
    assert rarest(k_anonymous_pairs(pairs, 5)) >= 5


def test_what_is_missing_on_one_side_is_given_to_as_few_as_that():
    """Twenty people without links, ten with one out: ten links in are missing, and ten of the twenty get one."""
    pairs = np.array([[1, 0]] * 10 + [[0, 0]] * 20)
    even = balanced(pairs, 5)
    assert (even - pairs).sum() == 10
    assert rarest(even) >= 5


@pytest.mark.parametrize("leaves", [5, 200])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("outward", [True, False])
def test_guarantee_of_a_star_whose_hub_has_nobody_to_be_equal_with(leaves, k, outward):
    star = network_of_arcs(leaves + 1, {(0, v) if outward else (v, 0) for v in range(1, leaves + 1)})
    after = defended(star, k=k)
    assert rarest_pair(after) >= k
    assert arcs_in(star) <= arcs_in(after)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("k", [2, 5, 10])
def test_guarantee_on_real_networks(name, k, gaudit_data):
    network = real(gaudit_data, name)
    after = defended(network, k=k)
    assert rarest_pair(network) == 1
    assert rarest_pair(after) >= k
    assert arcs_in(network) <= arcs_in(after)


def test_the_undirected_defense_leaves_pairs_that_name_people(gaudit_data):
    """What it is for: degrees that all occur ten times, with directions as they were, name people by pairs."""
    from gaudit.defenses.degrees.k_degree import KDegree

    network = real(gaudit_data, "PolBlogs")
    after = KDegree(k=10).on_graph(network, np.random.SeedSequence(0))
    alone = [pair for pair, times in Counter(pairs_by_sets(after)).items() if times == 1]
    assert len(alone) > 300
    words = KDegree(k=10).verify(network, after)
    assert words.holds
    assert "directions" in words.guarantee
    assert "directions of edges are published too" in words.knowledge


def test_random_arcs_at_the_same_price_leave_people_alone_with_their_pair(gaudit_data):
    network = real(gaudit_data, "PolBlogs")
    after = defended(network, k=5)
    rng, arcs, wanted = np.random.default_rng(0), set(arcs_in(network)), len(arcs_in(after))
    while len(arcs) < wanted:
        tail, head = rng.integers(network.nodes, size=2).tolist()
        arcs |= {(tail, head)} if tail != head else set()
    assert rarest_pair(network_of_arcs(network.nodes, arcs)) == 1
    assert rarest_pair(after) >= 5


def test_types_stay_and_new_arcs_get_one():
    rng = np.random.default_rng(0)
    ends = np.stack(np.triu_indices(30, 1))[:, rng.random(435) < 0.2]
    typed = Network.from_edges(
        30, *ends, types=rng.integers(2, size=ends.shape[1]), directions=rng.integers(1, 4, ends.shape[1])
    )
    after = defended(typed, k=5)
    assert rarest_pair(after) >= 5
    assert "types and weights of edges aside" in KDegreeDirected(k=5).verify(typed, after).guarantee
    old = np.isin(after.codes, typed.codes)
    assert np.array_equal(after.types[old], typed.types)


def test_the_same_seed_gives_the_same_network():
    network = network_of_arcs(40, {(a, (a * a + 3) % 40) for a in range(40) if a != (a * a + 3) % 40})
    assert defended(network, k=4).digest == defended(network, k=4).digest


def test_more_than_there_are_and_networks_without_directions_are_refused():
    with pytest.raises(InputError, match="k is 4 but there are only 3 nodes"):
        defended(network_of_arcs(3, {(0, 1)}), k=4)
    with pytest.raises(InputError, match="have no directions: take k-degree"):
        defended(Network.from_edges(3, [0], [1]), k=2)


def test_networks_without_edges_stay():
    empty = network_of_arcs(5, set())
    assert defended(empty, k=5).size == 0
    assert (degree_pairs(empty) == 0).all()

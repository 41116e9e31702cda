"""Random edits: as many edges as before, none of the deleted ones back, and every edit as likely as any other."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.randomisation.random_edit import RandomEdit, different, edited, non_edges, verify_edge_count
from gaudit.defenses.randomisation.random_switch import RandomSwitch
from gaudit.defenses.randomisation.switching_chain import kept_share
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap

LEVEL = 1e-3


def edges_of(network):
    return set(map(tuple, network.edges.T.tolist()))


def edit(network, share, seed=0):
    return RandomEdit(share=share).on_graph(network, np.random.SeedSequence(seed))


@given(small.networks(), st.floats(0, 1), st.integers(0, 99))
def test_guarantee_so_many_edges_go_and_as_many_others_come(network, share, seed):
    count, room = round(share * network.size), network.nodes * (network.nodes - 1) // 2 - network.size
    if count > room:
        with pytest.raises(InputError, match=f"cannot add {count} edges: only {room} pairs are not linked"):
            edit(network, share, seed)
        return
    after = edit(network, share, seed)
    assert after.size == len(edges_of(after)) == network.size
    assert after.nodes == network.nodes
    assert len(edges_of(network) - edges_of(after)) == count == len(edges_of(after) - edges_of(network))
    assert RandomEdit(share=share).verify(network, after).holds


def test_guarantee_a_missing_edge_is_found():
    before = Network.from_edges(4, [0, 1, 2], [1, 2, 3])
    found = verify_edge_count(before, Network.from_edges(4, [0, 0], [1, 2]))
    assert not found.holds
    assert found.detail == "2 edges, 3 before; 1 of these are still there"
    assert not verify_edge_count(before, Network.from_edges(5, [0, 1, 2], [1, 2, 3])).holds
    assert not verify_edge_count(before, Network.from_edges(3, [0, 1, 0], [1, 2, 2])).holds


def test_every_edit_is_as_likely_as_any_other():
    before, rng, times = Network.from_edges(5, [0, 0, 1], [1, 2, 3]), np.random.default_rng(0), {}
    for _ in range(3000):
        after = frozenset(edges_of(edited(before, 2, rng)))
        times[after] = times.get(after, 0) + 1
    assert len(times) == 3 * (7 * 6 // 2)  # which edge stays, and which of seven pairs come
    assert chisquare(list(times.values())).pvalue > LEVEL


@pytest.mark.parametrize(("count", "room"), [(3, 5), (2, 9), (1, 7)])
def test_sets_of_different_numbers_are_equally_likely(count, room):
    rng, times = np.random.default_rng(0), {}
    for _ in range(2000):
        drawn = different(count, room, rng)
        assert len(set(drawn.tolist())) == count
        times[frozenset(drawn.tolist())] = times.get(frozenset(drawn.tolist()), 0) + 1
    assert len(times) == len(list(combinations(range(room), count)))
    assert chisquare(list(times.values())).pvalue > LEVEL


def test_there_are_no_more_different_numbers_than_there_are():
    assert sorted(different(6, 6, np.random.default_rng(0)).tolist()) == list(range(6))
    with pytest.raises(ValueError, match="7 different numbers below 6"):
        different(7, 6, np.random.default_rng(0))


@given(small.networks())
def test_all_non_edges_are_found_when_all_are_asked_for(network):
    every = set(combinations(range(network.nodes), 2))
    room = len(every) - network.size
    found = non_edges(network, room, np.random.default_rng(0))
    assert {divmod(code, network.nodes) for code in found.tolist()} == every - edges_of(network)


def test_trivial_it_loses_degrees_that_random_switching_keeps():
    """At the same share of kept edges."""
    rng = np.random.default_rng(0)
    weight = rng.pareto(2, 300) + 1
    low, high = np.triu_indices(300, 1)
    drawn = np.argsort(rng.exponential(size=len(low)) / (weight[low] * weight[high]))[:1200]
    before = Network.from_edges(300, low[drawn], high[drawn])
    switched = RandomSwitch(switches=0.4).on_graph(before, np.random.SeedSequence(0))
    cost = 1 - kept_share(before, switched)
    after = edit(before, cost)
    assert kept_share(before, after) == pytest.approx(kept_share(before, switched), abs=1e-3)
    assert (switched.degrees == before.degrees).all()
    # a hub keeps the share of its edges and gains no more than anybody
    hubs = np.argsort(-before.degrees)[:10]
    assert after.degrees[hubs].sum() < (1 - 0.6 * cost) * before.degrees[hubs].sum()
    assert RandomEdit.trivial


@pytest.mark.parametrize("name", ["ca-HepTh", "email-Enron"])
def test_real_networks_are_edited_by_as_much_as_was_said(gaudit_data, name):
    before = snap(gaudit_data, name)
    after = edit(before, 0.3)
    assert after.size == before.size
    assert kept_share(before, after) == pytest.approx(0.7, abs=1e-4)


def test_share_of_zero_changes_nothing_and_the_seed_decides():
    before = Network.from_edges(50, np.arange(49), np.arange(1, 50), np.arange(49.0))
    same = edit(before, 0.0)
    assert edges_of(same) == edges_of(before)
    assert same.weights.tolist() == before.weights.tolist()
    one, again, other = (edges_of(edit(before, 0.5, seed)) for seed in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("share", [-0.1, 1.01, float("nan")])
def test_settings_are_checked(share):
    with pytest.raises(InputError, match="share"):
        RandomEdit(share=share)

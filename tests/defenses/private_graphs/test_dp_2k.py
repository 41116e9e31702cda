"""Random graphs with noisy joint degrees: what is used, what noise is spent, and what is kept without noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.private_graphs import dp_2k
from gaudit.defenses.private_graphs import dp_graph as private_graphs
from gaudit.defenses.private_graphs.dp_2k import DP2K
from gaudit.defenses.private_graphs.joint_degree_graph import deviation
from gaudit.defenses.randomisation.random_switch import RandomSwitch
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.degrees import degree_sequence
from gaudit.mechanisms.guarantee import Guarantee, Released
from gaudit.mechanisms.joint_degrees import joint_degree_counts, joint_degrees
from support.small_networks import karate, networks

EXACT = 1e5  # an epsilon whose noise is 0


def complete(nodes):
    return Network.from_edges(nodes, *np.triu_indices(nodes, 1))


def stars(count):
    """Hubs of five leaves each: at random, every fourth edge would lie between leaves."""
    hubs = np.arange(count) * 6
    return Network.from_edges(6 * count, np.repeat(hubs, 5), np.setdiff1d(np.arange(6 * count), hubs))


def drawn(network, epsilon, bound, seed=0, **settings):
    return DP2K(epsilon=epsilon, bound=bound, **settings).drawn(network, np.random.SeedSequence(seed))


def published(network, epsilon, bound, seed=0, **settings):
    return DP2K(epsilon=epsilon, bound=bound, **settings).on_graph(network, np.random.SeedSequence(seed))


def test_guarantee_nothing_but_noisy_counts_is_used(monkeypatch):
    """Other networks of as many nodes with the same noisy counts: the release is the same."""
    promise = Guarantee("edge", "add/remove", "central", 1)
    degrees = Released(np.array([1, 1, 2, 2, 3, 3]), promise, 2)
    counts = Released(np.array([[0, 1, 1], [0, -4, 3], [0, 0, 9]]), promise, 9)
    monkeypatch.setattr(dp_2k, "degree_sequence", lambda network, epsilon, rng, graphical: degrees)
    monkeypatch.setattr(dp_2k, "joint_degrees", lambda network, epsilon, bound, rng: counts)
    ring = Network.from_edges(6, range(6), np.roll(range(6), 1), weights=np.arange(6), types=np.array([0, 1] * 3))
    for other in (complete(6), Network.from_edges(6, [], []), ring):
        after, same = published(other, 1.0, 3), published(Network.from_edges(6, [0], [5]), 1.0, 3)
        assert np.array_equal(after.edges, same.edges)
        assert sorted(after.degrees) == [1, 1, 2, 2, 3, 3]
        assert (after.nodes, after.weights, after.types, after.groups) == (6, None, None, None)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 2.0])
def test_guarantee_both_queries_together_spend_epsilon(monkeypatch, epsilon):
    spent = []

    def noted(query):
        def run(*args, **named):
            released = query(*args, **named)
            spent.append(released.guarantee)
            return released

        return run

    monkeypatch.setattr(dp_2k, "degree_sequence", noted(degree_sequence))
    monkeypatch.setattr(dp_2k, "joint_degrees", noted(joint_degrees))
    published(karate(), epsilon, 7)
    one, other = spent
    promise, both = DP2K(epsilon=epsilon, bound=7).promise(), one.beside(other)
    assert both.epsilon == promise.epsilon
    assert float(promise.epsilon) == epsilon
    assert (both.unit, both.adjacency, both.model) == (promise.unit, promise.adjacency, promise.model)
    assert set(both.public) == set(promise.public)


def test_guarantee_every_graph_can_be_published_whatever_the_original():
    """On three nodes, of which there are 8 graphs."""
    for original in (Network.from_edges(3, [], []), complete(3)):
        seen = {tuple(published(original, 0.5, 2, seed).codes) for seed in range(700)}
        assert len(seen) == 8


@given(networks(2, 11), st.integers(0, 50))
def test_without_noise_joint_degrees_are_those_of_the_original(before, seed):
    found = drawn(before, EXACT, before.nodes, seed)
    assert sorted(found.network.degrees) == sorted(before.degrees)
    counts = [joint_degree_counts(n, before.nodes) for n in (before, found.network)]
    assert np.array_equal(*counts)
    assert found.deviation == 0


@given(networks(2, 11), st.integers(0, 50), st.integers(1, 12), st.sampled_from([0.01, 0.5, 5.0]))
def test_whatever_the_noise_the_result_is_a_simple_graph_and_deviations_are_counted(before, seed, bound, epsilon):
    found = drawn(before, epsilon, bound, seed)
    low, high = found.network.edges
    assert found.network.nodes == before.nodes
    assert (low < high).all()
    assert len(np.unique(found.network.codes)) == found.network.size
    assert found.deviation == deviation(joint_degree_counts(found.network, bound), found.target)


def test_a_bound_below_the_degrees_leaves_no_edge_out():
    before = karate()
    after = published(before, EXACT, 4)
    assert sorted(after.degrees) == sorted(before.degrees)
    assert after.size == before.size


def test_trivial_switches_keep_degrees_but_not_whom_they_are_linked_to():
    """At epsilon 20 joint degrees stay nearly, though fewer edges are kept than after one switch per edge."""
    before = stars(200)
    truth = joint_degree_counts(before, 6)
    ours = [published(before, 20.0, 6, seed) for seed in range(3)]
    theirs = [RandomSwitch(switches=1.0).on_graph(before, np.random.SeedSequence(seed)) for seed in range(3)]
    kept, other = ([np.isin(before.codes, one.codes).mean() for one in some] for some in (ours, theirs))
    assert max(kept) < min(other)
    missed, lost = ([deviation(joint_degree_counts(one, 6), truth) for one in some] for some in (ours, theirs))
    assert max(missed) < 0.05 * before.size
    assert min(lost) > 0.15 * before.size


def test_with_much_noise_edges_are_mixed_at_random():
    before = stars(200)
    after = published(before, 0.3, 6)
    assert deviation(joint_degree_counts(after, 6), joint_degree_counts(before, 6)) > 0.1 * before.size
    assert abs(after.size - before.size) < 0.3 * before.size


def test_nobody_keeps_the_own_degree():
    before = stars(200)
    assert abs(np.corrcoef(before.degrees, published(before, EXACT, 6).degrees)[0, 1]) < 0.2


def test_the_seed_decides_unless_noise_is_fresh():
    before = karate()
    one, again, other = (published(before, 0.5, 5, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.edges, again.edges)
    assert not np.array_equal(one.edges, other.edges)
    assert len({tuple(published(before, 0.5, 5, fresh=True).codes) for _ in range(5)}) > 1


def test_a_graph_of_nothing_but_noise_is_refused(monkeypatch):
    monkeypatch.setattr(private_graphs, "MOST_EDGES", 100)
    with pytest.raises(
        InputError,
        match=r"'dp-2k' with epsilon 0.001 would publish .* edges: expected at most 100; a larger epsilon",
    ):
        published(Network.from_edges(60, [], []), 0.001, 5)


@pytest.mark.parametrize("nodes", [0, 1])
def test_too_few_nodes_are_refused(nodes):
    with pytest.raises(InputError, match=f"{nodes} nodes"):
        published(Network.from_edges(nodes, [], []), 1.0, 5)


@pytest.mark.parametrize("settings", [{"epsilon": 0}, {"epsilon": float("nan")}, {"bound": 0}, {"bound": 2001}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        DP2K(**settings)

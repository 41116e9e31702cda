"""Random graphs with noisy degrees: nothing but the noisy degrees is used, and they are the right ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, norm

from gaudit.defenses.private_graphs import dp_1k
from gaudit.defenses.private_graphs import dp_graph as private_graphs
from gaudit.defenses.private_graphs.dp_1k import DP1K, random_graph
from gaudit.defenses.randomisation.random_switch import RandomSwitch
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.degrees import degree_sequence
from gaudit.mechanisms.guarantee import Guarantee, Released
from support.small_networks import karate, networks
from support.snap import snap

LEVEL = 1e-4  # of every statistical test here; the seeds are fixed
EXACT = 1e4  # an epsilon whose noise is 0


def complete(nodes):
    return Network.from_edges(nodes, *np.triu_indices(nodes, 1))


def published(network, epsilon, seed=0, **settings):
    return DP1K(epsilon=epsilon, **settings).on_graph(network, np.random.SeedSequence(seed))


def test_guarantee_nothing_but_the_noisy_degrees_is_used(monkeypatch):
    """Other networks of as many nodes with the same noisy degrees: the release is the same."""
    noisy = Released(np.array([0, 1, 2, 2, 3, 4]), Guarantee("edge", "add/remove", "central", 1), 2)
    monkeypatch.setattr(dp_1k, "degree_sequence", lambda network, epsilon, rng, graphical: noisy)
    ring = Network.from_edges(6, range(6), np.roll(range(6), 1), weights=np.arange(6), types=np.array([0, 1] * 3))
    for other in (complete(6), Network.from_edges(6, [], []), ring):
        after, same = published(other, 1.0), published(Network.from_edges(6, [0], [5]), 1.0)
        assert np.array_equal(after.edges, same.edges)
        assert (after.nodes, after.weights, after.types, after.groups) == (6, None, None, None)


def test_guarantee_the_noise_is_for_all_of_epsilon_and_no_more(monkeypatch):
    spent = []

    def noted(*args, **named):
        spent.append(degree_sequence(*args, **named).guarantee)
        return degree_sequence(*args, **named)

    monkeypatch.setattr(dp_1k, "degree_sequence", noted)
    published(karate(), 0.3)
    (one,), promise = spent, DP1K(epsilon=0.3).promise()
    assert (one.unit, one.adjacency, one.model) == (promise.unit, promise.adjacency, promise.model)
    assert one.epsilon == promise.epsilon == pytest.approx(0.3)
    assert (promise.delta, promise.unit, promise.model) == (0, "edge", "central")


def test_guarantee_every_graph_can_be_published_whatever_the_original():
    """On three nodes, of which there are 8 graphs."""
    for original in (Network.from_edges(3, [], []), complete(3)):
        seen = {tuple(published(original, 0.5, seed).codes) for seed in range(700)}
        assert len(seen) == 8


@given(networks(2, 12), st.integers(0, 50))
def test_without_noise_degrees_are_those_of_the_original(before, seed):
    after = published(before, EXACT, seed)
    assert after.nodes == before.nodes
    assert sorted(after.degrees) == sorted(before.degrees)


@given(networks(2, 12), st.integers(0, 50), st.sampled_from([0.01, 0.3, 2.0]))
def test_whatever_the_noise_the_result_is_a_simple_graph(before, seed, epsilon):
    after = published(before, epsilon, seed)
    low, high = after.edges
    assert after.nodes == before.nodes
    assert (low < high).all()
    assert len(np.unique(after.codes)) == after.size


def test_graphs_with_the_degrees_are_equally_likely():
    """Paths on four nodes, 12 of them: chi-square of 2,400 draws."""
    rng = np.random.default_rng(0)
    seen = [tuple(random_graph(np.array([1, 1, 2, 2]), rng).codes) for _ in range(2400)]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 12
    assert chisquare(counts).pvalue > LEVEL


def test_trivial_switches_leave_everybody_the_own_degree_and_this_does_not():
    """Both keep the degrees and hardly an edge; who knows the degree of the two hubs finds them after switches.

    In 200 releases without noise a hub has its degree again no more often than chance: it is given to each of 34
    nodes alike.
    """
    before, runs = karate(), 200
    hub = int(before.degrees.argmax())
    switched = [RandomSwitch(switches=1.0).on_graph(before, np.random.SeedSequence(s)) for s in range(5)]
    assert all(after.degrees.argmax() == hub for after in switched)
    again = sum(published(before, EXACT, seed).degrees[hub] == before.degrees[hub] for seed in range(runs))
    assert again <= runs / 34 + norm.isf(LEVEL) * np.sqrt(runs / 34) + 1
    kept = np.mean([np.isin(before.codes, after.codes).mean() for after in switched])
    ours = np.mean([np.isin(before.codes, published(before, EXACT, s).codes).mean() for s in range(20)])
    assert ours < kept + 0.05


def test_more_epsilon_brings_degrees_nearer():
    rng = np.random.default_rng(1)
    before = Network.from_edges(300, *np.nonzero(np.triu(rng.random((300, 300)) < 0.03, 1)))

    def error(epsilon):
        found = [np.sort(published(before, epsilon, seed).degrees) for seed in range(5)]
        return np.mean([np.abs(one - np.sort(before.degrees)).mean() for one in found])

    errors = [error(epsilon) for epsilon in (0.05, 0.5, 5.0)]
    assert errors[0] > 2 * errors[1] > 2 * errors[2]


def test_the_seed_decides_unless_noise_is_fresh():
    before = karate()
    one, again, other = (published(before, 0.2, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.edges, again.edges)
    assert not np.array_equal(one.edges, other.edges)
    fresh = {tuple(published(before, 0.2, 0, fresh=True).codes) for _ in range(5)}
    assert len(fresh) > 1


def test_a_graph_of_nothing_but_noise_is_refused(monkeypatch):
    monkeypatch.setattr(private_graphs, "MOST_EDGES", 100)
    with pytest.raises(
        InputError,
        match=r"'dp-1k' with epsilon 0.001 would publish .* edges: expected at most 100; a larger epsilon",
    ):
        published(Network.from_edges(60, [], []), 0.001)


@pytest.mark.parametrize("nodes", [0, 1])
def test_too_few_nodes_are_refused(nodes):
    with pytest.raises(InputError, match=f"{nodes} nodes"):
        published(Network.from_edges(nodes, [], []), 1.0)


@pytest.mark.parametrize("epsilon", [0, -1, float("inf"), float("nan")])
def test_settings_are_checked(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        DP1K(epsilon=epsilon)


def test_degrees_of_a_real_network(gaudit_data):
    before = snap(gaudit_data, "ca-HepTh")
    after = published(before, 1.0)
    assert np.abs(np.sort(after.degrees) - np.sort(before.degrees)).mean() < 0.3
    assert abs(np.corrcoef(before.degrees, after.degrees)[0, 1]) < 0.05

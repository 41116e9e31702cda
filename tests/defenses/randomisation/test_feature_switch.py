"""Feature switching: degrees and features stay, rejected steps count, and random switching loses the features."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.randomisation.feature_switch import FeatureSwitch
from gaudit.defenses.randomisation.features import features
from gaudit.defenses.randomisation.largest_component import largest_component, within
from gaudit.defenses.randomisation.random_switch import RandomSwitch
from gaudit.defenses.randomisation.switching_chain import kept_share, switch
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap
from support.three_communities import three_communities

BOOKS = three_communities(157)
ALL = ("lambda_1", "mu_2", "transitivity", "distance")


def seeded(seed):
    return np.random.SeedSequence(seed)


def measured(network):
    """All features of a connected network by other means, [4]."""
    a, graph = network.adjacency.toarray(), network.igraph()
    lengths = np.array(graph.distances(), dtype=float)[~np.eye(network.nodes, dtype=bool)]
    spectrum = np.linalg.eigvalsh(a)[-1], np.linalg.eigvalsh(np.diag(a.sum(0)) - a)[1]
    return np.array([*spectrum, np.nan_to_num(graph.transitivity_undirected()), 1 / (1 / lengths).mean()])


@settings(max_examples=50)
@given(small.networks(), st.sets(st.sampled_from(ALL), min_size=1), st.floats(0.02, 1), st.integers(0, 99))
def test_guarantee_degrees_and_features_stay(network, names, tolerance, seed):
    defense = FeatureSwitch(features=tuple(names), tolerance=tolerance)
    after, tally = small.switched_or_reject(defense, network, seed)  # degrees stay
    nodes = largest_component(network)
    was, now = within(network, nodes), within(after, nodes)
    assert nx.is_connected(nx.from_scipy_sparse_array(now.adjacency))
    if len(nodes) > 1:
        inside = np.abs(measured(now) - measured(was)) <= tolerance * measured(was) + 1e-9
        assert all(inside[ALL.index(name)] for name in names)
    assert defense.verify(network, after).holds
    assert tally.accepted <= tally.proposed <= 2 * network.size + 1


def test_guarantee_broken_ones_are_found():
    found = FeatureSwitch().verify(BOOKS, RandomSwitch().on_graph(BOOKS, seeded(0)))
    assert not found.holds
    for name in ALL:
        assert f"{name} " in found.detail
    fewer = BOOKS.with_edges(BOOKS.codes[1:], np.random.default_rng(0))
    assert not FeatureSwitch(tolerance=0.9).verify(BOOKS, fewer).holds


@pytest.mark.parametrize("seed", range(3))
def test_trivial_random_switching_loses_features_at_the_same_share_of_kept_edges(seed):
    after = FeatureSwitch(steps=10.0).on_graph(BOOKS, seeded(seed))
    share = kept_share(BOOKS, after)
    assert share < 0.35
    successes = next(
        k
        for k in range(50, 900, 5)
        if kept_share(BOOKS, switch(BOOKS, np.random.default_rng(seed), successes=k)[0]) <= share + 0.01
    )
    random = switch(BOOKS, np.random.default_rng(seed), successes=successes)[0]
    before = measured(BOOKS)
    ours, theirs = (np.abs(measured(g) / before - 1) for g in (after, random))
    assert (ours <= 0.1).all()
    assert theirs[1] > 0.5  # mu_2
    assert theirs[2] > 0.25  # transitivity


def test_rejected_steps_stay_and_count():
    loose, tight = (FeatureSwitch(steps=5.0, tolerance=t).switched(BOOKS, seeded(0))[1] for t in (1.0, 0.02))
    assert loose.proposed == tight.proposed == 5 * 441
    assert tight.accepted < loose.accepted < 5 * 441


def test_features_are_kept_at_whatever_step_the_chain_is_looked_at():
    before = measured(BOOKS)
    for steps in (0.05, 0.3, 1.0, 3.0):
        after = FeatureSwitch(steps=steps, tolerance=0.05).on_graph(BOOKS, seeded(4))
        assert (np.abs(measured(after) / before - 1) <= 0.05).all()


def test_what_is_not_asked_for_may_go():
    after = FeatureSwitch(steps=10.0, features=("transitivity",)).on_graph(BOOKS, seeded(0))
    change = np.abs(measured(after) / measured(BOOKS) - 1)
    assert change[2] <= 0.1
    assert change[1] > 0.5


def test_where_no_switch_keeps_the_features_it_says_so():
    with pytest.raises(InputError, match=r"'feature-switch' is stuck after \d+ of 44100 steps"):
        FeatureSwitch(steps=100.0, features=("distance",), tolerance=1e-9).on_graph(BOOKS, seeded(0))


def test_a_matching_is_switched():
    """Its largest component is one edge, which stays."""
    pairs = Network.from_edges(8, [0, 2, 4, 6], [1, 3, 5, 7])
    defense = FeatureSwitch()
    after = defense.on_graph(pairs, seeded(0))
    assert (after.degrees == 1).all()
    assert defense.verify(pairs, after).holds


def test_other_components_are_switched_among_themselves():
    ring = [(105 + k, 105 + (k + 1) % 40) for k in range(40)]
    both = Network.from_edges(150, *np.concatenate([BOOKS.edges, np.array(ring).T], 1))
    after = FeatureSwitch().on_graph(both, seeded(0))
    outer = within(after, np.arange(105, 150))
    assert outer.size == 40
    assert kept_share(within(both, np.arange(105, 150)), outer) < 0.3
    assert FeatureSwitch().verify(both, after).holds


def test_a_network_without_edges_stays():
    small.check_empty_stays(FeatureSwitch())


def test_real_networks_keep_their_features(gaudit_data):
    before = snap(gaudit_data, "ca-HepTh")
    after, tally = FeatureSwitch().switched(before, seeded(0))
    assert 0.05 < tally.accepted / tally.proposed < 0.3
    assert kept_share(before, after) < 0.9
    nodes = largest_component(before)
    was, now = (features(within(g, nodes).adjacency, ALL).values for g in (before, after))
    assert all(abs(now[name] / was[name] - 1) <= 0.1 for name in ALL)


def test_the_seed_decides():
    one, again, other = (FeatureSwitch().on_graph(BOOKS, seeded(s)).edges.tolist() for s in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("settings", [{"steps": -1}, {"tolerance": 0}, {"features": ()}, {"features": ("colour",)}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        FeatureSwitch(**settings)

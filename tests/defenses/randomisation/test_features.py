"""Features beside igraph's, and what verifying them finds."""

import igraph
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gaudit.defenses.randomisation import features as module
from gaudit.defenses.randomisation.features import (
    both,
    count_triangles,
    features,
    harmonic_distance,
    verify_features,
)
from gaudit.graphs.network import Network, Verified
from support import small_networks as small

ALL = ("lambda_1", "mu_2", "transitivity", "distance")


@given(small.connected_networks(most=12))
def test_features_are_those_of_igraph_and_numpy(network):
    graph, found = network.igraph(), features(network.adjacency, ALL)
    a = network.adjacency.toarray()
    assert found.values["lambda_1"] == pytest.approx(np.linalg.eigvalsh(a)[-1])
    assert found.values["mu_2"] == pytest.approx(np.linalg.eigvalsh(np.diag(a.sum(0)) - a)[1])
    assert found.values["transitivity"] == pytest.approx(np.nan_to_num(graph.transitivity_undirected()))
    assert found.triangles == count_triangles(network.adjacency) == round(np.trace(a @ a @ a) / 6)
    lengths = np.array(graph.distances(), dtype=float)
    away = lengths[~np.eye(network.nodes, dtype=bool)]
    assert found.values["distance"] == pytest.approx(len(away) / (1 / away).sum())


def test_only_what_is_asked_for_is_measured():
    adjacency = Network.from_edges(3, [0, 1], [1, 2]).adjacency
    for name in ALL:
        assert list(features(adjacency, (name,)).values) == [name]
    assert features(adjacency, ("distance",)).triangles is None


def test_distances_are_measured_from_a_sample_where_there_are_many_nodes(monkeypatch):
    graph = igraph.Graph.Tree(300, 2)
    network = Network.from_edges(300, *np.array(graph.get_edgelist()).T)
    lengths = np.array(graph.distances(), dtype=float)
    monkeypatch.setattr(module, "SOURCES", 100)
    sources = np.linspace(0, 299, 100).round().astype(int)
    away = lengths[sources][np.arange(300) != sources[:, None]]
    assert harmonic_distance(network.adjacency) == pytest.approx(len(away) / (1 / away).sum())


@given(small.connected_networks(most=12), st.sampled_from(ALL))
def test_nothing_changed_is_within_any_tolerance(network, name):
    assert verify_features(network, network, (name,), 0.0).holds


def test_what_is_out_of_tolerance_is_found():
    ring = Network.from_edges(12, np.arange(12), (np.arange(12) + 1) % 12)
    chord = Network.from_edges(12, [*range(12), 0], [*((k + 1) % 12 for k in range(12)), 6])
    assert verify_features(ring, chord, ("distance", "mu_2"), 1.0).holds
    found = verify_features(ring, chord, ("lambda_1", "distance"), 0.1)
    assert not found.holds
    assert found.guarantee == "lambda_1 and distance of the largest component stay within 10%"
    assert found.detail == "lambda_1 2 -> 2.278, distance 2.324 -> 2.093; 100.0% of its edges are still there"


def test_a_largest_component_that_fell_apart_is_found():
    before = Network.from_edges(6, [0, 1, 2, 3], [1, 2, 3, 4])
    after = Network.from_edges(6, [0, 1, 3, 4], [1, 2, 4, 5])
    found = verify_features(before, after, ("lambda_1",), 10.0)
    assert not found.holds
    assert found.detail == "its 5 nodes are no longer connected"
    assert not verify_features(before, Network.from_edges(5, [0], [1]), ("lambda_1",), 1.0).holds


def test_other_components_do_not_count():
    before = Network.from_edges(7, [0, 1, 2, 4, 5], [1, 2, 3, 5, 6])
    after = Network.from_edges(7, [0, 1, 2, 4], [1, 2, 3, 6])
    assert verify_features(before, after, ALL, 0.0).holds


def test_both_holds_where_both_hold():
    yes, no = Verified("a", True, "x"), Verified("b", False, "y")
    assert both(yes, yes) == Verified("a, and a", True, "x; x")
    assert both(yes, no) == Verified("a, and b", False, "x; y")
    assert not both(no, yes).holds


@given(small.connected_networks(most=12))
def test_a_network_without_edges_has_nothing_to_lose(network):
    assume(network.nodes > 2)
    empty = Network.from_edges(network.nodes, [], [])
    assert verify_features(empty, network, ALL, 0.0).holds

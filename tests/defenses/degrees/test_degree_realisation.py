"""Networks with given degrees: the degrees are those asked for, and exchanges bring edges back."""

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.degrees.degree_realisation import (
    EdgeChanges,
    constructed,
    joined,
    nearby,
    overlapping,
    spread,
)
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import ends
from support import small_networks as small

KARATE = Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)


def network_of(nodes, pairs):
    return Network.from_edges(nodes, *ends(pairs, nodes))


def rng(seed=0):
    return np.random.default_rng(seed)


@given(network=small.networks(), seed=st.integers(0, 3))
def test_constructed_networks_have_the_degrees(network, seed):
    pairs = constructed(network.degrees, rng(seed))
    assert (network_of(network.nodes, pairs).degrees == network.degrees).all()


def test_a_sequence_that_no_graph_has_is_not_constructed():
    with pytest.raises(ValueError, match="no simple graph"):
        constructed(np.array([3, 3, 1, 1]), rng())


@settings(max_examples=50)
@given(network=small.networks(), seed=st.integers(0, 3))
def test_exchanges_keep_degrees_and_bring_liked_edges_back(network, seed):
    new = constructed(network.degrees, rng(seed))
    found = overlapping(new, network.codes, network.nodes)
    assert (network_of(network.nodes, found).degrees == network.degrees).all()
    assert np.isin(network.codes, found).sum() >= np.isin(network.codes, new).sum()


def test_exchanges_bring_most_edges_of_karate_back():
    network = KARATE
    new = constructed(network.degrees, rng())
    found = overlapping(new, network.codes, network.nodes)
    assert np.isin(network.codes, new).mean() < 0.5
    assert np.isin(network.codes, found).mean() > 0.7


@given(network=small.networks(), other=st.randoms(use_true_random=False), seed=st.integers(0, 3))
def test_a_network_is_changed_to_any_degrees_that_a_graph_has(network, other, seed):
    pairs = [(a, b) for b in range(network.nodes) for a in range(b) if other.random() < 0.3]
    wanted = Network.from_edges(network.nodes, [a for a, _ in pairs], [b for _, b in pairs]).degrees
    found = nearby(network, wanted, rng(seed))
    assert (network_of(network.nodes, found).degrees == wanted).all()


@given(network=small.networks(), seed=st.integers(0, 3))
def test_a_network_that_has_the_degrees_is_left_as_it_is(network, seed):
    assert nearby(network, network.degrees, rng(seed)).tolist() == network.codes.tolist()


@given(network=small.networks(least=2), seed=st.integers(0, 3), data=st.data())
def test_additions_and_replacements_bring_what_is_not_left(network, seed, data):
    many = st.lists(st.integers(0, 3), min_size=network.nodes, max_size=network.nodes)
    need, edges = np.array(data.draw(many)), EdgeChanges(network)
    left = joined(edges, need, rng(seed))
    added = edges.added()
    assert len(np.intersect1d(added, network.codes)) == 0
    assert edges.codes().tolist() == sorted([*added.tolist(), *network.codes.tolist()])
    left = spread(edges, left, added, rng(seed))
    lacking = np.array([left.get(node, 0) for node in range(network.nodes)])
    after = network_of(network.nodes, edges.codes())
    assert (after.degrees == network.degrees + need - lacking).all()
    assert np.isin(network.codes, after.codes).all()

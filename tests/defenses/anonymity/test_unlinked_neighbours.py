"""Neighbourhoods without an edge that occur k times: by VF2 on small networks, by networkx on real ones."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.k_automorphism import KAutomorphism
from gaudit.defenses.anonymity.k_neighbourhood import KNeighbourhood
from gaudit.defenses.anonymity.two_sides import two_sides, without_triangles
from gaudit.defenses.anonymity.unlinked_neighbours import UnlinkedNeighbours, unlinked
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support.small_networks import karate, listed_networks, pairs_of
from support.snap import snap

HUBS = ("email-Eu-core", "CollegeMsg")


def graph_of(nodes, pairs):
    """The network of codes of pairs, as networkx has it."""
    graph = nx.empty_graph(nodes)
    graph.add_edges_from(zip((pairs // nodes).tolist(), (pairs % nodes).tolist(), strict=True))
    return graph


def rarest(graph):
    """The least number of nodes with isomorphic neighbourhoods, by VF2 on all pairs of them."""
    egos = [graph.subgraph(graph[node]) for node in graph]
    return min(sum(nx.is_isomorphic(one, other) for other in egos) for one in egos)


@given(listed_networks(9), st.integers(0, 30), st.integers(0, 2**32 - 1), st.data())
def test_guarantee_every_neighbourhood_occurs_k_times(network, most, seed, data):
    """However many links may be made; it ends where none may."""
    k = data.draw(st.integers(1, network.nodes))
    pairs = unlinked(network, k, most, np.random.default_rng(seed))
    graph = graph_of(network.nodes, pairs)
    assert len(set(pairs.tolist())) == len(pairs)
    assert sum(nx.triangles(graph).values()) == 0
    assert rarest(graph) >= k
    if most == 0:
        assert set(pairs.tolist()) <= set(network.plain().codes.tolist())


@given(listed_networks(9), st.integers(0, 2**32 - 1))
def test_most_edges_of_each_node_cross_and_none_could_be_taken_back(network, seed):
    graph, rng = nx.empty_graph(network.nodes), np.random.default_rng(seed)
    graph.add_edges_from(zip(*(side.tolist() for side in network.edges), strict=True))
    side = two_sides(network, rng)
    for node in graph:
        across = sum(side[node] != side[other] for other in graph[node])
        assert 2 * across >= graph.degree(node)
    near = without_triangles(network, rng)
    kept = nx.Graph([(node, other) for node, own in enumerate(near) for other in own])
    kept.add_nodes_from(graph)
    assert all(graph.has_edge(*edge) for edge in kept.edges)
    assert not any(nx.triangles(kept).values())
    assert all(set(kept[one]) & set(kept[other]) for one, other in graph.edges - kept.edges)


@pytest.mark.parametrize("name", HUBS)
@pytest.mark.parametrize("k", [2, 5, 10])
def test_guarantee_on_networks_with_hubs(name, k, gaudit_data):
    """It changes fewer pairs than k-automorphism adds: at k = 5 a fifth of them or less."""
    network = snap(gaudit_data, name)
    defense = KNeighbourhood(k=k, otherwise="unlink")
    after = defense.on_graph(network, np.random.SeedSequence(0))
    graph = graph_of(after.nodes, after.codes)
    assert after.nodes == network.nodes
    assert not any(nx.triangles(graph).values())
    assert min(Counter(dict(graph.degree).values()).values()) >= k
    verified = defense.verify(network, after)
    assert verified.holds
    assert "no triangle is left" in verified.note
    changed = len(pairs_of(network) ^ pairs_of(after))
    added = KAutomorphism(k=k).on_graph(network, np.random.SeedSequence(0)).size - network.size
    assert changed < added * (0.2 if k >= 5 else 0.6)


def test_trivial_edits_of_as_many_pairs_leave_rare_neighbourhoods():
    network = karate()
    defense = KNeighbourhood(k=3, growth=0.1, otherwise="unlink")
    after = defense.on_graph(network, np.random.SeedSequence(0))
    share = len(pairs_of(network) ^ pairs_of(after)) / (2 * network.size)
    assert rarest(graph_of(34, after.codes)) >= 3
    edited = RandomEdit(share=share).on_graph(network, np.random.SeedSequence(0))
    assert rarest(graph_of(34, edited.codes)) < 3


def test_the_refusal_names_what_unlinking_keeps():
    """The figures are those of the release that is made when it is asked for."""
    network, seed = karate(), np.random.SeedSequence(0)
    with pytest.raises(InputError, match="set otherwise=unlink") as told:
        KNeighbourhood(k=5, growth=0.1, otherwise="refuse").on_graph(network, seed)
    after = KNeighbourhood(k=5, growth=0.1, otherwise="unlink").on_graph(network, seed)
    kept = len(pairs_of(network) & pairs_of(after))
    assert f"keeps {100 * kept / network.size:.0f} % of the edges" in str(told.value)
    assert f"adds {100 * (after.size - kept) / network.size:.1f} %" in str(told.value)


def test_degrees_and_their_counts_are_kept_up_to_date():
    living = UnlinkedNeighbours([{1}, {0, 2}, {1}, set()], 2, np.random.default_rng(0))
    assert living.rare() == 2
    living.link(0, 3)
    living.unlink(1, 2)
    assert living.degrees.tolist() == [2, 1, 0, 1]
    assert living.times.tolist() == [1, 2, 1, 0, 0]
    assert living.pairs().tolist() == [0 * 4 + 1, 0 * 4 + 3]
    assert Network.from_edges(4, [0, 0], [1, 3]).codes.tolist() == sorted(living.pairs().tolist())

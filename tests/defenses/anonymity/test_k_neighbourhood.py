"""Neighbourhoods that occur k times: by VF2 on small networks, by canonical forms on large ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.dynamic_neighbourhoods import DynamicNeighbourhoods
from gaudit.defenses.anonymity.growing_neighbourhoods import grown
from gaudit.defenses.anonymity.k_automorphism import verify_k_automorphism
from gaudit.defenses.anonymity.k_neighbourhood import KNeighbourhood, verify_k_neighbourhood
from gaudit.defenses.anonymity.neighbourhood_alignment import aligned, components
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support.small_networks import karate, listed_networks, pairs_of
from support.snap import snap


def sparse(nodes, edges, seed):
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.integers(nodes, size=(2, 2 * edges)), axis=0)
    pairs = np.unique((low * nodes + high)[low != high])[:edges]
    return Network.from_edges(nodes, pairs // nodes, pairs % nodes)


def rarest(network):
    """The least number of nodes with isomorphic neighbourhoods, by VF2 on all pairs of them."""
    graph = network.igraph()
    egos = [graph.induced_subgraph(graph.neighbors(node)) for node in range(network.nodes)]
    return min(sum(one.isomorphic_vf2(other) for other in egos) for one in egos)


@given(listed_networks(), st.sampled_from([0.0, 0.5, 100.0]), st.data())
def test_guarantee_every_neighbourhood_occurs_k_times(network, growth, data):
    """Whether it grows or is made k-automorphic; grown networks have no node more."""
    k = data.draw(st.integers(1, network.nodes))
    defense = KNeighbourhood(k=k, growth=growth)
    after = defense.on_graph(network, np.random.SeedSequence(0))
    assert pairs_of(network) <= pairs_of(after)
    assert rarest(after) >= k
    assert defense.verify(network, after).holds
    if growth == 100:
        assert after.nodes == network.nodes
    if k == 1:
        assert pairs_of(network) == pairs_of(after)


@given(listed_networks(8), st.integers(1, 8))
def test_guarantee_is_seen_to_fail(network, k):
    assert verify_k_neighbourhood(network, k).holds == (rarest(network) >= k)


@pytest.mark.parametrize("k", [3, 10])
def test_guarantee_costs_little_on_sparse_networks(k):
    network = sparse(2000, 3000, 1)
    defense = KNeighbourhood(k=k)
    after = defense.on_graph(network, np.random.SeedSequence(0))
    assert after.nodes == network.nodes
    assert 1 < after.size / network.size < 1.1
    assert defense.verify(network, after).holds


@pytest.mark.dear
@pytest.mark.parametrize("name", ["ca-HepTh", "facebook_combined", "email-Enron"])
def test_guarantee_on_real_networks(name, gaudit_data):
    """It gives up there; orbits of k nodes have the same neighbourhoods, and are quickly seen."""
    network = snap(gaudit_data, name)
    after = KNeighbourhood(k=3, growth=0.1).on_graph(network, np.random.SeedSequence(0))
    assert np.isin(network.edges[0] * after.nodes + network.edges[1], after.codes).all()
    assert verify_k_automorphism(after, 3).holds
    if name == "ca-HepTh":
        assert verify_k_neighbourhood(after, 3).holds
        assert not verify_k_neighbourhood(network, 3).holds


def test_trivial_edits_of_as_many_pairs_leave_rare_neighbourhoods():
    network = sparse(2000, 3000, 1)
    after = KNeighbourhood(k=10).on_graph(network, np.random.SeedSequence(0))
    share = (after.size - network.size) / network.size
    edited = RandomEdit(share=share).on_graph(network, np.random.SeedSequence(0))
    assert not verify_k_neighbourhood(edited, 10).holds


@given(st.integers(0, 10**6), st.integers(0, 40))
def test_classes_are_kept_up_to_date(seed, links):
    """As if they were found anew."""
    rng, network = np.random.default_rng(seed), sparse(12, 14, seed)
    living = DynamicNeighbourhoods(network, 3, rng)
    for _ in range(links):
        one, other = rng.choice(12, 2, replace=False).tolist()
        if other not in living.near[one]:
            living.link(one, other)
        if rng.random() < 0.5:
            living.settle()
    living.settle()
    codes = living.pairs()
    anew = DynamicNeighbourhoods(Network.from_edges(12, codes // 12, codes % 12), 3, rng)
    assert living.open == anew.open
    assert [living.class_of(node) for node in range(12)] == [anew.class_of(node) for node in range(12)]


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(2, 4))
def test_slots_are_a_renaming_of_each_graph(seed, size, many):
    graphs = [neighbours(size, seed + number) for number in range(many)]
    for graph, slot in zip(graphs, aligned(graphs), strict=True):
        assert sorted(slot) == sorted(graph)
        assert sorted(slot.values()) == list(range(size))


def neighbours(size, seed):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((size, size)) < 0.3, 1)
    both = upper | upper.T
    return {node: set(np.flatnonzero(both[node]).tolist()) for node in range(size)}


def test_equal_components_lie_on_each_other():
    """Two triangles, a path and a single node, under other names and in another order."""
    graph = {0: {1, 2}, 1: {0, 2}, 2: {0, 1}, 3: {4, 5}, 4: {3, 5}, 5: {3, 4}, 6: {7}, 7: {6, 8}, 8: {7}, 9: set()}
    names = np.random.default_rng(0).permutation(10).tolist()
    other = {names[node]: {names[near] for near in linked} for node, linked in graph.items()}
    one, two = aligned([graph, other])
    edges = [
        {frozenset((slot[a], slot[b])) for a, near in own.items() for b in near}
        for own, slot in ((graph, one), (other, two))
    ]
    assert edges[0] == edges[1]
    assert [len(part) for part in components(graph)] == [3, 3, 3, 1]


def test_it_gives_up_at_the_bound():
    assert grown(karate(), 5, 10, np.random.default_rng(0)) is None


def test_it_refuses_and_names_the_price():
    """The price is that of k-automorphism itself, whose edges are counted here again."""
    network, seed = karate(), np.random.SeedSequence(0)
    with pytest.raises(InputError, match="set otherwise=k-automorphism") as told:
        KNeighbourhood(k=5, growth=0.1, otherwise="refuse").on_graph(network, seed)
    taken = KNeighbourhood(k=5, growth=0.1).on_graph(network, seed)
    assert f"with {len(pairs_of(taken)) / len(pairs_of(network)):.2f} times as many edges" in str(told.value)


def test_a_k_above_n_is_refused():
    with pytest.raises(InputError, match="k = 35"):
        KNeighbourhood(k=35).on_graph(karate(), np.random.SeedSequence(0))

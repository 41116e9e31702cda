"""Every node exactly like k - 1 others: seen on the output, and by turning the table by hand."""

from itertools import permutations

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.identity.vertex_refinement import Refinement
from gaudit.defenses.anonymity.alignment_table import alignment_table, closure
from gaudit.defenses.anonymity.k_automorphism import KAutomorphism, verify_k_automorphism
from gaudit.defenses.anonymity.orbits import orbits
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from support.small_networks import karate, listed_networks, pairs_of
from support.snap import snap

BARS = {"ca-HepTh": (5, 4.6), "facebook_combined": (10, 9.0)}


def by_trying(network):
    """Orbits from all permutations that keep the edges."""
    edges, reached = pairs_of(network), [{node} for node in range(network.nodes)]
    for new in permutations(range(network.nodes)):
        if {(min(new[a], new[b]), max(new[a], new[b])) for a, b in edges} == edges:
            for node in range(network.nodes):
                reached[node].add(new[node])
    return reached


@given(network=listed_networks(most=14), data=st.data())
def test_guarantee_all_turns_of_the_table_keep_the_network(network, data):
    """The definition of Zou et al.: k - 1 automorphisms, under which no node has the same image twice."""
    k = data.draw(st.integers(1, network.nodes))
    table = alignment_table(network, k, np.random.default_rng(0))
    assert sorted(table.ravel().tolist()) == list(range(-(-network.nodes // k) * k))
    found = {(code // table.size, code % table.size) for code in closure(network, table).tolist()}
    assert pairs_of(network) <= found
    for step in range(1, k):
        image = dict(zip(table.ravel().tolist(), np.roll(table, -step, axis=1).ravel().tolist(), strict=True))
        assert {tuple(sorted((image[a], image[b]))) for a, b in found} == found


@given(network=listed_networks(most=14), data=st.data())
def test_guarantee_is_verified_on_the_output(network, data):
    k = data.draw(st.integers(1, network.nodes))
    defense = KAutomorphism(k=k)
    after = defense.on_graph(network, np.random.SeedSequence(0))
    assert network.nodes <= after.nodes < network.nodes + k
    assert pairs_of(network) <= pairs_of(after)
    assert defense.verify(network, after).holds
    if k == 1:
        assert pairs_of(network) == pairs_of(after)


@given(listed_networks(most=6))
def test_orbits_are_those_of_all_permutations(network):
    found, expected = orbits(network), by_trying(network)
    for node in range(network.nodes):
        assert set(np.flatnonzero(found == found[node]).tolist()) == expected[node]


def test_orbits_do_not_depend_on_the_order_of_nodes():
    """The same tree twice under other names: a path whose one end has two leaves and whose other has three."""
    tree = np.array([[0, 1], [1, 2], [0, 3], [0, 4], [2, 5], [2, 6], [2, 7]])
    for seed in range(20):
        new = np.random.default_rng(seed).permutation(8)
        both = np.concatenate([tree, new[tree] + 8])
        found = orbits(Network.from_edges(16, both[:, 0], both[:, 1]))
        assert (found[:8] == found[new + 8]).all()


@given(st.integers(3, 40), st.integers(0, 10**6))
def test_orbits_of_sparse_networks_are_those_of_all_generators(nodes, seed):
    """Trees and small components, where nearly everything is leaves of leaves; BLISS on the whole network."""
    rng = np.random.default_rng(seed)
    one, other = np.arange(1, nodes), [int(rng.integers(node)) for node in range(1, nodes)]
    kept = rng.random(nodes - 1) < 0.8
    network = Network.from_edges(nodes, one[kept], np.array(other)[kept])
    reached = igraph.Graph(n=nodes)
    for new in network.igraph().automorphism_group():
        reached.add_edges(enumerate(new))
    expected = reached.connected_components().membership
    assert same_parts(orbits(network).tolist(), expected)


def same_parts(one, other):
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def test_guarantee_is_seen_to_fail():
    """Karate has 27 orbits; a ring with a chord has nodes that only one other is like."""
    assert len(set(orbits(karate()).tolist())) == 27
    assert verify_k_automorphism(karate(), 1).holds
    assert not verify_k_automorphism(karate(), 2).holds
    ring = Network.from_edges(8, np.arange(8), np.roll(np.arange(8), 1))
    assert verify_k_automorphism(ring, 8).holds
    chord = Network.from_edges(8, [*range(8), 0], [*np.roll(np.arange(8), 1), 4])
    assert verify_k_automorphism(chord, 2).holds
    assert not verify_k_automorphism(chord, 3).holds


def test_guarantee_tells_what_holds_without_added_nodes():
    """Six nodes are added to four rows."""
    defense = KAutomorphism(k=10)
    after = defense.on_graph(karate(), np.random.SeedSequence(1))
    assert after.nodes == 40
    assert "4 orbits of 10 to 10 nodes, at least 8 of them not added" in defense.verify(karate(), after).detail
    own = orbits(after)[:34]
    assert np.bincount(own).min() == 8


@pytest.mark.parametrize("name", BARS)
def test_guarantee_on_real_networks(name, gaudit_data):
    """With fewer edges than blocks of METIS that are aligned by breadth-first search."""
    network, (k, bar) = snap(gaudit_data, name), BARS[name]
    defense = KAutomorphism(k=k)
    after = defense.on_graph(network, np.random.SeedSequence(0))
    assert defense.verify(network, after).holds
    assert np.isin(network.edges[0] * after.nodes + network.edges[1], after.codes).all()
    assert after.size / network.size < bar


def test_trivial_edits_of_as_many_pairs_leave_nodes_unique():
    """Refinement to the stable partition names nobody after k-automorphism, and nearly all after random edits."""
    network, k = karate(), 3
    alike = KAutomorphism(k=k).on_graph(network, np.random.SeedSequence(0))
    share = min(1.0, (alike.size - network.size) / network.size)
    edited = RandomEdit(share=share).on_graph(network, np.random.SeedSequence(0))
    least = [sizes(release) for release in (alike, edited)]
    assert least[0] >= k
    assert least[1] == 1


def sizes(release):
    attack, rng = Refinement(depth=10, of="published"), np.random.default_rng(0)
    facts = attack.learn(Original(release), rng)
    return attack.candidates(release, facts, np.empty((0, 2), dtype=np.int64), rng).sizes.min()


def test_a_k_above_n_is_refused():
    with pytest.raises(InputError, match="k = 35"):
        KAutomorphism(k=35).on_graph(karate(), np.random.SeedSequence(0))


def test_the_same_seed_gives_the_same_network():
    one, again = (KAutomorphism(k=4).on_graph(karate(), np.random.SeedSequence(3)) for _ in range(2))
    assert (one.codes == again.codes).all()

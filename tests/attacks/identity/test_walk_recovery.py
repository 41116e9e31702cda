"""The search for one's own nodes, against trying all maps."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from gaudit.attacks.identity import walk_recovery
from gaudit.attacks.identity.walk_recovery import Pattern, find, marked, marks
from gaudit.graphs.network import Network
from gaudit.targets.publishing.planted_accounts import plant
from support.random_networks import random_network


def random_pattern(size: int, rng: np.random.Generator, degrees: int) -> Pattern:
    """Each node linked to at least one before it."""
    inside = np.triu(rng.random((size, size)) < 0.4, 1)
    for node in range(1, size):
        inside[rng.integers(node), node] = True
    return Pattern(inside | inside.T, rng.integers(1, degrees + 1, size=size))


def by_trying(network: Network, pattern: Pattern, degree: int, edge: int) -> tuple[set[tuple[int, ...]], int]:
    """All nearest embeddings within the tolerances, and their distance."""
    linked, size = network.adjacency.toarray() > 0, len(pattern.degrees)
    found: dict[tuple[int, ...], int] = {}
    for nodes in permutations(range(network.nodes), size):
        own = linked[np.ix_(nodes, nodes)]
        wrong = int(np.triu(own != pattern.inside).sum())
        apart = np.abs(network.degrees[list(nodes)] - pattern.degrees)
        kept = connected_components(own & pattern.inside)[0] == 1
        if wrong <= edge and (apart <= degree).all() and kept:
            found[nodes] = wrong + int(apart.sum())
    nearest = min(found.values(), default=-1)
    return {nodes for nodes, distance in found.items() if distance == nearest}, nearest


@given(
    st.integers(0, 10**6),
    st.integers(0, 15),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 3),
    st.booleans(),
)
def test_it_finds_what_trying_all_maps_finds(seed, edges, size, degree, edge, singly):
    rng = np.random.default_rng(seed)
    network, pattern = random_network(6, edges, seed), random_pattern(size, rng, 5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk_recovery, "AT_ONCE", 1 if singly else 2**11)  # singly far ones may be found first
        found = find(network, pattern, degree, edge)
    expected, distance = by_trying(network, pattern, degree, edge)
    assert found.complete
    assert {tuple(row) for row in found.embeddings.tolist()} == expected
    assert len(found.embeddings) == len(expected)
    assert found.distance == distance or not expected


@given(st.integers(0, 10**6), st.integers(6, 18), st.integers(1, 5))
def test_nodes_are_found_where_they_are(seed, edges, size):
    rng = np.random.default_rng(seed)
    network = random_network(8, edges, seed)
    walk = [int(rng.integers(8))]
    near = network.igraph().neighborhood(walk[0], order=8)[1:]  # breadth first
    own = np.array((walk + near)[:size])
    new = rng.permutation(8)
    found = find(network.renamed(new), Pattern.of(network, own))
    assert tuple(new[own]) in {tuple(row) for row in found.embeddings.tolist()}
    assert found.distance == 0


def test_more_partial_embeddings_than_are_extended_at_once():
    # every ordered triangle of a clique: 40 * 39 * 38 embeddings
    clique = random_network(40, 780, 0)
    found = find(clique, Pattern.of(clique, np.arange(3)))
    assert found.complete
    assert len(np.unique(found.embeddings, axis=0)) == len(found.embeddings) == 40 * 39 * 38


def test_a_budget_that_runs_out_is_told():
    clique = random_network(40, 780, 0)
    found = find(clique, Pattern.of(clique, np.arange(4)), budget=1000)
    assert not found.complete
    assert found.visited < 10_000


def test_types_and_weights_are_not_looked_at():
    network = random_network(12, 30, 1)
    doubled = Network.from_edges(
        12, *np.tile(network.edges, 2), weights=np.arange(60.0), types=np.repeat([0, 1], network.size)
    )
    own = np.array([3, *network.igraph().neighbors(3)[:2]])
    one, other = (find(g, Pattern.of(g, own)).embeddings for g in (network, doubled))
    np.testing.assert_array_equal(one, other)


def test_a_pattern_needs_each_node_linked_to_one_before_it():
    inside = np.zeros((3, 3), dtype=bool)
    inside[0, 1] = inside[1, 0] = True
    with pytest.raises(ValueError, match="none before it"):
        Pattern(inside, np.array([1, 1, 1]))


def test_nothing_is_found_in_a_network_without_edges():
    network = random_network(10, 20, 0)
    empty = Network.from_edges(10, [], [])
    own = np.array([0, *network.igraph().neighbors(0)[:1]])
    for tolerance in (0, 50):
        assert not len(find(empty, Pattern.of(network, own), tolerance, 0).embeddings)


@given(st.integers(0, 10**6), st.integers(0, 30))
def test_marks_are_the_linked_nodes_as_bits(seed, edges):
    network = random_network(10, edges, seed)
    nodes = np.random.default_rng(seed).permutation(10)[:4]
    linked = network.adjacency.toarray() > 0
    expected = [0 if x in nodes else sum(1 << b for b in range(4) if linked[x, nodes[b]]) for x in range(10)]
    assert marks(network, nodes).tolist() == expected


@given(st.integers(0, 10**6), st.integers(0, 40))
def test_marked_nodes_are_those_with_the_set_or_else_those_with_the_nearest(seed, edges):
    network = random_network(12, edges, seed)
    nodes = np.random.default_rng(seed).permutation(12)[:4]
    own, wanted = marks(network, nodes), np.arange(1, 16)
    exact, near = (marked(network, nodes, wanted, tolerant) for tolerant in (False, True))
    for place, mark in enumerate(wanted):
        apart = np.array([(int(mark) ^ int(m)).bit_count() if m else 99 for m in own])
        assert exact[place].tolist() == np.flatnonzero(apart == 0).tolist()
        nearest = min(apart.min(), int(mark).bit_count() - 1)  # no farther than a node without any link
        assert near[place].tolist() == np.flatnonzero(apart == nearest).tolist()


def accounts_in(base: Network, seed: int, accounts: int = 10) -> tuple[Network, np.ndarray]:
    return plant(base, accounts, 12, np.random.default_rng(seed)), base.nodes + np.arange(accounts)


BASE = random_network(1500, 6000, 3)


def test_ten_accounts_are_found_and_no_others():
    for seed in range(20):
        network, own = accounts_in(BASE, seed)
        new = np.random.default_rng(seed).permutation(network.nodes)
        found = find(network.renamed(new), Pattern.of(network, own))
        assert found.embeddings.tolist() == [new[own].tolist()]


def test_one_lost_link_between_accounts_breaks_the_exact_search_but_not_the_tolerant_one():
    network, own = accounts_in(BASE, 0)
    pattern = Pattern.of(network, own)
    among = np.flatnonzero(network.edges[0] >= BASE.nodes)
    assert len(among) >= 9
    for lost in among:
        published = Network(network.nodes, np.delete(network.edges, lost, axis=1))
        assert not len(find(published, pattern).embeddings)
        found = find(published, pattern, degree_tolerance=1, edge_tolerance=1)
        assert found.embeddings.tolist() == [own.tolist()]
        assert found.distance == 3  # a link and two degrees


def test_found_again_in_a_large_network_with_hubs():
    ends = (20_000 * np.random.default_rng(0).random((2, 300_000)) ** 2).astype(np.int64)  # low ids are hubs
    pairs = np.sort(np.sort(ends[:, ends[0] != ends[1]], axis=0).T @ [20_000, 1])
    pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    network, own = accounts_in(Network.from_edges(20_000, pairs // 20_000, pairs % 20_000), 0)
    assert network.degrees.max() > 1_000
    found = find(network, Pattern.of(network, own), 2, 2)
    assert found.embeddings.tolist() == [own.tolist()]
    assert found.visited < 10_000

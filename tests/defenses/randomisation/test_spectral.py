"""Both eigenvalues beside dense solvers and closed forms, and first-order effects beside true ones."""

import igraph
import numpy as np
import pytest
from scipy.sparse import csr_array

from gaudit.defenses.randomisation.largest_component import largest_component, within
from gaudit.defenses.randomisation.spectral import DENSE, edit_effects, leading_pair, low_pairs, switch_effects
from gaudit.graphs.network import Network
from support.snap import snap
from support.three_communities import three_communities

BOOKS = 157
"""The seed of three communities that comes nearest to the network of political books."""


def network_of(graph):
    return Network.from_edges(graph.vcount(), *np.array(graph.get_edgelist()).T)


def dense(adjacency):
    a = adjacency.toarray() if isinstance(adjacency, csr_array) else adjacency
    return np.linalg.eigvalsh(a)[-1], np.linalg.eigvalsh(np.diag(a.sum(0)) - a)[1]


def test_karate_has_the_eigenvalues_of_the_literature():
    adjacency = network_of(igraph.Graph.Famous("Zachary")).adjacency
    assert leading_pair(adjacency)[0] == pytest.approx(6.7257, abs=5e-5)
    assert low_pairs(adjacency)[0][0] == pytest.approx(0.4685, abs=5e-5)


def test_three_communities_are_like_the_political_books():
    books = three_communities(BOOKS)
    assert (books.nodes, books.size, len(largest_component(books))) == (105, 441, 105)
    assert leading_pair(books.adjacency)[0] == pytest.approx(11.9326, rel=0.01)
    assert low_pairs(books.adjacency)[0][0] == pytest.approx(0.3236, rel=0.02)


@pytest.mark.parametrize(
    "graph",
    [
        igraph.Graph.Ring(DENSE + 101),  # mu_2 twice
        igraph.Graph.Ring(
            2 * DENSE, circular=False
        ),  # a chain, on which walks mix slowly: the matrix is factorised
        igraph.Graph.Lattice([20, 17], circular=False),
        igraph.Graph.Star(DENSE + 50),
        igraph.Graph.Full(DENSE + 20),
        igraph.Graph.Tree(DENSE + 60, 3),
    ],
    ids=["ring", "chain", "grid", "star", "full", "tree"],
)
def test_above_the_dense_size_they_are_those_of_dense_matrices(graph):
    adjacency = network_of(graph).adjacency
    one, two = dense(adjacency)
    value, vector = leading_pair(adjacency)
    values, vectors = low_pairs(adjacency)
    assert value == pytest.approx(one, rel=1e-6)
    assert values[0] == pytest.approx(two, rel=1e-6)
    assert (np.diff(values) >= 0).all()
    laplacian = np.diag(adjacency.sum(0)) - adjacency.toarray()
    np.testing.assert_allclose(adjacency @ vector, value * vector, atol=2e-3 * value)
    np.testing.assert_allclose(laplacian @ vectors[:, 0], values[0] * vectors[:, 0], atol=2e-3 * values[0])
    assert (vector >= 0).all()
    assert np.linalg.norm(vector) == pytest.approx(1)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-6)
    np.testing.assert_allclose(vectors.sum(0), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (igraph.Graph.Ring(3000, circular=False), 2 - 2 * np.cos(np.pi / 3000)),
        (igraph.Graph.Ring(3000), 2 - 2 * np.cos(2 * np.pi / 3000)),
        (igraph.Graph.Lattice([150, 40], circular=False), 2 - 2 * np.cos(np.pi / 150)),
    ],
    ids=["chain", "ring", "strip"],
)
def test_where_walks_mix_slowly_the_closed_form_is_found_too(graph, expected):
    """In few steps it is not: then the matrix is factorised."""
    assert low_pairs(network_of(graph).adjacency)[0][0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("nodes", [2, 3, 7])
def test_the_smallest_graphs_have_eigenvalues_too(nodes):
    adjacency = network_of(igraph.Graph.Full(nodes)).adjacency
    assert leading_pair(adjacency)[0] == pytest.approx(nodes - 1)
    assert low_pairs(adjacency)[0] == pytest.approx([nodes] * min(nodes - 1, 5))


def test_a_start_nearby_changes_nothing_but_the_time():
    rng = np.random.default_rng(0)
    before = three_communities(3, nodes=400, edges=2400)
    after = before.with_edges(before.codes[rng.permutation(before.size)[5:]], rng)
    after = within(after, largest_component(after))
    assert after.nodes == before.nodes > DENSE
    start = leading_pair(before.adjacency)[1], low_pairs(before.adjacency)[1]
    one, two = dense(after.adjacency)
    assert leading_pair(after.adjacency, start[0])[0] == pytest.approx(one, rel=1e-6)
    assert low_pairs(after.adjacency, start[1])[0][0] == pytest.approx(two, rel=1e-6)
    same = low_pairs(after.adjacency, rng.normal(size=(after.nodes, 5)))[0]
    assert same[0] == pytest.approx(two, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("ca-HepTh", 31.034845, [0.0244191, 0.0247565, 0.0270285]),
        ("facebook_combined", 162.373942, [0.0181476, 0.0289880, 0.0471878]),
    ],
)
def test_on_real_networks_steps_find_what_factors_find(gaudit_data, name, one, two):
    """Expected is what eigsh finds about 0 with a factorised Laplacian, which takes seconds."""
    network = snap(gaudit_data, name)
    core = within(network, largest_component(network))
    assert leading_pair(core.adjacency)[0] == pytest.approx(one, rel=1e-6)
    assert low_pairs(core.adjacency)[0][:3] == pytest.approx(two, rel=1e-5)


def both_vectors(network):
    return np.stack([leading_pair(network.adjacency)[1], low_pairs(network.adjacency)[1][:, 0]], 1)


def legal_switches(network, count, rng):
    """Random (t, w), (u, v) that can become (t, v), (u, w), [4, count]."""
    there = set(map(frozenset, network.edges.T.tolist()))
    found = []
    while len(found) < count:
        (t, w), (u, v) = network.edges.T[rng.choice(network.size, 2, replace=False)]
        if rng.random() < 0.5:
            u, v = v, u
        if len({t, w, u, v}) == 4 and {frozenset((t, v)), frozenset((u, w))}.isdisjoint(there):
            found.append((t, w, u, v))
    return np.array(found).T


def changed(network, gone, new):
    a = network.adjacency.toarray()
    for value, pairs in ((0, gone), (1, new)):
        for one, other in pairs:
            a[one, other] = a[other, one] = value
    return dense(a)


def test_signs_of_switches_that_must_come_true_do():
    """On 2,000 random switches; that the other signs need not come true is why chains look at eigenvalues again."""
    books = three_communities(BOOKS)
    vectors, before = both_vectors(books), dense(books.adjacency)
    t, w, u, v = chosen = legal_switches(books, 2000, np.random.default_rng(0))
    predicted = np.array(switch_effects(vectors, t, w, u, v))
    true = np.array(
        [np.subtract(changed(books, ((t, w), (u, v)), ((t, v), (u, w))), before) for t, w, u, v in chosen.T]
    ).T
    assert (true[0] >= predicted[0] - 1e-9).all()  # Rayleigh quotients: bounds on the true change
    assert (true[1] <= predicted[1] + 1e-9).all()
    up, down = predicted[0] > 1e-9, predicted[1] < -1e-9
    assert up.sum() > 200 < down.sum()
    assert (true[0][up] > 0).all()
    assert (true[1][down] < 0).all()
    assert np.corrcoef(predicted[0], true[0])[0, 1] > 0.9
    assert np.corrcoef(predicted[1], true[1])[0, 1] > 0.9
    assert 0.5 < (true[0][predicted[0] < -1e-9] < 0).mean() < 1


def test_signs_of_edits_that_must_come_true_do():
    books, rng = three_communities(BOOKS), np.random.default_rng(1)
    vectors, before = both_vectors(books), dense(books.adjacency)
    free = np.argwhere(np.triu(1 - books.adjacency.toarray(), 1))
    added = free[rng.integers(len(free), size=500)].T
    deleted = books.edges[:, rng.integers(books.size, size=500)]
    predicted = np.array(edit_effects(vectors, added, deleted))
    pairs = zip(deleted.T, added.T, strict=True)
    true = np.array([np.subtract(changed(books, (gone,), (new,)), before) for gone, new in pairs]).T
    assert (true[0] >= predicted[0] - 1e-9).all()
    assert (true[1] <= predicted[1] + 1e-9).all()
    assert np.corrcoef(predicted[0], true[0])[0, 1] > 0.9
    assert (true[1][predicted[1] < -1e-9] < 0).all()
    assert (true[1][predicted[1] > 1e-9] > 0).mean() > 0.8

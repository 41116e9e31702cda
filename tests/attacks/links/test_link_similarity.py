"""Links from a randomised network and from how alike their ends are in it."""

from itertools import product

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.links import link_similarity
from gaudit.attacks.links.link_randomisation import edited
from gaudit.attacks.links.link_similarity import (
    SIMILARITIES,
    LinkSimilarity,
    adamic_adar,
    common_neighbours,
    katz,
    similarity_posterior,
    walk_sums,
)
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes
from support.link_worlds import asked, check_chance, random_network, scored


def cliques(count, size, share, seed):
    """Groups of nodes that are linked with a probability, and few edges between them."""
    rng, n = np.random.default_rng(seed), count * size
    group = np.arange(n) // size
    linked = rng.random((n, n)) < np.where(group[:, None] == group, share, 0.002)
    return Network.from_edges(n, *np.nonzero(np.triu(linked, 1)))


def of_codes(n, coded):
    return Network.from_edges(n, coded // n, coded % n)


@given(st.integers(2, 14), st.integers(0, 100), st.sampled_from([2, 3]), st.sampled_from([1, 40, 1 << 22]))
def test_sums_over_walks_are_those_of_matrices(n, seed, steps, at_once):
    """Pairs in any order and more than once, and neighbourhoods a few at a time."""
    network, rng = random_network(n, 0.35, seed), np.random.default_rng(seed)
    weight = rng.random(n)
    dense = network.adjacency.toarray()
    between = np.diag(weight) @ dense
    matrix = dense @ between if steps == 2 else dense @ between @ between
    pairs = rng.integers(n, size=(30, 2))
    whole = link_similarity.AT_ONCE
    link_similarity.AT_ONCE = at_once
    try:
        found = walk_sums(network, pairs, steps, weight)
    finally:
        link_similarity.AT_ONCE = whole
    np.testing.assert_allclose(found, matrix[pairs[:, 0], pairs[:, 1]], atol=1e-12)


def test_no_pairs_no_sums():
    assert walk_sums(random_network(5, 0.5, 0), np.empty((0, 2), dtype=np.int64), 3, np.ones(5)).shape == (0,)


@given(st.integers(3, 15), st.integers(0, 50))
def test_similarities_are_their_definitions(n, seed):
    network = random_network(n, 0.4, seed)
    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(network.edges.T.tolist())
    pairs = np.stack(np.triu_indices(n, 1), 1)
    dense = network.adjacency.toarray()
    powers = [0.1 ** (k + 1) * np.linalg.matrix_power(dense, k + 1) for k in range(3)]
    listed = pairs.tolist()
    expected = {
        common_neighbours: [len(list(networkx.common_neighbors(graph, *pair))) for pair in listed],
        adamic_adar: [value for _, _, value in networkx.adamic_adar_index(graph, [tuple(pair) for pair in listed])],
        lambda network, pairs: katz(network, pairs, 0.1): sum(powers)[pairs[:, 0], pairs[:, 1]],
    }
    for similarity, values in expected.items():
        np.testing.assert_allclose(similarity(network, pairs), values, atol=1e-12)


@pytest.mark.parametrize(("similarity", "model"), list(product(SIMILARITIES, ["switch", "edit"])))
def test_planted_links_are_found(similarity, model):
    """What is published are the links themselves, as a second type."""
    secret = random_network(80, 0.05, 3)
    told = Network(80, secret.edges, types=np.ones(secret.size, dtype=np.int64))
    knowledge, truth = asked(80, secret)
    score = scored(LinkSimilarity(similarity=similarity, change=model, share=0.1), told, knowledge)
    assert auc(truth, score) > 0.99
    assert np.all((score >= 0) & (score <= 1))


@pytest.mark.parametrize("model", ["switch", "edit"])
def test_null_unrelated_network_is_chance(model):
    """20 worlds: the mean AUC within 3.3 of its standard deviations (once in 1000)."""
    judged = []
    for seed in range(20):
        secret, told = random_network(30, 0.1, seed), random_network(30, 0.1, 1000 + seed)
        knowledge, truth = asked(30, secret)
        judged.append((truth, scored(LinkSimilarity(change=model, simulations=1), told, knowledge)))
    check_chance(judged)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarity_tells_true_edges_from_added_ones_and_finds_deleted_ones(similarity):
    """Cliques of 12 with 3 of 10 edges exchanged: what was published alone has an AUC of about 0.85."""
    secret = cliques(15, 12, 0.8, 0)
    n = secret.nodes
    told = of_codes(n, edited(secret, 0.3, np.random.default_rng(1)))
    knowledge, truth = asked(n, secret)
    score = scored(LinkSimilarity(similarity=similarity, change="edit", share=0.3), told, knowledge)
    published = np.isin(knowledge.subjects.numpy(), told.codes)
    assert auc(truth, published.astype(float)) < 0.86
    assert auc(truth, score) > 0.95
    assert auc(truth[published], score[published]) > 0.9
    assert auc(truth[~published], score[~published]) > 0.9


def test_posterior_sums_to_what_is_known():
    """Of the published edges 7 in 10 are true, and all probabilities sum to the number of edges."""
    secret = cliques(15, 12, 0.8, 2)
    n = secret.nodes
    told = of_codes(n, edited(secret, 0.3, np.random.default_rng(3)))
    settings = LinkSimilarity(change="edit", share=0.3).settings
    pairs = np.stack(np.triu_indices(n, 1), 1)
    found = similarity_posterior(told, pairs, settings, np.random.default_rng(4))
    published = np.isin(codes(pairs[:, 0], pairs[:, 1], n), told.codes)
    assert found[published].sum() == pytest.approx(0.7 * secret.size, rel=0.01)
    assert found.sum() == pytest.approx(secret.size, rel=0.02)


def test_nothing_randomised_leaves_what_was_published():
    secret = random_network(40, 0.1, 5)
    knowledge, truth = asked(40, secret)
    assert np.array_equal(scored(LinkSimilarity(share=0.0), secret, knowledge), truth.astype(float))


def test_the_seed_decides():
    network = random_network(40, 0.1, 6)
    knowledge, _ = asked(40, network)
    one = scored(LinkSimilarity(), network, knowledge, 1)
    assert np.array_equal(one, scored(LinkSimilarity(), network, knowledge, 1))
    assert not np.array_equal(one, scored(LinkSimilarity(), network, knowledge, 2))


def test_an_unknown_share_is_refused():
    with pytest.raises(InputError, match="randomises again as the publisher did: say how often"):
        LinkSimilarity(share=None)

"""Edges that were put in, by what the rest of a network says of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.links.plausibility import Plausibility, edge_plausibility, walk_lift
from gaudit.audit.statistics.metrics import auc
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes
from support import link_worlds
from support.link_worlds import asked, check_chance, random_network
from support.snap import snap


def scored(network, knowledge):
    return link_worlds.scored(Plausibility(), network, knowledge)


def with_edges(network, pairs):
    """The network with more edges [2, a], and which of its edges are new."""
    n = network.nodes
    new = np.setdiff1d(codes(*pairs[:, pairs[0] != pairs[1]], n), network.codes)
    every = np.union1d(new, network.codes)
    return Network.from_edges(n, every // n, every % n), np.isin(every, new)


def raised_to_groups_of(network, k):
    """Edges [2, a] as k-degree anonymity adds them: k degrees in a row raised to the highest, joined greedily."""
    order = np.argsort(-network.degrees, kind="stable")
    sorted_degrees = network.degrees[order]
    block = np.minimum(np.arange(len(order)) // k, len(order) // k - 1)
    missing = np.zeros(network.nodes, dtype=int)
    missing[order] = sorted_degrees[block * k] - sorted_degrees
    linked = set(network.codes.tolist())
    added = []
    while (missing > 0).sum() > 1:
        node = int(np.argmax(missing))
        wanted, missing[node] = missing[node], 0
        for other in np.argsort(-missing, kind="stable")[: 20 * wanted].tolist():
            code = min(node, other) * network.nodes + max(node, other)
            if wanted and missing[other] > 0 and code not in linked:
                linked.add(code)
                added.append((node, other))
                missing[other] -= 1
                wanted -= 1
    return np.array(added).T


def by_hand(network, one, other):
    """The lift of a pair by listing walks: probabilities from one end over what walks reach the other by chance."""
    near = [
        network.adjacency.indices[slice(*network.adjacency.indptr[v : v + 2])].tolist()
        for v in range(network.nodes)
    ]
    chance, own = 0.0, {(one, other), (other, one)}
    walks = [(one, x, other) for x in near[one]] + [(one, x, y, other) for x in near[one] for y in near[x]]
    for walk in walks:
        steps = list(pairwise(walk))
        if walk[-1] in near[walk[-2]] and not own & set(steps):
            chance += np.prod([1 / len(near[v]) for v in walk[:-1]])
    return chance * 2 * network.size / len(near[other]) if near[other] else 0.0


@given(st.integers(2, 10), st.integers(0, 100))
def test_lift_is_that_of_listed_walks(n, seed):
    network = random_network(n, 0.45, seed)
    pairs = np.stack(np.triu_indices(n, 1), 1)
    expected = [by_hand(network, *pair) for pair in pairs.tolist()]
    np.testing.assert_allclose(walk_lift(network, pairs), expected, atol=1e-9)
    np.testing.assert_allclose(walk_lift(network, pairs[:, ::-1]), expected, atol=1e-9)


def test_an_edge_says_nothing_of_itself():
    """A bridge between two triangles has no other walk of two or three steps; an edge of a triangle has."""
    network = Network.from_edges(6, np.array([0, 0, 1, 2, 3, 3, 4]), np.array([1, 2, 2, 3, 4, 5, 5]))
    plausible = dict(zip(network.codes.tolist(), edge_plausibility(network), strict=True))
    assert plausible[2 * 6 + 3] == 0
    assert min(value for code, value in plausible.items() if code != 2 * 6 + 3) > 0


def test_an_edge_that_is_the_only_one_of_a_node_is_neither_plausible_nor_implausible():
    network = Network.from_edges(7, np.array([0, 0, 1, 2, 3, 3, 4, 5]), np.array([1, 2, 2, 3, 4, 5, 5, 6]))
    plausible = edge_plausibility(network)
    assert plausible[-1] == np.median(plausible[:-1])


def test_planted_links_are_found_exactly():
    """What is published are the links themselves, as a second type."""
    secret = random_network(80, 0.05, 3)
    told = Network(80, secret.edges, types=np.ones(secret.size, dtype=np.int64))
    knowledge, truth = asked(80, secret)
    assert auc(truth, scored(told, knowledge)) == 1


def test_null_unrelated_network_is_chance():
    """30 worlds: the mean AUC within 3.3 of its standard deviations (once in 1000)."""
    judged = []
    for seed in range(30):
        secret, told = random_network(30, 0.1, seed), random_network(30, 0.1, 1000 + seed)
        knowledge, truth = asked(30, secret)
        judged.append((truth, scored(told, knowledge)))
    check_chance(judged)


def test_null_true_and_added_edges_of_a_random_network_cannot_be_told_apart():
    """In a network without structure an added edge is as plausible as any: 20 networks, 3.3 deviations."""
    judged = []
    for seed in range(20):
        network, rng = random_network(60, 0.1, seed), np.random.default_rng(seed)
        more, new = with_edges(network, rng.integers(60, size=(2, 40)))
        judged.append((~new, edge_plausibility(more)))
    check_chance(judged)


def test_added_edges_stand_last_among_the_published_and_before_all_others():
    group = np.arange(120) // 12
    secret = Network.from_edges(120, *np.nonzero(np.triu((group[:, None] == group), 1)))
    told, new = with_edges(secret, np.random.default_rng(0).integers(120, size=(2, 60)))
    knowledge, truth = asked(120, secret)
    score = scored(told, knowledge)
    published = np.isin(knowledge.subjects.numpy(), told.codes)
    assert score[published].min() >= 1 > score[~published].max()
    assert auc(truth[published], score[published]) > 0.99
    assert new.sum() > 40


@pytest.mark.parametrize(
    ("name", "k", "least"), [("email-Enron", 50, 0.95), ("email-Enron", 0, 0.97), ("ca-HepTh", 50, 0.92)]
)
def test_added_edges_of_real_networks_are_found(gaudit_data, name, k, least):
    """Edges as k-degree anonymity adds them, or (k = 0) one random edge for 20 that are there."""
    network = snap(gaudit_data, name)
    rng = np.random.default_rng(0)
    pairs = raised_to_groups_of(network, k) if k else rng.integers(network.nodes, size=(2, network.size // 20))
    more, new = with_edges(network, pairs)
    assert new.sum() > 500
    assert auc(~new, edge_plausibility(more)) > least

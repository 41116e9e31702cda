"""Links from what randomisation may have done to a published network."""

import random
from collections import Counter
from itertools import combinations

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from gaudit.attacks.links.link_randomisation import (
    LinkRandomisation,
    edit_posterior,
    edited,
    switch_posterior,
    switched,
)
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes
from support.link_worlds import asked, check_chance, random_network, scored

DEGREES = (3, 2, 2, 2, 2, 1)
EITHER = [{}, {"change": "edit"}]
"""Settings of both changes, with the share that is taken for known."""


def realisations():
    """All graphs of six nodes with the degrees 3, 2, 2, 2, 2, 1, as sets of pairs."""
    pairs = list(combinations(range(6), 2))
    graphs = [frozenset(c) for c in combinations(pairs, 6)]
    return [g for g in graphs if tuple(sum(v in e for e in g) for v in range(6)) == DEGREES]


def one_step(graphs):
    """The chain's matrix by hand: two of the six edges and one of two ways to switch them, or stay."""
    place = {graph: i for i, graph in enumerate(graphs)}
    matrix = np.zeros((len(graphs), len(graphs)))
    for graph in graphs:
        for (a, b), (c, d) in combinations(sorted(graph), 2):
            for new in ([(a, d), (b, c)], [(a, c), (b, d)]):
                pair = {tuple(sorted(edge)) for edge in new}
                legal = len({a, b, c, d}) == 4 and not pair & graph
                after = (graph - {(a, b), (c, d)}) | pair if legal else graph
                matrix[place[graph], place[frozenset(after)]] += 1 / 30
    return matrix


def as_graph(drawn):
    return frozenset((int(c) // 6, int(c) % 6) for c in drawn)


def chi_square(seen, graphs, expected):
    return sum((seen[g] - e) ** 2 / e for g, e in zip(graphs, expected, strict=True) if e > 0)


def test_draws_without_a_known_share_are_uniform_over_all_graphs_with_the_degrees():
    """Chi-square over all 36 realisations, passed 999 times in 1000; draws lie 60 steps apart."""
    graphs = realisations()
    network = Network.from_edges(6, *np.array(sorted(graphs[0])).T)
    rng, draws = np.random.default_rng(0), 4000
    seen = Counter(as_graph(drawn) for drawn in switched(network, None, draws, 10.0, rng))
    assert set(seen) == set(graphs)
    assert chi_square(seen, graphs, np.full(len(graphs), draws / len(graphs))) < chi2.isf(0.001, len(graphs) - 1)


@pytest.mark.parametrize("steps", [1, 3])
def test_draws_with_a_known_share_follow_that_many_steps_of_the_chain(steps):
    """Chi-square against the power of the chain's matrix, passed 999 times in 1000: rejections are steps."""
    graphs = realisations()
    law = np.linalg.matrix_power(one_step(graphs), steps)
    np.testing.assert_allclose(law, law.T)  # what makes the draws a posterior
    network = Network.from_edges(6, *np.array(sorted(graphs[5])).T)
    rng, draws = np.random.default_rng(steps), 6000
    seen = Counter(as_graph(drawn) for drawn in switched(network, steps / 6, draws, 2.0, rng))
    assert all(law[5, graphs.index(g)] > 0 for g in seen)
    assert chi_square(seen, graphs, draws * law[5]) < chi2.isf(0.001, (law[5] > 0).sum() - 1)


def test_draws_without_a_known_share_go_on_and_those_with_one_start_anew():
    """Overlap with the published network after 60 draws of a twentieth of the edges each."""
    network = random_network(100, 0.05, 2)

    def kept(share):
        drawn = list(switched(network, share, 60, 0.05, np.random.default_rng(1)))
        return [np.isin(drawn[place], network.codes).mean() for place in (0, -1)]

    assert kept(None)[0] > 0.85
    assert kept(None)[1] < 0.3
    assert min(kept(0.05)) > 0.85


@given(st.integers(4, 25), st.integers(0, 30), st.sampled_from([None, 0.0, 0.5]))
def test_posterior_sums_to_the_number_of_edges_and_keeps_degrees(n, seed, share):
    network = random_network(n, 0.3, seed)
    low, high = np.triu_indices(n, 1)
    found = switch_posterior(network, codes(low, high, n), share, 5, 2.0, np.random.default_rng(seed))
    assert found.sum() == pytest.approx(network.size)
    at_node = np.bincount(low, found, minlength=n) + np.bincount(high, found, minlength=n)
    np.testing.assert_allclose(at_node, network.degrees, atol=1e-9)
    if share == 0:
        assert np.array_equal(found > 0, np.isin(codes(low, high, n), network.codes))


def test_pairs_may_be_asked_twice_and_in_any_order():
    network = random_network(20, 0.2, 1)
    every = codes(*np.triu_indices(20, 1), 20)
    order = np.random.default_rng(0).integers(len(every), size=50)
    one = switch_posterior(network, every, 0.3, 7, 2.0, np.random.default_rng(2))
    other = switch_posterior(network, every[order], 0.3, 7, 2.0, np.random.default_rng(2))
    assert np.array_equal(one[order], other)


@pytest.mark.parametrize("edges", [3, 4])
def test_closed_form_of_edits_is_the_exact_posterior(edges):
    """By Bayes' rule over all graphs of five nodes with so many edges, of which one was exchanged."""
    pairs = list(combinations(range(5), 2))
    graphs = [set(c) for c in combinations(pairs, edges)]
    network = Network.from_edges(5, *np.array(sorted(graphs[7])).T)
    before = [g for g in graphs if len(g & graphs[7]) == edges - 1]  # all equally likely
    exact = [np.mean([pair in g for g in before]) for pair in pairs]
    asked_about = np.array([a * 5 + b for a, b in pairs])
    np.testing.assert_allclose(edit_posterior(network, asked_about, 1 / edges), exact, atol=1e-12)


@given(st.integers(5, 25), st.integers(0, 30), st.floats(0, 1))
def test_edits_delete_and_add_as_many(n, seed, share):
    network = random_network(n, 0.25, seed)
    after = edited(network, share, np.random.default_rng(seed))
    changed = round(share * network.size)
    assert len(np.unique(after)) == network.size
    assert np.isin(after, network.codes).sum() == network.size - changed
    assert np.all(after // n < after % n)


def test_edits_are_uniform():
    """Chi-square over the 8 graphs that one edit of a path makes: one of 2 edges, one of 4 pairs (999 in 1000)."""
    network = Network.from_edges(4, np.array([0, 1]), np.array([1, 2]))
    rng, draws = np.random.default_rng(0), 4000
    seen = Counter(tuple(sorted(edited(network, 0.5, rng).tolist())) for _ in range(draws))
    assert len(seen) == 2 * 4
    expected = draws / len(seen)
    assert sum((n - expected) ** 2 / expected for n in seen.values()) < chi2.isf(0.001, len(seen) - 1)


@pytest.mark.parametrize("settings", EITHER)
def test_planted_links_are_found(settings):
    """What is published are the links themselves, as a second type."""
    secret = random_network(80, 0.05, 3)
    told = Network(80, secret.edges, types=np.ones(secret.size, dtype=np.int64))
    knowledge, truth = asked(80, secret)
    score = scored(LinkRandomisation(**settings), told, knowledge)
    assert auc(truth, score) > 0.999
    assert score[truth].min() > score[~truth].max() - 0.15
    assert np.all((score >= 0) & (score <= 1))


@pytest.mark.parametrize("settings", [*EITHER, {"share": None}])
def test_null_unrelated_network_is_chance(settings):
    """30 worlds: the mean AUC within 3.3 of its standard deviations (once in 1000)."""
    judged = []
    for seed in range(30):
        secret, told = random_network(30, 0.1, seed), random_network(30, 0.1, 1000 + seed)
        knowledge, truth = asked(30, secret)
        judged.append((truth, scored(LinkRandomisation(draws=10, **settings), told, knowledge)))
    check_chance(judged)


def test_null_without_a_known_share_only_degrees_remain():
    """Of a regular network every pair is alike: the AUC over all pairs is 0.5 within 3.3 deviations."""
    ring = Network.from_edges(60, np.arange(60), (np.arange(60) + 1) % 60)
    knowledge, truth = asked(60, ring)
    score = scored(LinkRandomisation(share=None, draws=40, thinning=10), ring, knowledge)
    deviation = np.sqrt((len(truth) + 1) / (12 * truth.sum() * (~truth).sum()))
    assert abs(auc(truth, score) - 0.5) < 3.3 * deviation
    assert auc(truth, scored(LinkRandomisation(), ring, knowledge)) > 0.99


def most_random(degrees):
    """The network of independent edges with these mean degrees and the most entropy: x_a x_b / (1 + x_a x_b)."""
    x = degrees / np.sqrt(degrees.sum())
    for _ in range(1000):
        odds = x[None, :] / (1 + np.outer(x, x))
        np.fill_diagonal(odds, 0)
        x = np.sqrt(x * degrees / odds.sum(axis=1))
    law = np.outer(x, x) / (1 + np.outer(x, x))
    np.fill_diagonal(law, 0)
    np.testing.assert_allclose(law.sum(axis=1), degrees, rtol=1e-6)
    return law


def test_hubs_are_linked_more_often_where_only_degrees_remain():
    """In Zachary's club as in the network of its degrees with the most entropy; 400 draws err by 0.025 a pair."""
    network = Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)
    low, high = np.triu_indices(34, 1)
    found = switch_posterior(network, codes(low, high, 34), None, 400, 3.0, np.random.default_rng(0))
    expected = most_random(network.degrees)[low, high]
    assert expected.max() > 0.8
    assert np.polyfit(expected, found, 1) == pytest.approx([1, 0], abs=0.02)
    assert np.abs(found - expected).max() < 0.125


def test_a_known_share_tells_how_sure_a_published_edge_is():
    """Each of k switches takes two of m edges: a share of about exp(-2 k / m) is left."""
    network = random_network(300, 0.01, 4)
    for share in (0.1, 0.4):
        found = switch_posterior(network, network.codes, share, 40, 2.0, np.random.default_rng(5))
        assert found.mean() == pytest.approx(np.exp(-2 * share), abs=0.05)  # rejections keep a few more


def test_edges_of_several_types_count_as_one():
    network = random_network(20, 0.2, 6)
    twice = Network.from_edges(20, *np.hstack([network.edges] * 2), types=np.repeat([0, 1], network.size))
    knowledge, _ = asked(20, network)
    for settings in EITHER:
        attack = LinkRandomisation(draws=5, **settings)
        assert np.array_equal(scored(attack, network, knowledge), scored(attack, twice, knowledge))


def test_the_seed_decides_and_pythons_own_randomness_is_left_alone():
    network = random_network(30, 0.2, 7)
    knowledge, _ = asked(30, network)
    attack = LinkRandomisation(draws=5)
    random.seed(1)
    expected = random.random()
    random.seed(1)
    one = scored(attack, network, knowledge, 1)
    assert random.random() == expected
    assert np.array_equal(one, scored(attack, network, knowledge, 1))
    assert not np.array_equal(one, scored(attack, network, knowledge, 2))
    edges = []
    for _ in range(2):  # igraph follows Python's generator again
        random.seed(3)
        graph = network.igraph()
        graph.rewire(n=50)
        edges.append(graph.get_edgelist())
    assert edges[0] == edges[1]


@pytest.mark.parametrize("share", [None, 1.5])
def test_edits_need_a_share(share):
    with pytest.raises(InputError, match=r"with the change 'edit', share is the share of edges .* in \[0, 1\]"):
        LinkRandomisation(change="edit", share=share)


def test_a_network_without_edges_is_refused():
    knowledge, _ = asked(10, random_network(10, 0.3, 8))
    empty = Network(10, np.empty((2, 0), dtype=np.int64), groups=np.zeros(10, dtype=np.int64))
    with pytest.raises(InputError, match="the published network tells no edges"):
        scored(LinkRandomisation(), empty, knowledge)


def test_added_nodes_are_nobody_and_missing_ones_are_refused():
    network = random_network(20, 0.2, 9)
    more = Network.from_edges(22, *np.hstack([network.edges, [[0, 3], [20, 21]]]))
    knowledge, truth = asked(20, network)
    assert auc(truth, scored(LinkRandomisation(change="edit"), more, knowledge)) == 1
    knowledge, _ = asked(23, random_network(23, 0.2, 9))
    with pytest.raises(InputError, match="the published network has 22 nodes and client:0 has 23: publish all"):
        scored(LinkRandomisation(), more, knowledge)

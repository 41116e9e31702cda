"""PrivGraph: what one edge changes in each stage, by brute force; how choices are made; what is kept and lost."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.private_graphs import privgraph
from gaudit.defenses.private_graphs.privgraph import PrivGraph, between, chosen, degrees_within, links_to
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.measures.communities import adjusted_mutual_information, leiden
from gaudit.graphs.network import Network
from support import every_network as every
from support.small_networks import karate, networks

EXACT = 1e5  # an epsilon whose noise is 0


def published(network, epsilon, seed=0, **settings):
    return PrivGraph(epsilon=epsilon, **settings).on_graph(network, np.random.SeedSequence(seed))


def three_communities(nodes=300):
    rng, kind = np.random.default_rng(0), np.arange(nodes) % 3
    chance = np.where(kind[:, None] == kind, 0.2, 0.01)
    return Network.from_edges(nodes, *np.nonzero(np.triu(rng.random((nodes, nodes)) < chance, 1))), kind


# --- what is promised


@pytest.mark.parametrize("nodes", [2, 3])
def test_guarantee_what_an_edge_changes_is_what_each_stage_has_noise_for(nodes):
    """All networks, all divisions into two or three groups, all edges."""
    for groups in product(range(min(nodes, 3)), repeat=nodes):
        division = np.array(groups)
        for network in every.labelled(nodes):
            for other in every.flipped(network):
                cells = np.abs(between(network, division) - between(other, division)).sum()
                scores = links_to(other, division) - links_to(network, division)
                degrees = np.abs(degrees_within(network, division) - degrees_within(other, division)).sum()
                apart = np.triu(between(network, division) - between(other, division), 1)
                assert cells == 1
                assert np.abs(scores).sum(axis=1).max() == 1
                assert (np.abs(scores).sum(axis=1) > 0).sum() == 2
                assert (scores >= 0).all() or (scores <= 0).all()
                assert Fraction(int(degrees), 2) + int(np.abs(apart).sum()) == 1


@pytest.mark.parametrize("rate", [0.3, 2.0])
def test_guarantee_a_choice_costs_its_rate_once_where_scores_only_rise(rate):
    """All scores from 0 to 3 of three columns, one of them one higher: from the exponential mechanism's law."""

    def chances(scores):
        weights = np.exp(rate * np.array(scores))
        return weights / weights.sum()

    worst = max(
        np.abs(np.log(chances(scores) / chances(np.array(scores) + np.eye(3, dtype=int)[column]))).max()
        for scores in product(range(4), repeat=3)
        for column in range(3)
    )
    assert 0.75 * rate < worst <= rate + 1e-12


def test_choices_have_the_law_of_the_exponential_mechanism():
    """Chi-square of 6,000 choices of each of three rows; false alarm 1e-6 each."""
    scores, runs, rate = np.array([[0, 1, 4], [2, 2, 2], [0, 0, 1]]), 6000, Fraction(2, 3)
    rows = np.repeat(np.arange(3), runs)
    found = chosen(scores[rows], rate, np.random.default_rng(0))
    for row in range(3):
        weights = np.exp(float(rate) * scores[row])
        hits = np.bincount(found[rows == row], minlength=3)
        assert chisquare(hits, runs * weights / weights.sum()).pvalue > 1e-6


def test_guarantee_stages_spend_a_third_of_epsilon_each(monkeypatch):
    noise, rates = [], []
    laplace, choose = privgraph.discrete_laplace, privgraph.chosen
    monkeypatch.setattr(privgraph, "discrete_laplace", lambda s, *rest: noise.append(s) or laplace(s, *rest))
    monkeypatch.setattr(privgraph, "chosen", lambda q, rate, rng: rates.append(rate) or choose(q, rate, rng))
    published(karate(), 1.5)
    promise, each = PrivGraph(epsilon=1.5).promise(), Fraction(1, 2)
    assert noise == [1 / each, 2 / each, 1 / each]  # groups; degrees within and numbers between share the third
    assert rates == [each / 2]  # two nodes choose anew
    assert promise.epsilon == Fraction(3, 2)
    assert (promise.unit, promise.adjacency, promise.model) == ("edge", "add/remove", "central")


def test_guarantee_nothing_but_the_noisy_numbers_is_used(monkeypatch):
    """Other networks of as many nodes with the same tables: the release is the same."""
    rng = np.random.default_rng(0)
    scores, degrees = rng.integers(0, 4, size=(34, 3)), rng.integers(0, 6, 34)

    def table(network, groups):
        return np.triu(np.full((int(groups.max()) + 1,) * 2, 9))

    monkeypatch.setattr(privgraph, "between", table)
    monkeypatch.setattr(privgraph, "links_to", lambda network, communities: scores)
    monkeypatch.setattr(privgraph, "degrees_within", lambda network, communities: degrees)
    one, *others = (
        published(net, 2.0) for net in (karate(), every.network_of(34, []), every.network_of(34, [(0, 1)]))
    )
    assert one.size > 10
    assert all(np.array_equal(one.edges, other.edges) for other in others)


def test_guarantee_every_graph_can_be_published_whatever_the_original():
    for original in (every.network_of(3, []), every.network_of(3, [(0, 1), (0, 2), (1, 2)])):
        seen = {tuple(published(original, 1.0, seed, group=1).codes) for seed in range(400)}
        assert len(seen) == 8


# --- what is kept


@given(networks(2, 12), st.integers(0, 20), st.integers(1, 5))
def test_whatever_the_noise_the_result_is_a_simple_graph(before, seed, group):
    for epsilon in (0.1, 3.0):
        after = published(before, epsilon, seed, group=group)
        low, high = after.edges
        assert after.nodes == before.nodes
        assert (low < high).all()
        assert (np.diff(after.codes) > 0).all()


@pytest.mark.parametrize("group", [1, 20])
def test_without_noise_numbers_of_edges_and_degrees_within_are_kept(group):
    before, _ = three_communities()
    after, found = PrivGraph(epsilon=EXACT, group=group).divided(before, np.random.SeedSequence(1))
    assert np.array_equal(between(after, found), between(before, found))
    assert np.corrcoef(degrees_within(after, found), degrees_within(before, found))[0, 1] > 0.2
    assert math.isclose(after.size, before.size)


def test_random_groups_of_twenty_lose_three_clear_communities_even_without_noise():
    """Agreement with them is 0.1 to 0.3 where 1 is all of it; groups of one node find them, without noise."""
    before, kind = three_communities()
    assert adjusted_mutual_information(leiden(before, np.random.default_rng(0))[0], kind) == 1
    agreement = {
        group: np.mean(
            [
                adjusted_mutual_information(
                    PrivGraph(epsilon=EXACT, group=group).divided(before, np.random.SeedSequence(seed))[1], kind
                )
                for seed in range(4)
            ]
        )
        for group in (1, 20)
    }
    assert agreement[20] < 0.35
    assert agreement[1] > 0.9


def test_trivial_edits_that_keep_as_many_edges_keep_less_of_the_communities():
    """Share of edges within communities at epsilon 16, beside random edits of as many edges: a little more."""
    before, kind = three_communities()
    ours, theirs = [], []
    for seed in range(4):
        after = published(before, 16.0, seed)
        kept = np.isin(after.codes, before.codes).sum() / before.size
        edited = RandomEdit(share=float(1 - kept)).on_graph(before, np.random.SeedSequence(seed))
        ours.append(np.mean(kind[after.edges[0]] == kind[after.edges[1]]))
        theirs.append(np.mean(kind[edited.edges[0]] == kind[edited.edges[1]]))
    assert np.mean(ours) > np.mean(theirs)
    assert np.mean(ours) < 0.5  # of 0.92


def test_what_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(privgraph, "MOST_CELLS", 10)
    with pytest.raises(InputError, match=r"34 nodes would be 34 groups.*choose a larger group"):
        published(karate(), 1.0, group=1)
    with pytest.raises(InputError, match="noisy communities make a table that is too large"):
        published(karate(), EXACT, group=12)
    with pytest.raises(InputError, match="expected 2 or more"):
        published(every.network_of(1, []), 1.0)

"""Groups and numbers of edges in the place of edges."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.summarisation import Summarisation, certain_links, verify_counts, verify_groups
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support.small_networks import karate


def random_network(n, share, seed, kinds=1):
    rng = np.random.default_rng(seed)
    drawn = [np.nonzero(np.triu(rng.random((n, n)) < share, 1)) for _ in range(kinds)]
    types = np.repeat(np.arange(kinds), [len(one) for one, _ in drawn])
    one, other = np.hstack(drawn)
    return Network.from_edges(n, one, other, types=types if kinds > 1 else None)


def by_hand(network, groups):
    """Numbers of edges between groups, one edge at a time."""
    kinds = [0] * network.size if network.types is None else network.types.tolist()
    return Counter(
        (*sorted(groups[edge].tolist()), kind) for edge, kind in zip(network.edges.T, kinds, strict=True)
    )


@given(st.integers(4, 30), st.integers(0, 30), st.integers(1, 4), st.booleans(), st.integers(1, 2))
def test_guarantee_groups_of_k_with_the_numbers_of_the_original(n, seed, k, sample, kinds):
    before = random_network(n, 0.25, seed, kinds)
    defense = Summarisation(k=k, sample=sample, steps=5)
    after = defense.on_graph(before, np.random.SeedSequence(seed))
    assert len(after.groups) == after.nodes == n
    assert min(Counter(after.groups.tolist()).values()) >= k
    true = by_hand(before, after.groups)
    if sample:
        assert by_hand(after, after.groups) == true
    else:
        assert after.size == 0
        assert {tuple(row[:3]): row[3] for row in after.counts.tolist()} == true
    assert defense.verify(before, after).holds


def test_guarantee_fails_for_small_groups_and_for_other_numbers():
    before = karate()
    after = Summarisation(k=4).on_graph(before, np.random.SeedSequence(0))
    assert verify_groups(after, 4).holds
    assert not verify_groups(after, 12).holds
    assert not verify_groups(before, 1).holds
    fewer = Network(34, after.edges[:, 1:], groups=after.groups)
    assert not verify_counts(before, fewer).holds
    assert not verify_counts(before, before).holds
    assert not Summarisation(k=4).verify(before, fewer).holds


def test_k_of_one_publishes_the_network_itself():
    after = Summarisation(k=1).on_graph(karate(), np.random.SeedSequence(0))
    assert np.array_equal(after.edges, karate().edges)


def test_one_group_of_all_is_a_random_network_with_as_many_edges():
    after = Summarisation(k=20).on_graph(karate(), np.random.SeedSequence(0))
    assert after.groups.tolist() == [0] * 34
    assert after.size == 78


def test_certain_links_are_counted():
    """Nodes of a complete bipartite network: every link is known, and verify says so."""
    low, high = np.meshgrid(np.arange(5), np.arange(5, 10))
    before = Network.from_edges(10, low.ravel(), high.ravel())
    after = Summarisation(k=5).on_graph(before, np.random.SeedSequence(0))
    assert np.array_equal(after.edges, before.edges)
    assert "25 links between groups that are linked completely are certain" in certain_links(after)
    assert "largest probability of a link is 1" in Summarisation(k=5).verify(before, after).detail
    assert certain_links(Network(3, np.empty((2, 0), dtype=np.int64))) == "no groups"


def matched(published, original, groups):
    """Share of nodes that an adversary finds who knows all nodes outside their groups, by common neighbours."""
    outside = groups[:, None] != groups
    near, true = (network.adjacency.toarray() * outside for network in (published, original))
    cosine = near @ true.T / np.sqrt(np.maximum(np.outer(near.sum(1), true.sum(1)), 1))
    return np.mean(cosine.argmax(1) == np.arange(len(near)))


def test_trivial_edits_that_keep_as_many_edges_give_nodes_away():
    """Who knows all neighbours finds nodes after random edits; of a summary one of k at best, whatever is known.

    Means of 20 draws. Nodes of a group are exchangeable in the draw, so any rule is expected to find one node of
    each group at most: 1 / k of them, and 3.3 standard errors. The network is one that a summary fits, blocks;
    where there are none, so few edges are kept that random edits hide nodes as well.
    """
    rng, block = np.random.default_rng(1), np.arange(60) // 6
    joined = np.triu(rng.random((10, 10)) < 0.3)
    share = np.where((joined | joined.T)[block][:, block], 0.85, 0.02)
    before = Network.from_edges(60, *np.nonzero(np.triu(rng.random((60, 60)) < share, 1)))
    found, edited = [], []
    for seed in range(20):
        coins = np.random.SeedSequence(seed)
        after = Summarisation(k=6).on_graph(before, coins)
        kept = np.isin(before.codes, after.codes).mean()
        found.append(matched(after, before, after.groups))
        edited.append(matched(RandomEdit(share=1 - kept).on_graph(before, coins), before, after.groups))
    assert np.mean(found) < 1 / 6 + 3.3 * np.std(found) / np.sqrt(len(found))
    assert np.mean(edited) > np.mean(found) + 0.3


def test_more_nodes_in_a_group_keep_fewer_edges():
    shares = []
    for k in (1, 2, 5, 17):
        after = Summarisation(k=k).on_graph(karate(), np.random.SeedSequence(1))
        shares.append(np.isin(karate().codes, after.codes).mean())
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1


def test_the_seed_decides():
    one, same, other = (
        Summarisation(k=5, steps=10).on_graph(karate(), np.random.SeedSequence(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.edges, same.edges)
    assert np.array_equal(one.groups, same.groups)
    assert not np.array_equal(one.edges, other.edges)


def test_too_few_nodes_are_refused():
    with pytest.raises(InputError, match="'summarisation' cannot group 34 nodes by k = 35: take a smaller k"):
        Summarisation(k=35).on_graph(karate(), np.random.SeedSequence(0))

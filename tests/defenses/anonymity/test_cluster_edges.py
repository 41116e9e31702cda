"""Numbers of edges between classes of nodes in the place of edges."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.cluster_edges import ClusterEdges, degree_blocks, verify_told_counts
from gaudit.defenses.anonymity.summaries import counts_between, slots
from gaudit.defenses.anonymity.typed_edges import IntactEdges
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from support.typed_networks import friends, leak, typed

SEED = np.random.SeedSequence(0)
settings = st.fixed_dictionaries(
    {"constrained": st.booleans(), "limit": st.integers(1, 3), "inside": st.booleans()}
)


@given(st.integers(6, 30), st.integers(0, 30), st.integers(1, 6), settings)
def test_guarantee_classes_of_k_and_the_right_numbers(n, seed, k, chosen):
    before = typed(n, seed)
    defense = ClusterEdges(k=k, sensitive=1, **chosen)
    after = defense.on_graph(before, SEED)
    assert after.size == 0
    assert min(Counter(after.groups.tolist()).values()) >= k
    true = Counter(
        (*sorted(after.groups[[one, other]].tolist()), kind)
        for one, other, kind in zip(*before.edges.tolist(), before.types.tolist(), strict=True)
        if kind != 1
    )
    if not chosen["inside"]:
        true = {key: number for key, number in true.items() if key[0] != key[1]}
    most = chosen["limit"] if chosen["constrained"] else n * n
    told = {tuple(row[:3]): row[3] for row in after.counts.tolist()}
    assert told == {key: min(number, most) for key, number in true.items()}
    assert defense.verify(before, after).holds


def test_numbers_add_up_to_the_edges():
    before = typed(30, 1)
    after = ClusterEdges(k=4, inside=True).on_graph(before, SEED)
    for kind in (1, 2):
        assert after.counts[after.counts[:, 2] == kind, 3].sum() == (before.types == kind).sum()
    between = ClusterEdges(k=4).on_graph(before, SEED)
    within = after.groups[before.edges[0]] == after.groups[before.edges[1]]
    assert between.counts[:, 3].sum() == (~within & (before.types != 0)).sum()


def test_guarantee_fails_for_small_classes_edges_other_numbers_and_the_sensitive_type():
    before = typed(30, 2)
    defense = ClusterEdges(k=5)
    after = defense.on_graph(before, SEED)
    assert not ClusterEdges(k=31 // 2).verify(before, after).holds
    assert not defense.verify(before, before).holds
    more = replace(after, counts=after.counts + np.array([0, 0, 0, 1]))
    assert not defense.verify(before, more).holds
    assert not ClusterEdges(k=5, constrained=True).verify(before, after).holds
    everything = ClusterEdges(k=5, sensitive=None).on_graph(before, SEED)
    assert not defense.verify(before, everything).holds
    assert verify_told_counts(before, everything, None, None, False).holds


def test_constraints_never_tell_more():
    before = typed(40, 3)
    free, bound = (ClusterEdges(k=5, constrained=c, limit=2).on_graph(before, SEED) for c in (False, True))
    assert np.array_equal(free.counts[:, :3], bound.counts[:, :3])
    assert np.all(bound.counts[:, 3] <= np.minimum(free.counts[:, 3], 2))
    assert np.any(bound.counts[:, 3] < free.counts[:, 3])


def test_completely_linked_classes_are_reported():
    n = 12
    low, high = np.meshgrid(np.arange(6), np.arange(6, 12))
    edges = np.hstack([[low.ravel(), high.ravel()], [[0], [1]]])
    before = typed(n, 0)
    before = type(before).from_edges(n, *edges, types=np.array([1] * 36 + [0]), groups=np.arange(n) // 6)
    after = ClusterEdges(k=6, classes="groups").on_graph(before, SEED)
    assert (
        "36 links between groups that are linked completely are certain"
        in ClusterEdges(k=6).verify(before, after).detail
    )
    hidden = ClusterEdges(k=6, classes="groups", constrained=True)
    assert "0 links" in hidden.verify(before, hidden.on_graph(before, SEED)).detail


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 12))
def test_degree_blocks_are_blocks_of_the_order_by_degree(degrees, k):
    degrees = np.array(degrees)
    groups = degree_blocks(degrees, k, np.random.default_rng(0))
    sizes = np.bincount(groups)
    assert np.all(sizes[:-1] == k)
    assert sizes[-1] >= min(k, len(degrees))
    for block in range(len(sizes) - 1):
        assert degrees[groups == block].min() >= degrees[groups == block + 1].max()


def test_sensitive_edges_do_not_shape_the_classes():
    before = friends(0)
    star = np.stack([np.zeros(40, dtype=np.int64), np.arange(80, 120)])
    more = type(before).from_edges(
        before.nodes,
        *np.unique(np.hstack([before.edges[:, before.types == 0], star]), axis=1),
        types=None,
    )
    kept = before.only(before.types != 0)
    mixed = type(before).from_edges(
        before.nodes,
        *np.hstack([more.edges, kept.edges]),
        types=np.concatenate([np.zeros(more.size, dtype=np.int64), kept.types]),
    )
    one, other = (ClusterEdges().on_graph(network, SEED) for network in (before, mixed))
    assert np.array_equal(one.groups, other.groups)
    assert np.array_equal(one.counts, other.counts)


def test_trivial_edits_that_hide_as_much_lose_the_densities_between_classes():
    """Means of three networks: at about the same leak counts are exact, and those after random edits far off."""
    hidden, edited, off = [], [], []
    for seed in range(3):
        before, coins = friends(seed), np.random.SeedSequence(seed)
        after = ClusterEdges(k=10).on_graph(before, coins)
        instead = RandomEdit(share=0.8).on_graph(before, coins)
        hidden.append(leak(before, after))
        edited.append(leak(before, instead))
        density = {}
        for name, network in (("true", before), ("edited", instead)):
            counts = counts_between(network.only(network.types != 0).plain(), after.groups)
            density[name] = dict(
                zip(map(tuple, counts[:, :2].tolist()), counts[:, 3] / slots(counts, after.groups), strict=True)
            )
        pairs = set(density["true"]) | set(density["edited"])
        wrong = sum(abs(density["true"].get(pair, 0) - density["edited"].get(pair, 0)) for pair in pairs)
        off.append(wrong / sum(density["true"].values()))
        assert leak(before, after) < leak(before, IntactEdges().on_graph(before, coins)) - 0.15
    assert np.mean(hidden) < np.mean(edited) + 0.03
    assert np.mean(off) > 0.2


def test_larger_classes_tell_less():
    told = [
        [leak(before, ClusterEdges(k=k).on_graph(before, SEED)) for k in (2, 6, 30)]
        for before in map(friends, range(3))
    ]
    assert np.all(np.diff(np.mean(told, 0)) < 0)


def test_plain_networks_are_counted_where_nothing_is_sensitive():
    plain = typed(20, 4).plain()
    after = ClusterEdges(k=4, sensitive=None, inside=True).on_graph(plain, SEED)
    assert after.counts[:, 3].sum() == plain.size
    with pytest.raises(InputError, match="'cluster-edges' drops edges of a sensitive type"):
        ClusterEdges(k=4).on_graph(plain, SEED)


def test_groups_that_are_missing_or_too_small_are_refused():
    before = typed(20, 5)
    with pytest.raises(InputError, match="the network has none; set classes to 'degree'"):
        ClusterEdges(classes="groups").on_graph(before, SEED)
    grouped = replace(before, groups=np.minimum(np.arange(20), 1))
    with pytest.raises(InputError, match="the smallest group has 1 nodes, fewer than k = 10: merge groups"):
        ClusterEdges(classes="groups").on_graph(grouped, SEED)
    with pytest.raises(InputError, match="cannot make classes of k = 21 of 20 nodes: take a smaller k"):
        ClusterEdges(k=21).on_graph(before, SEED)

"""Groups of nodes, numbers of edges between them, and graphs drawn from these."""

from collections import Counter
from itertools import combinations
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from gaudit.defenses.anonymity.annealing_kernel import grouping, move, worlds_at
from gaudit.defenses.anonymity.summaries import (
    alike,
    annealed,
    counts_between,
    distinct_slots,
    log_worlds,
    presence,
    sampled,
    slots,
)
from gaudit.graphs.network import Network
from support.small_networks import karate
from support.snap import snap


def random_network(n, share, seed, kinds=1):
    rng = np.random.default_rng(seed)
    parts = [np.stack(np.nonzero(np.triu(rng.random((n, n)) < share, 1))) for _ in range(kinds)]
    types = np.repeat(np.arange(kinds), [p.shape[1] for p in parts])
    return Network.from_edges(n, *np.hstack(parts), types=types if kinds > 1 else None)


def by_hand(network, groups):
    """Numbers of edges between groups, one edge at a time."""
    kinds = np.zeros(network.size, dtype=int) if network.types is None else network.types
    found = Counter(
        (*sorted(groups[edge].tolist()), int(kind)) for edge, kind in zip(network.edges.T, kinds, strict=True)
    )
    return [[*key, number] for key, number in sorted(found.items())]


@given(st.integers(2, 14), st.integers(0, 30), st.integers(1, 5), st.integers(1, 2))
def test_counts_are_those_of_single_edges(n, seed, many, kinds):
    network = random_network(n, 0.4, seed, kinds)
    groups = np.random.default_rng(seed).integers(0, many, n)
    counts = counts_between(network, groups)
    assert counts.tolist() == by_hand(network, groups)
    pairs = list(combinations(range(n), 2))
    for (one, other, _, number), room in zip(counts, slots(counts, groups), strict=True):
        assert room == sum(sorted(groups[list(pair)].tolist()) == [one, other] for pair in pairs)
        assert 0 < number <= room


def test_worlds_are_all_graphs_with_these_counts():
    """By enumeration of all graphs on five nodes."""
    network, groups = random_network(5, 0.5, 3), np.array([0, 0, 0, 1, 1])
    counts = counts_between(network, groups)
    pairs = list(combinations(range(5), 2))
    same = 0
    for edges in combinations(pairs, network.size):
        other = Network.from_edges(5, *np.array(edges).T)
        same += counts_between(other, groups).tolist() == counts.tolist()
    assert exp(log_worlds(counts, groups)) == pytest.approx(same)


def test_presence_is_the_share_of_pairs_that_are_linked():
    groups = np.array([0, 0, 1, 1, 1])
    counts = np.array([[0, 0, 0, 1], [0, 1, 0, 3], [1, 1, 0, 1]])
    assert presence(counts, groups).tolist() == [1.0, 0.5, pytest.approx(1 / 3)]


def test_single_nodes_leave_one_world_and_the_sample_is_the_network():
    network = karate()
    groups = np.arange(34)
    counts = counts_between(network, groups)
    assert log_worlds(counts, groups) == pytest.approx(0, abs=1e-9)
    assert np.array_equal(sampled(counts, groups, np.random.default_rng(0)).edges, network.edges)


@given(st.integers(4, 30), st.integers(0, 20), st.integers(1, 4))
def test_start_has_groups_of_k_and_keeps_nodes_with_the_same_neighbours_together(n, seed, k):
    network = random_network(n, 0.15, seed)
    groups = alike(network, k, np.random.default_rng(seed))
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    rows = [tuple(row) for row in network.adjacency.toarray()]
    for row, number in Counter(rows).items():
        if number >= k:
            assert len({int(groups[v]) for v in range(n) if rows[v] == row}) == 1


@given(st.integers(6, 25), st.integers(0, 20), st.integers(0, 10**6))
def test_what_the_search_counts_is_the_full_count(n, seed, moves):
    """Around two groups, before and after moving random nodes between them."""
    network, k = random_network(n, 0.3, seed), 2
    rng = np.random.default_rng(moves)
    groups = rng.permutation(np.arange(n) // 2 % max(n // 3, 1)).astype(np.int64)
    start, near = (part.astype(np.int64) for part in (network.adjacency.indptr, network.adjacency.indices))
    state = grouping(start, near, groups.copy(), k)

    def around(x, y):
        return worlds_at(state, x, -1) + worlds_at(state, y, x)

    x, y = rng.choice(max(n // 3, 1), 2, replace=False) if n // 3 > 1 else (0, 0)
    if x == y:
        return
    before, full_before = around(x, y), log_worlds(counts_between(network, groups), groups)
    members = np.flatnonzero((groups == x) | (groups == y))
    for v in rng.choice(members, len(members) // 2, replace=False):
        move(state, v, y if state.group[v] == x else x)
    full_after = log_worlds(counts_between(network, state.group), state.group)
    assert around(x, y) - before == pytest.approx(full_after - full_before, abs=1e-8)
    assert np.array_equal(state.size[: max(n // 3, 1)], np.bincount(state.group, minlength=max(n // 3, 1)))


@given(st.integers(6, 40), st.integers(0, 20), st.integers(1, 3))
def test_annealed_groups_have_k_nodes_and_no_more_worlds_than_the_start(n, seed, k):
    network = random_network(n, 0.2, seed)
    groups = annealed(network, k, np.random.default_rng(seed), 500)
    sizes = np.bincount(groups)
    assert sizes.min() >= k
    assert sizes.sum() == n
    first = alike(network, k, np.random.default_rng(seed))
    assert log_worlds(counts_between(network, groups), groups) <= (
        log_worlds(counts_between(network, first), first) + 1e-9
    )


def test_planted_blocks_are_found():
    """20 blocks of 10, linked completely or not at all but for 5 % of the edges: they come back."""
    rng = np.random.default_rng(0)
    joined = np.triu(rng.random((20, 20)) < 0.15)
    block = rng.permutation(np.repeat(np.arange(20), 10))
    linked = np.triu((joined | joined.T)[block][:, block], 1)
    edges = np.argwhere(linked)
    noise = rng.permutation(np.argwhere(np.triu(~linked, 1)))[: len(edges) // 20]
    kept = rng.permutation(edges)[len(noise) :]
    network = Network.from_edges(200, *np.concatenate([kept, noise]).T)
    groups = annealed(network, 10, rng, 200_000)
    true = log_worlds(counts_between(network, block), block)
    assert log_worlds(counts_between(network, groups), groups) <= true + 1e-6
    assert len(set(zip(block.tolist(), groups.tolist(), strict=True))) == 20


def test_the_same_seed_gives_the_same_groups_and_another_others():
    one, same, other = (annealed(karate(), 3, np.random.default_rng(seed), 2000) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_numbers_of_groups_say_nothing():
    """Karate's five nodes with the same two neighbours are a group from the start: its number is drawn."""
    numbers = {int(annealed(karate(), 5, np.random.default_rng(seed), 0)[14]) for seed in range(12)}
    assert len(numbers) > 3


def test_search_gains_on_karate():
    """The logarithm of the number of worlds at k = 5 was 108 to 112 in trials, from 166 at the start."""
    groups = annealed(karate(), 5, np.random.default_rng(0), 20_000)
    found = log_worlds(counts_between(karate(), groups), groups)
    assert found < 120
    assert found < 0.6 * log(comb(561, 78))


@pytest.mark.parametrize(("number", "room"), [(3, 6), (1, 5), (5, 6), (6, 6)])
def test_every_set_of_slots_is_equally_likely(number, room):
    """Chi-square over all sets, passed 999 times in 1000, of two rows that are drawn at once."""
    rng, seen, draws = np.random.default_rng(number), Counter(), 4000
    for _ in range(draws // 2):
        row, slot = distinct_slots(np.array([room, 4, room]), np.array([number, 2, number]), rng)
        assert row.tolist() == [0] * number + [1] * 2 + [2] * number
        seen.update([tuple(slot[row == 0].tolist()), tuple(slot[row == 2].tolist())])
    cells = comb(room, number)
    assert all(len(set(s)) == number and min(s) >= 0 and max(s) < room for s in seen)
    expected = draws / cells
    statistic = sum((seen[s] - expected) ** 2 / expected for s in combinations(range(room), number))
    assert cells == 1 or statistic < chi2.isf(0.001, cells - 1)


def test_every_graph_with_the_counts_is_equally_likely():
    """Chi-square over all 162 worlds of two groups, passed 999 times in 1000."""
    groups = np.array([0, 1, 0, 1, 0, 1])
    counts = np.array([[0, 0, 0, 2], [0, 1, 0, 7], [1, 1, 0, 1]])
    worlds = round(exp(log_worlds(counts, groups)))
    rng, draws = np.random.default_rng(4), 4000
    seen = Counter(tuple(sampled(counts, groups, rng).codes.tolist()) for _ in range(draws))
    assert worlds == 3 * 36 * 3
    assert len(seen) <= worlds
    expected = draws / worlds
    statistic = sum((n - expected) ** 2 / expected for n in seen.values()) + (worlds - len(seen)) * expected
    assert statistic < chi2.isf(0.001, worlds - 1)


@given(st.integers(3, 30), st.integers(0, 50), st.integers(1, 6), st.integers(1, 3))
def test_a_sampled_graph_has_exactly_the_counts(n, seed, many, kinds):
    network = random_network(n, 0.5, seed, kinds)
    groups = np.random.default_rng(seed).integers(0, many, n)
    counts = counts_between(network, groups)
    drawn = sampled(counts, groups, np.random.default_rng(seed), typed=kinds > 1)
    assert np.array_equal(counts_between(drawn, groups), counts)
    assert (drawn.nodes, drawn.size) == (n, network.size)


@pytest.mark.parametrize("number", [4, -1])
def test_impossible_counts_are_refused(number):
    with pytest.raises(ValueError, match="more edges between two groups"):
        sampled(np.array([[0, 0, 0, number]]), np.zeros(3, dtype=int), np.random.default_rng(0))


def test_too_few_nodes_are_refused():
    with pytest.raises(ValueError, match="34 nodes, fewer than k = 35"):
        annealed(karate(), 35, np.random.default_rng(0))


def test_a_collaboration_network_is_summarised(gaudit_data):
    """ca-HepTh, k = 10, a tenth of the usual steps: a start of 100,400, and 100,000 would be no gain."""
    network = snap(gaudit_data, "ca-HepTh")
    groups = annealed(network, 10, np.random.default_rng(0), 20 * network.nodes)
    assert np.bincount(groups).min() >= 10
    assert log_worlds(counts_between(network, groups), groups) < 95_000

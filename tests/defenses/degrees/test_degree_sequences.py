"""Cheapest k-anonymous degree sequences: against exhaustion, a plain quadratic programme, and known optima."""

from itertools import product
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaudit.defenses.degrees.degree_sequences import greedy_k_anonymous, is_graphic, k_anonymous
from gaudit.errors import InputError
from support.snap import snap

# sum of absolute changes, with degrees that only grow / that may shrink, before the sum is made even
OPTIMA = {
    "karate": {2: (7, 5), 5: (25, 17), 10: (86, 44)},
    "polblogs": {2: (151, 110), 5: (604, 311), 10: (1629, 807), 20: (3874, 1556), 50: (12033, 3184)},
    "ca-HepTh": {2: (13, 10), 5: (60, 33), 10: (180, 86), 20: (427, 182), 50: (1436, 475), 100: (3366, 942)},
    "wiki-Vote": {2: (536, 519), 5: (2450, 986), 10: (5387, 2128), 20: (12908, 4144), 50: (38374, 8125)},
    "email-Enron": {2: (345, 318), 5: (2183, 1360), 10: (5772, 3255), 20: (13587, 6781), 50: (44221, 15024)},
}
MODES = list(product([False, True], [False, True]))  # deletions, even


def karate() -> np.ndarray:
    return np.array(igraph.Graph.Famous("Zachary").degree())


def polblogs(folder: Path) -> np.ndarray:
    rows = np.loadtxt(folder / "PolBlogs/raw/adjacency.tsv", dtype=np.int64)
    pairs = np.unique(np.sort(rows[rows[:, 0] != rows[:, 1]], axis=1), axis=0)
    degrees = np.bincount(pairs.ravel())
    return degrees[degrees > 0]


def cost(degrees, found) -> int:
    return int(np.abs(np.asarray(degrees) - found).sum())


def anonymous(found, k: int) -> bool:
    return min(np.unique(found, return_counts=True)[1]) >= k


def least_of_all(degrees: np.ndarray, k: int, deletions: bool, even: bool) -> int:
    """By trying every sequence."""
    count = len(degrees)
    every = np.stack(np.meshgrid(*[np.arange(count)] * count, indexing="ij"), -1).reshape(-1, count)
    good = np.ones(len(every), dtype=bool)
    for value in range(count):
        times = (every == value).sum(1)
        good &= (times == 0) | (times >= k)
    if not deletions:
        good &= (every >= degrees).all(1)
    if even:
        good &= every.sum(1) % 2 == 0
    return int(np.abs(every[good] - degrees).sum(1).min())


def least_of_partitions(degrees: np.ndarray, k: int, deletions: bool, even: bool) -> int:
    """Over all partitions into consecutive groups of any size from k up, and all degrees of each, by parity."""
    falling, count = np.sort(degrees)[::-1], len(degrees)
    choices = np.arange(count)
    away = np.abs(falling[None] - choices[:, None])
    total = np.concatenate([np.zeros((count, 1), dtype=int), np.cumsum(away, 1)], 1)
    best = np.full((count + 1, 2), 10**9)
    best[0, 0] = 0
    for stop in range(k, count + 1):
        for start in range(stop - k + 1):
            allowed = choices[0 if deletions else falling[start] :]
            price = total[allowed, stop] - total[allowed, start]
            odd = allowed * (stop - start) % 2 == 1
            for parity in (0, 1):
                least = price[odd == parity].min(initial=10**9)
                best[stop] = np.minimum(best[stop], best[start, [parity, 1 - parity]] + least)
    return int(best[count, 0] if even else best[count].min())


def degrees_of_a_graph(count: int):
    return st.lists(st.integers(0, count - 1), min_size=count, max_size=count).map(np.array)


@pytest.mark.parametrize(("deletions", "even"), MODES)
@given(st.data())
def test_no_k_anonymous_sequence_is_nearer(deletions, even, data):
    degrees = data.draw(st.integers(2, 6).flatmap(degrees_of_a_graph))
    k = data.draw(st.integers(1, len(degrees)))
    found = k_anonymous(degrees, k, deletions, even)
    assert anonymous(found, k)
    assert (found >= 0).all()
    assert (found < len(degrees)).all()
    assert not even or found.sum() % 2 == 0
    assert deletions or (found >= degrees).all()
    assert cost(degrees, found) == least_of_all(degrees, k, deletions, even)


@pytest.mark.parametrize(("deletions", "even"), MODES)
@given(st.data())
def test_no_partition_is_cheaper(deletions, even, data):
    degrees = data.draw(st.integers(7, 12).flatmap(degrees_of_a_graph))
    k = data.draw(st.integers(1, 6))
    found = k_anonymous(degrees, k, deletions, even)
    assert anonymous(found, k)
    assert cost(degrees, found) == least_of_partitions(degrees, k, deletions, even)


@pytest.mark.parametrize(("deletions", "even"), MODES)
@settings(max_examples=25)
@given(values=st.lists(st.integers(0, 8), min_size=1, max_size=3), k=st.integers(1, 2), data=st.data())
def test_nodes_of_a_long_run_that_are_not_looked_at_cost_nothing(deletions, even, values, k, data):
    degrees = np.array([v for v in values for _ in range(data.draw(st.sampled_from([1, 2, 3, 15, 16, 20])))])
    degrees = np.minimum(degrees, len(degrees) - 1)
    if k > len(degrees):
        return
    found = k_anonymous(degrees, k, deletions, even)
    assert anonymous(found, k)
    assert cost(degrees, found) == least_of_partitions(degrees, k, deletions, even)


@settings(max_examples=30)
@given(st.data())
def test_cost_grows_with_k_and_less_where_degrees_may_shrink(data):
    degrees = data.draw(st.integers(2, 25).flatmap(degrees_of_a_graph))
    for deletions, even in MODES:
        costs = [cost(degrees, k_anonymous(degrees, k, deletions, even)) for k in range(1, len(degrees) + 1)]
        assert costs == sorted(costs)
        assert not costs[0] or (even and degrees.sum() % 2)
    grown, moved = (k_anonymous(degrees, 2, deletions) for deletions in (False, True))
    assert cost(degrees, moved) <= cost(degrees, grown) <= cost(degrees, greedy_k_anonymous(degrees, 2))


@given(st.data())
def test_the_greedy_sequence_is_anonymous_and_only_grows(data):
    degrees = data.draw(st.integers(1, 30).flatmap(degrees_of_a_graph))
    k = data.draw(st.integers(1, len(degrees)))
    found = greedy_k_anonymous(degrees, k)
    assert anonymous(found, k)
    assert (found >= degrees).all()


def test_greedy_by_hand():
    # 5 4 | 2 2 1: the third joins at 3 + (2 + 1 - 1 - 1) against 0 for a pair of its own
    assert greedy_k_anonymous(np.array([1, 5, 2, 4, 2]), 2).tolist() == [2, 5, 2, 5, 2]


@given(st.data())
def test_a_sequence_is_graphic_where_networkx_builds_it(data):
    degrees = data.draw(st.integers(1, 9).flatmap(degrees_of_a_graph))
    assert is_graphic(degrees) == nx.is_graphical(degrees.tolist(), method="hh")


@pytest.mark.parametrize(
    ("degrees", "graphic"), [([], True), ([0], True), ([1], False), ([-1, 1], False), ([2, 2], False)]
)
def test_small_sequences(degrees, graphic):
    assert is_graphic(np.array(degrees, dtype=np.int64)) is graphic


@pytest.mark.parametrize(("k", "known"), OPTIMA["karate"].items())
def test_known_optima_of_karate(k, known):
    degrees = karate()
    assert tuple(cost(degrees, k_anonymous(degrees, k, deletions)) for deletions in (False, True)) == known


@pytest.mark.parametrize("name", [name for name in OPTIMA if name != "karate"])
def test_known_optima_of_real_networks(name, gaudit_data):
    degrees = polblogs(gaudit_data) if name == "polblogs" else snap(gaudit_data, name).degrees
    for k, known in OPTIMA[name].items():
        assert tuple(cost(degrees, k_anonymous(degrees, k, deletions)) for deletions in (False, True)) == known
        for deletions, least in zip((False, True), known, strict=True):
            even = k_anonymous(degrees, k, deletions, even=True)
            assert even.sum() % 2 == 0
            assert anonymous(even, k)
            assert cost(degrees, even) == least + least % 2  # a single step more, where the nearest is odd


@pytest.mark.parametrize("find", [k_anonymous, greedy_k_anonymous])
def test_too_large_k_is_refused(find):
    with pytest.raises(InputError, match="k is 4 but there are only 3 nodes: choose k of at most 3"):
        find(np.array([1, 1, 0]), 4)


def test_order_of_nodes_does_not_matter():
    degrees, rng = karate(), np.random.default_rng(0)
    order = rng.permutation(len(degrees))
    assert np.sort(k_anonymous(degrees, 5)).tolist() == np.sort(k_anonymous(degrees[order], 5)).tolist()

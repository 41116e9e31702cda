"""Random edges between groups by weight: their law, by both ways of drawing them."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.private_graphs import group_edges
from gaudit.defenses.private_graphs.group_edges import edges_between, edges_within

LEVEL = 1e-4  # of every statistical test here; the seeds are fixed
WAYS = {"raced": 10_000, "drawn": -1}


def law(weights, count):
    """Probability of each set of so many pairs that are drawn one after the other by weight."""
    found = {}
    for order in permutations(weights, count):
        chance, left = 1.0, sum(weights.values())
        for pair in order:
            chance *= weights[pair] / left
            left -= weights[pair]
        found[frozenset(order)] = found.get(frozenset(order), 0) + chance
    return found


def fits(seen, expected):
    counts = [seen.count(pairs) for pairs in expected]
    assert sum(counts) == len(seen)
    return chisquare(counts, np.array(list(expected.values())) * len(seen)).pvalue > LEVEL


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setattr(group_edges, "FEW_PAIRS", WAYS[request.param])
    monkeypatch.setattr(group_edges, "DENSE", 0)


def test_pairs_of_two_groups_have_their_law(way):
    one, other, rng = np.array([1.0, 0, 3]), np.array([2.0, 1]), np.random.default_rng(0)
    weights = {(a, b): one[a] * other[b] for a, b in product(range(3), range(2)) if one[a]}
    for count in (1, 2, 3):
        draws = (edges_between(one, other, count, rng) for _ in range(3000))
        assert fits([frozenset(zip(a.tolist(), b.tolist(), strict=True)) for a, b in draws], law(weights, count))


def test_pairs_of_one_group_have_their_law(way):
    weight, rng = np.array([1.0, 4, 0, 2, 2]), np.random.default_rng(1)
    weights = {(a, b): weight[a] * weight[b] for a, b in combinations((0, 1, 3, 4), 2)}
    for count in (1, 2):
        draws = (edges_within(weight, count, rng) for _ in range(3000))
        assert fits([frozenset(zip(a.tolist(), b.tolist(), strict=True)) for a, b in draws], law(weights, count))


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 80), st.integers(0, 100))
def test_pairs_differ_and_are_as_many_as_there_can_be(left, right, count, seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 3, left).astype(float), rng.integers(0, 3, right).astype(float)
    a, b = edges_between(one, other, count, rng)
    assert len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(a)
    assert len(a) == min(count, (one > 0).sum() * (other > 0).sum())
    assert (one[a] > 0).all()
    assert (other[b] > 0).all()
    a, b = edges_within(one, count, rng)
    room = (one > 0).sum()
    assert (a < b).all()
    assert len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(a) == min(count, room * (room - 1) // 2)


def test_large_groups_take_memory_for_their_edges_only():
    rng = np.random.default_rng(0)
    weights = rng.pareto(2, 200_000) + 1
    a, b = edges_within(weights, 50_000, rng)
    assert len(set(zip(a.tolist(), b.tolist(), strict=True))) == 50_000
    assert (a < b).all()
    a, b = edges_between(weights, weights[:100_000], 50_000, rng)
    assert len(set(zip(a.tolist(), b.tolist(), strict=True))) == 50_000


def test_pairs_too_unlikely_to_be_met_are_left_out(monkeypatch):
    monkeypatch.setattr(group_edges, "FEW_PAIRS", -1)
    monkeypatch.setattr(group_edges, "DENSE", 0)
    weights = np.array([1.0, 1.0, 1e-12, 1e-12])
    found, _ = edges_within(weights, 6, np.random.default_rng(0))
    assert 1 <= len(found) < 6

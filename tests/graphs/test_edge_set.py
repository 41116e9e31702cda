"""The compiled set of edges beside Python's own, and its random numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.graphs.edge_set import EMPTY, below, bits_at, code_of, contains, edge_set, insert, remove

NODES = 12
PAIRS = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(lambda p: p[0] != p[1])


@given(st.lists(PAIRS, min_size=1, max_size=60))
def test_it_holds_what_a_set_holds(toggles):
    ring = [(k, (k + 1) % NODES) for k in range(NODES)]
    edges, kept = edge_set(np.array(ring, dtype=np.int32).ravel(), NODES), {tuple(sorted(pair)) for pair in ring}
    for one, other in toggles:
        pair, code = (min(one, other), max(one, other)), code_of(edges, one, other)
        assert contains(edges, code) == (pair in kept)
        if pair in kept:
            remove(edges, code)
            kept.remove(pair)
        elif len(kept) < NODES:
            insert(edges, code)
            kept.add(pair)
        assert {divmod(int(c), NODES) for c in edges.slots[edges.slots != EMPTY]} == kept
    for code in edges.slots[edges.slots != EMPTY]:
        assert contains(edges, code)  # found from where its search starts


def test_the_slots_are_a_power_of_two_and_at_least_half_of_them_free():
    for size in (1, 2, 3, 100, 1000):
        ends = np.stack([np.zeros(size), np.arange(1, size + 1)], 1).astype(np.int32).ravel()
        slots = edge_set(ends, size + 1).slots
        assert len(slots) & (len(slots) - 1) == 0
        assert (slots != EMPTY).sum() == size <= len(slots) // 2


def test_random_numbers_are_uniform_and_stay_below_their_bound():
    draws = [np.uint64(bits_at(np.uint64(7), k)) for k in range(5_000)]
    assert len(set(draws)) == len(draws)
    for bound in (2, 3, 17):
        numbers = [below(bits, bound) for bits in draws]
        assert chisquare(np.bincount(numbers, minlength=bound)).pvalue > 1e-4
        assert max(numbers) == bound - 1
    assert below(np.uint64(2**64 - 1), 10**9) == 10**9 - 1
    lowest = np.array([int(bits) & 1 for bits in draws])
    assert chisquare(np.bincount(lowest)).pvalue > 1e-4

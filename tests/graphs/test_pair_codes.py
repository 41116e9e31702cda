"""Sets of pairs as whole numbers."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.pair_codes import codes, distinct, ends, first_of_each, listed, pairs_at, pairs_beside

NUMBERS = st.lists(st.integers(0, 30), max_size=20)


@given(st.integers(2, 40), st.data())
def test_ends_undo_codes(nodes, data):
    one, other = (
        np.array(data.draw(st.lists(st.integers(0, nodes - 1), min_size=5, max_size=5))) for _ in range(2)
    )
    low, high = ends(codes(one, other, nodes), nodes)
    assert (low == np.minimum(one, other)).all()
    assert (high == np.maximum(one, other)).all()


@given(NUMBERS)
def test_distinct_values_ascend(values):
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))


@given(NUMBERS, NUMBERS)
def test_listed_are_those_that_are_among_the_others(values, others):
    found = listed(np.array(values, dtype=np.int64), np.array(sorted(others), dtype=np.int64))
    assert found.tolist() == [value in others for value in values]


@pytest.mark.parametrize("size", [2, 3, 7, 50])
def test_places_stand_for_all_pairs_in_order(size):
    every = pairs_at(np.arange(size * (size - 1) // 2), size)
    assert [(code // size, code % size) for code in every.tolist()] == list(combinations(range(size), 2))


@given(st.integers(2, 12), st.data())
def test_pairs_beside_some_are_all_others_in_order(nodes, data):
    every = [low * nodes + high for low, high in combinations(range(nodes), 2)]
    taken = sorted(data.draw(st.sets(st.sampled_from(every))))
    rest = [code for code in every if code not in taken]
    places = np.arange(len(rest), dtype=np.int64)
    assert pairs_beside(places, np.array(taken, dtype=np.int64), nodes).tolist() == rest


@given(NUMBERS)
def test_a_value_comes_first_where_it_was_not_before(values):
    expected = [value not in values[:place] for place, value in enumerate(values)]
    assert first_of_each(np.array(values, dtype=np.int64)).tolist() == expected

"""How well what is told of people agrees, counted over all values that they may have."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.tables.agreement import agreements
from gaudit.graphs.tables.node_table import UNTOLD, NodeTable

RANGE = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted)


@given(st.lists(st.tuples(RANGE, RANGE, st.booleans(), st.integers(UNTOLD, 1)), min_size=2, max_size=5))
def test_chances_are_those_over_all_values_that_are_told(people):
    """Of each node one range, or two that do not meet; the second lies above all values of the first."""
    runs = np.array([[[low, [10 + high[0], 10 + high[1]] if two else [1, 0]]] for low, high, two, _ in people])
    secret = np.array([[own] for *_, own in people])
    pairs = np.array(list(product(range(len(people)), repeat=2)))
    found = agreements(NodeTable(runs, secret), pairs)
    values = [[v for low, high in own[0] for v in range(low, high + 1)] for own in runs.tolist()]
    middle = [np.mean(own) for own in values]
    most = max(abs(middle[a] - middle[b]) for a, b in pairs) or 1
    for row, (a, b) in zip(found, pairs, strict=True):
        same = [x == y for x in values[a] for y in values[b]]
        assert row[0] == pytest.approx(np.mean(same))
        assert row[1] == pytest.approx(1 - abs(middle[a] - middle[b]) / most)
        assert row[2] == (secret[a, 0] == secret[b, 0] != UNTOLD)


def test_without_attributes_nothing_agrees():
    assert agreements(NodeTable(np.empty((3, 0, 1, 2), dtype=np.int64)), np.array([[0, 1]])).shape == (1, 0)

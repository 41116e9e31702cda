"""Whom weights and types of edges tell apart, against a count by hand."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.measures.edge_marks import unique_shares
from gaudit.graphs.network import Network

ROWS = [(one, other, kind) for one in range(6) for other in range(one + 1, 6) for kind in range(2)]


@given(st.lists(st.sampled_from(ROWS), unique=True), st.integers(1, 6), st.booleans(), st.booleans(), st.data())
def test_shares_are_those_counted_by_hand(rows, people, typed, weighted, data):
    """Weights are tenths, whose sums depend on the order in which they are added."""
    if not typed:
        rows = list({row[:2]: row for row in rows}.values())
    tenths = data.draw(st.lists(st.integers(1, 7), min_size=len(rows), max_size=len(rows)))
    array = np.array(rows, dtype=np.int64).reshape(-1, 3)
    network = Network.from_edges(
        6,
        array[:, 0],
        array[:, 1],
        np.array(tenths) / 10 if weighted else None,
        array[:, 2] if typed else None,
    )
    marks = {node: [] for node in range(6)}
    for (one, other, kind), tenth in zip(rows, tenths, strict=True):
        marks[one].append((other, tenth, kind))
        marks[other].append((one, tenth, kind))

    def share(key):
        keys = [key(marks[node]) for node in range(6)]
        return sum(Counter(keys)[own] == 1 for own in keys[:people]) / people

    expected = {"how many neighbours they have": share(lambda own: len({other for other, _, _ in own}))}
    if weighted:
        expected["the sum of their weights"] = share(lambda own: sum(Fraction(t, 10) for _, t, _ in own))
        expected["their weights one by one"] = share(lambda own: tuple(sorted(t for _, t, _ in own)))
    if typed:
        expected["their types"] = share(lambda own: tuple(sorted(kind for _, _, kind in own)))
    if typed and weighted:
        expected["their weights and types"] = share(lambda own: tuple(sorted((t, kind) for _, t, kind in own)))
    assert unique_shares(network, people) == pytest.approx(expected)

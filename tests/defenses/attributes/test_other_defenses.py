"""Defenses that know nothing of attributes leave them with the people whose they are, or publish none."""

from dataclasses import replace

import numpy as np
import pytest

from gaudit.audit.conformance.named import ours
from gaudit.audit.conformance.small_graphs import NODES, sparse_network
from gaudit.errors import InputError
from gaudit.graphs.network import ATTRIBUTES
from gaudit.graphs.tables.column import Column
from gaudit.graphs.tables.node_table import NodeTable
from gaudit.registry import find

OF_GRAPHS = [
    name for name in ours("defenses")
    if "on_graph" in find("defenses", name).hooks() and ATTRIBUTES not in find("defenses", name).publishes
]  # fmt: skip


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_attributes_stay_with_their_people(name):
    kind, rng = find("defenses", name), np.random.default_rng(0)
    column = Column("a", tuple(map(str, range(NODES))), np.arange(float(NODES)))
    table = NodeTable.of_values((column,), rng.permutation(NODES)[:, None])
    made = kind(k=2) if kind.strength == "k" else kind()
    before = replace(sparse_network(0), people=table)
    try:
        after = made.on_graph(before, np.random.SeedSequence(0))
    except InputError as error:  # it adds nodes
        with pytest.raises(InputError, match="adds nodes"):
            raise error from None
        return
    if after.people is not None:
        assert after.nodes == NODES
        assert (after.people.runs == table.runs).all()


def test_some_defense_of_each_sort_was_asked():
    assert {"k-degree", "random-edit", "tmf", "k-automorphism"} <= set(OF_GRAPHS)

"""What compiled training is handed: the operators of the other engine to the last bit, and no needless copies."""

import numpy as np
import pytest
import torch

from gaudit.targets.models.compiled_models import Sight
from gaudit.targets.models.propagation import gcn_operator, mean_operator
from gaudit.targets.models.training_config import TrainingConfig


def edges_of(kind: str, nodes: int, coins: np.random.Generator) -> torch.Tensor:
    if kind == "none":
        return torch.empty((2, 0), dtype=torch.long)
    drawn = coins.integers(0, nodes, (2, 6 * nodes))  # some twice, some from a node to itself
    rows = drawn if kind == "as drawn" else np.unique(np.concatenate([drawn, drawn[::-1]], 1), axis=1)
    return torch.from_numpy(rows)


@pytest.mark.parametrize("nodes", [1, 2, 37, 3000])
@pytest.mark.parametrize("kind", ["none", "as drawn", "in both directions once"])
@pytest.mark.parametrize(("architecture", "operator"), [("gcn", gcn_operator), ("sage", mean_operator)])
def test_operators_are_those_of_torch_to_the_last_bit(architecture, operator, kind, nodes):
    edges = edges_of(kind, nodes, np.random.default_rng(nodes))
    wanted = operator(edges, nodes)
    sight = Sight.of(np.zeros((nodes, 1), np.float32), edges, TrainingConfig(architecture=architecture))
    assert np.array_equal(sight.operator.indptr, wanted.crow_indices().numpy())
    assert np.array_equal(sight.operator.indices, wanted.col_indices().numpy())
    assert sight.operator.data.tobytes() == wanted.values().numpy().tobytes()


def test_who_asks_everybody_reads_the_operator_itself():
    nodes = 50
    edges = edges_of("in both directions once", nodes, np.random.default_rng(0))
    sight = Sight.of(np.zeros((nodes, 1), np.float32), edges, TrainingConfig())
    whole = sight.reads(np.arange(nodes))
    assert np.shares_memory(whole.second.value, sight.operator.data)
    turned = sight.reads(np.arange(nodes)[::-1])
    assert np.array_equal(turned.second.start[1:], np.cumsum(np.diff(sight.operator.indptr)[::-1]))

"""What compiled training is handed: the operators of the other engine to the last bit, and no needless copies."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.targets.models import compiled_models
from gaudit.targets.models.compiled_models import Sight
from gaudit.targets.models.model_ensemble import Trained, train_models
from gaudit.targets.models.propagation import gcn_operator, mean_operator
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import Query, TrainingTask


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


def dense_graph(nodes: int) -> Data:
    coins = np.random.default_rng(0)
    x = torch.from_numpy(coins.standard_normal((nodes, 24), dtype=np.float32))
    edges = edges_of("in both directions once", nodes, coins)
    return Data(x=x, edge_index=edges, y=torch.from_numpy(coins.integers(0, 5, nodes)))


def trained(data: Data, **recipe) -> Trained:
    members = torch.from_numpy(np.random.default_rng(1).random((2, data.num_nodes)) < 0.5)
    watched = torch.zeros(data.num_nodes, dtype=torch.bool)
    watched[:100] = True
    task = TrainingTask(
        data, members, TrainingConfig(hidden=32, epochs=6, every=2, **recipe), 5, validation=watched
    )
    asked = torch.arange(0, data.num_nodes, 3)
    queries = [Query(asked, data.edge_index), Query(asked, None)]
    return train_models(task, queries, np.random.SeedSequence(0), keep_weights=True)


def test_features_propagated_once_train_the_same_models(monkeypatch):
    """Of a graph whose hidden units do not stay in the cache: (A X) W for A (X W), the same but for rounding."""
    data = dense_graph(compiled_models.FAR)
    once = trained(data)
    monkeypatch.setattr(compiled_models, "FAR", data.num_nodes + 1)
    anew = trained(data)
    assert not torch.equal(once.weights["w1"], anew.weights["w1"]), "else nothing was done otherwise"
    for name, weight in anew.weights.items():
        torch.testing.assert_close(once.weights[name], weight, atol=2e-4, rtol=0)
    for told, wanted in zip(once.answers, anew.answers, strict=True):
        torch.testing.assert_close(told, wanted, atol=2e-3, rtol=0)
    assert torch.equal(once.epochs, anew.epochs)


@pytest.mark.parametrize("architecture", ["sage", "mlp", "sgc"])
def test_what_is_no_gcn_reads_its_features_as_they_are(architecture):
    data = dense_graph(compiled_models.FAR)
    sight = Sight.of(data.x.numpy(), data.edge_index, TrainingConfig(architecture=architecture))
    assert np.array_equal(sight.x, data.x.numpy())
    assert np.array_equal(*sight.propagated)


def test_a_smaller_graph_is_read_as_it_is():
    data = dense_graph(compiled_models.FAR - 1)
    assert np.shares_memory(Sight.of(data.x.numpy(), data.edge_index, TrainingConfig()).x, data.x.numpy())

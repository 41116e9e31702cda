"""The shadow engine: every model as if it were trained alone."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SGConv
from torch_geometric.utils import subgraph, to_undirected

from gaudit.targets.models.model_ensemble import ask_models, train_models
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask

SEED = np.random.SeedSequence(5)
NODES, FEATURES, CLASSES, MODELS = 150, 40, 5, 3
ARCHITECTURES = ("gcn", "sgc", "sage", "gat", "mlp")


@pytest.fixture(scope="module")
def graph() -> Data:
    rng = np.random.default_rng(0)
    x = torch.from_numpy((rng.random((NODES, FEATURES)) < 0.15).astype(np.float32))
    edges = to_undirected(torch.from_numpy(rng.integers(0, NODES, (2, 300))))
    edges = edges[:, edges[0] != edges[1]]
    return Data(x=x, edge_index=edges, y=torch.from_numpy(rng.integers(0, CLASSES, NODES)))


@pytest.fixture(scope="module")
def members() -> torch.Tensor:
    return torch.rand(MODELS, NODES, generator=torch.Generator().manual_seed(1)) < 0.5


def recipe(architecture: str, **changes: object) -> TrainingConfig:
    settings = {"architecture": architecture, "hidden": 12, "heads": 3, "epochs": 50, "dropout": 0.0}
    return TrainingConfig(**{**settings, **changes})


class Alone(nn.Module):
    """The reference: one model from PyG's layers."""

    def __init__(self, r: TrainingConfig, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.kind, h, k = r.architecture, r.hidden, r.heads
        w = {name: tensor.t().clone() if tensor.dim() == 2 else tensor.clone() for name, tensor in weights.items()}
        if self.kind == "sgc":
            self.first = SGConv(FEATURES, CLASSES, K=r.hops)
            self._set(self.first.lin.weight, w["w"], self.first.lin.bias, w["b"])
            return
        if self.kind == "gcn":
            self.first, self.second = GCNConv(FEATURES, h), GCNConv(h, CLASSES)
            self._set(self.first.lin.weight, w["w1"], self.first.bias, w["b1"])
            self._set(self.second.lin.weight, w["w2"], self.second.bias, w["b2"])
        if self.kind == "mlp":
            self.first, self.second = nn.Linear(FEATURES, h), nn.Linear(h, CLASSES)
            self._set(self.first.weight, w["w1"], self.first.bias, w["b1"])
            self._set(self.second.weight, w["w2"], self.second.bias, w["b2"])
        if self.kind == "sage":
            self.first, self.second = SAGEConv(FEATURES, h), SAGEConv(h, CLASSES)
            for layer, n in ((self.first, "1"), (self.second, "2")):
                self._set(
                    layer.lin_l.weight, w["w" + n], layer.lin_l.bias, w["b" + n], layer.lin_r.weight, w["r" + n]
                )
        if self.kind == "gat":
            self.first, self.second = GATConv(FEATURES, h // k, heads=k), GATConv(h, CLASSES)
            for layer, n, heads in ((self.first, "1", k), (self.second, "2", 1)):
                self._set(layer.lin.weight, w["w" + n], layer.bias, w["b" + n])
                self._set(
                    layer.att_src, w["from" + n].view(1, heads, -1), layer.att_dst, w["to" + n].view(1, heads, -1)
                )

    @staticmethod
    def _set(*pairs: torch.Tensor) -> None:
        for parameter, value in zip(pairs[::2], pairs[1::2], strict=True):
            parameter.data.copy_(value)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        if self.kind == "sgc":
            return self.first(x, edges)
        if self.kind == "mlp":
            return self.second(torch.relu(self.first(x)))
        act = F.elu if self.kind == "gat" else torch.relu
        return self.second(act(self.first(x, edges)), edges)


def alone(
    r: TrainingConfig, graph: Data, chosen: torch.Tensor, weights: dict[str, torch.Tensor], induced: bool
) -> torch.Tensor:
    """Logits of all nodes on the whole graph after training by PyG and torch.optim."""
    model = Alone(r, weights)
    edges = subgraph(chosen, graph.edge_index)[0] if induced else graph.edge_index
    optimiser = torch.optim.Adam(model.parameters(), lr=r.lr, weight_decay=r.weight_decay)
    for epoch in range(1, r.epochs + 1):
        optimiser.zero_grad()
        F.cross_entropy(model(graph.x, edges)[chosen], graph.y[chosen]).backward()
        optimiser.step()
        if r.drop_lr_at is not None and epoch == int(r.epochs * r.drop_lr_at):
            optimiser = torch.optim.Adam(model.parameters(), lr=r.lr / 10, weight_decay=r.weight_decay)
    with torch.no_grad():
        return model(graph.x, graph.edge_index)


def first_weights(r: TrainingConfig) -> list[dict[str, torch.Tensor]]:
    return [initial_weights(r, FEATURES, CLASSES, np.random.SeedSequence(k)) for k in range(MODELS)]


def everybody(graph: Data) -> Query:
    return Query(torch.arange(NODES), graph.edge_index)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("induced", [False, True])
def test_each_model_is_as_if_trained_alone(
    graph: Data, members: torch.Tensor, architecture: str, induced: bool
) -> None:
    r = recipe(architecture, drop_lr_at=0.6)
    begin = first_weights(r)
    trained = train_models(TrainingTask(graph, members, r, CLASSES, induced), [everybody(graph)], SEED, first=begin)
    for k in range(MODELS):
        expected = alone(r, graph, members[k], begin[k], induced)
        assert torch.allclose(trained.answers[0][k], expected, atol=1e-4)


@pytest.mark.parametrize("architecture", ["gcn", "sgc", "sage", "mlp"])
def test_kernels_and_batches_agree(graph: Data, members: torch.Tensor, architecture: str) -> None:
    from gaudit.targets.models.batched_models import batches

    r = recipe(architecture)
    task, begin = TrainingTask(graph, members, r, CLASSES, induced=True), first_weights(r)
    queries = [
        everybody(graph),
        Query(torch.arange(20), None),
        Query(torch.arange(30), graph.edge_index, apart=True),
    ]
    kernels = train_models(task, queries, SEED, first=begin, keep_weights=True)
    coins = [np.random.SeedSequence(k) for k in range(MODELS)]
    for k, (answers, epochs, weights) in enumerate(batches(task, queries, begin, coins, "cpu", 1)):
        assert epochs == r.epochs
        for mine, theirs in zip(kernels.answers, answers, strict=True):
            assert torch.allclose(mine[k], theirs, atol=1e-4)
        for name, weight in weights.items():
            assert torch.allclose(kernels.weights[name][k], weight, atol=1e-4)


@pytest.mark.parametrize("architecture", ["gcn", "sage", "mlp"])
@pytest.mark.parametrize("hidden", [33, 50])
def test_panels_and_tiles_change_nothing(
    graph: Data, members: torch.Tensor, architecture: str, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Widths of three narrow panels and of two wide ones, and tiles of some twenty nodes."""
    from gaudit.targets.models import compiled_models

    monkeypatch.setattr(compiled_models, "TILE_ENTRIES", 3)
    r = recipe(architecture, hidden=hidden, epochs=20)  # later a relu may fall on either side by rounding
    begin = first_weights(r)
    trained = train_models(TrainingTask(graph, members, r, CLASSES), [everybody(graph)], SEED, first=begin)
    for k in range(MODELS):
        expected = alone(r, graph, members[k], begin[k], induced=False)
        assert torch.allclose(trained.answers[0][k], expected, atol=1e-4)


@pytest.mark.parametrize("architecture", ["gcn", "sgc", "sage", "mlp"])
@pytest.mark.parametrize("features", [1, 5, 16, 43, 300])
def test_dense_features_are_multiplied_as_they_are(
    graph: Data, members: torch.Tensor, architecture: str, features: int
) -> None:
    """Beside autograd on the same rows; tiles of eight, four and one of them, more than one block of nodes."""
    from gaudit.targets.models.batched_models import batches

    data = graph.clone()
    data.x = torch.randn(NODES, features, generator=torch.Generator().manual_seed(4)) / features**0.5
    r = recipe(architecture, hidden=33, epochs=10)
    begin = [initial_weights(r, features, CLASSES, np.random.SeedSequence(k)) for k in range(MODELS)]
    for induced in (False, True):
        task = TrainingTask(data, members, r, CLASSES, induced=induced)
        kernels = train_models(task, [everybody(data)], SEED, first=begin, keep_weights=True)
        coins = [np.random.SeedSequence(0)] * MODELS
        for k, (answers, _, weights) in enumerate(batches(task, [everybody(data)], begin, coins, "cpu", 10**9)):
            assert torch.allclose(kernels.answers[0][k], answers[0], atol=1e-4)
            assert all(torch.allclose(kernels.weights[n][k], w, atol=1e-4) for n, w in weights.items())


def test_dense_features_are_not_copied(graph: Data) -> None:
    from gaudit.targets.models.compiled_models import Sight, _features

    x = torch.randn(NODES, 24)
    sight = Sight.of(_features(x), graph.edge_index, recipe("gcn"))
    for matrix in (sight.compiled[0], sight.turned(32)[0]):
        assert np.shares_memory(matrix.value, x.numpy())
    words = Sight.of(_features(graph.x), graph.edge_index, recipe("gcn"))
    assert len(words.compiled[0].value) == int((graph.x != 0).sum())


@pytest.mark.parametrize("classes", [2, 16, 17, 40])
def test_any_number_of_classes(graph: Data, members: torch.Tensor, classes: int) -> None:
    from gaudit.targets.models.batched_models import batches

    data = graph.clone()
    data.y = torch.arange(NODES) % classes
    r = recipe("gcn", hidden=5, epochs=20)
    begin = [initial_weights(r, FEATURES, classes, np.random.SeedSequence(k)) for k in range(MODELS)]
    task = TrainingTask(data, members, r, classes)
    kernels = train_models(task, [everybody(data)], SEED, first=begin)
    coins = [np.random.SeedSequence(0)] * MODELS
    for k, (answers, _, _) in enumerate(batches(task, [everybody(data)], begin, coins, "cpu", 10**9)):
        assert torch.allclose(kernels.answers[0][k], answers[0], atol=1e-4)


@pytest.mark.parametrize("architecture", ["gcn", "gat"])
def test_numbers_depend_on_neither_workers_nor_memory(
    graph: Data, members: torch.Tensor, architecture: str
) -> None:
    task = TrainingTask(graph, members, recipe(architecture, dropout=0.5), CLASSES)
    one = train_models(task, [everybody(graph)], SEED, workers=1, memory=1)
    other = train_models(task, [everybody(graph)], SEED, workers=2, memory=10**9)
    assert torch.allclose(one.answers[0], other.answers[0], atol=1e-5)
    assert not torch.allclose(one.answers[0][0], one.answers[0][1], atol=1e-2)


@pytest.mark.parametrize("architecture", ["gcn", "gat"])
def test_dropout_has_its_rate_and_keeps_the_mean(architecture: str) -> None:
    """With one epoch and a tiny step nothing but the gradient's noise shows: accuracy on training nodes stays."""
    rng = np.random.default_rng(3)
    y = torch.from_numpy(rng.integers(0, 2, 400))
    x = F.one_hot(y, 2).float().repeat(1, 8) * torch.from_numpy((rng.random((400, 16)) < 0.7).astype(np.float32))
    data = Data(x=x, y=y, edge_index=torch.zeros((2, 0), dtype=torch.long))
    members = torch.ones(1, 400, dtype=torch.bool)
    r = recipe(architecture, dropout=0.75, epochs=60, hidden=12)
    trained = train_models(TrainingTask(data, members, r, 2), [Query(torch.arange(400), None)], SEED)
    assert (trained.answers[0][0].argmax(1) == y).float().mean() > 0.95


def test_compiled_dropout_keeps_the_stated_share() -> None:
    from gaudit.targets.models.kernels import fill_random, relu_and_drop

    size, state = 80_000, np.random.SeedSequence(0).generate_state(4, np.uint64)
    for dropped in (64, 128, 250):
        words = np.zeros(size // 8, np.uint64)
        fill_random(state, words)
        hidden = np.ones(size, np.float32)
        relu_and_drop(hidden, words.view(np.uint8), dropped)
        share = dropped / 256
        assert abs((hidden == 0).mean() - share) < 4 * np.sqrt(share * (1 - share) / size)
        assert np.allclose(hidden[hidden > 0], 1 / (1 - share))


@pytest.mark.parametrize("architecture", ["gcn", "gat"])
def test_early_stopping_is_per_model_and_keeps_the_best(
    graph: Data, members: torch.Tensor, architecture: str
) -> None:
    validation = torch.zeros(NODES, dtype=torch.bool)
    validation[::3] = True
    r = recipe(architecture, epochs=200, every=5, patience=3, lr=0.05)
    begin = first_weights(r)
    task = TrainingTask(graph, members & ~validation, r, CLASSES, validation=validation)
    stopped = train_models(task, [everybody(graph)], SEED, first=begin)
    assert bool((stopped.epochs < 200).all())
    right = (stopped.answers[0].argmax(2) == graph.y)[:, validation].sum(1)
    for k in range(MODELS):
        looks = []
        for epoch in range(5, int(stopped.epochs[k]) + 1, 5):
            upto = recipe(architecture, epochs=epoch, lr=0.05)
            alone_ = alone(upto, graph, task.members[k], begin[k], induced=False)
            looks.append(int((alone_.argmax(1) == graph.y)[validation].sum()))
        assert abs(int(right[k]) - max(looks)) <= 1
        assert int(stopped.epochs[k]) == 5 * (int(np.argmax(looks)) + 1 + 3)


def test_bad_tasks_are_refused(graph: Data, members: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="members must be"):
        TrainingTask(graph, members[:, :-1], recipe("gcn"), CLASSES)
    with pytest.raises(Exception, match="no member"):
        TrainingTask(graph, torch.zeros_like(members), recipe("gcn"), CLASSES)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_trained_models_answer_again(graph: Data, members: torch.Tensor, architecture: str) -> None:
    task = TrainingTask(graph, members, recipe(architecture, epochs=10), CLASSES)
    blank = torch.zeros_like(graph.x)
    queries = [everybody(graph), Query(torch.arange(9), graph.edge_index, apart=True), Query(torch.arange(9), None)]
    trained = train_models(task, queries, SEED, keep_weights=True)
    again = ask_models(task, [*queries, Query(torch.arange(9), None, x=blank)], trained.weights)
    for before, after in zip(trained.answers, again, strict=False):
        assert torch.allclose(before, after, atol=1e-5)
    assert torch.allclose(again[3], again[3][:, :1].expand_as(again[3]), atol=1e-6)  # nothing tells them apart

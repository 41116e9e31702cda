"""Classifiers of whole graphs answer as PyG's layers do, and are trained as a plain loop trains them."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, GINConv, global_add_pool, global_mean_pool

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.graphs.collection import by_graph
from gaudit.targets.classification.graph_classifier import task_of
from gaudit.targets.models.graph_recipe import GraphRecipe
from gaudit.targets.models.model_ensemble import ask_models, train_models
from gaudit.targets.models.training_config import initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask

SEED = np.random.SeedSequence(5)
ARCHITECTURES = ["gin", "gcn"]


@pytest.fixture(scope="module")
def data():
    return forty_graphs()


def task(data, architecture, models=3, **other):
    recipe = GraphRecipe(architecture=architecture, hidden=8, epochs=12, lr=0.01, **other)
    one = task_of(data, torch.ones(40, dtype=torch.bool), recipe)
    members = torch.rand(models, 40, generator=torch.Generator().manual_seed(0)) < 0.5
    return TrainingTask(one.data, members, recipe, one.classes)


def linear(weight, bias):
    made = nn.Linear(*weight.shape)
    made.weight, made.bias = nn.Parameter(weight.t().clone()), nn.Parameter(bias.clone())
    return made


class Theirs(nn.Module):
    """The same model of PyG's layers."""

    def __init__(self, recipe, weights):
        super().__init__()
        self.gin, self.layers = recipe.architecture == "gin", nn.ModuleList()
        for k in range(1, recipe.layers + 1):
            w, b = weights[f"w{k}"], weights[f"b{k}"]
            if self.gin:
                inner = nn.Sequential(linear(w, b), nn.ReLU(), linear(weights[f"v{k}"], weights[f"c{k}"]))
                given = deepcopy(inner.state_dict())
                self.layers.append(GINConv(inner))  # which draws anew
                inner.load_state_dict(given)
            else:
                layer = GCNConv(*w.shape)
                layer.lin.weight, layer.bias = nn.Parameter(w.t().clone()), nn.Parameter(b.clone())
                self.layers.append(layer)
        self.out = linear(weights["w"], weights["b"])

    def forward(self, batch):
        h = batch.x
        for layer in self.layers:
            h = layer(h, batch.edge_index).relu()
        pool = global_add_pool if self.gin else global_mean_pool
        return self.out(pool(h, batch.batch))


def batch_of(data, graphs):
    """Some graphs as PyG puts them together, one by one."""
    found = []
    for graph in graphs.tolist():
        nodes = (data.graph_of == graph).nonzero().flatten()
        one = data.subgraph(nodes)
        found.append(Data(x=one.x, edge_index=one.edge_index, y=one.y[:1]))
    return next(iter(DataLoader(found, batch_size=len(found))))


def first_weights(asked):
    count = len(asked.members)
    return [initial_weights(asked.recipe, 3, 2, np.random.SeedSequence(k)) for k in range(count)]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_answers_are_those_of_pygs_layers(data, architecture):
    asked = task(data, architecture)
    models = first_weights(asked)
    stacked = {name: torch.stack([m[name] for m in models]) for name in models[0]}
    graphs = torch.tensor([7, 3, 39, 0])
    (told,) = ask_models(asked, [Query(graphs, asked.data.edge_index)], stacked)
    batch = batch_of(data, graphs)
    for ours, weights in zip(told, models, strict=True):
        assert torch.allclose(ours, Theirs(asked.recipe, weights)(batch), atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_training_is_that_of_a_plain_loop(data, architecture):
    asked = task(data, architecture, weight_decay=1e-3)
    models = first_weights(asked)
    found = train_models(asked, [], SEED, first=models, keep_weights=True, workers=2).weights
    for k, first in enumerate(models):
        plain, batch = Theirs(asked.recipe, first), batch_of(data, asked.members[k].nonzero().flatten())
        adam = torch.optim.Adam(plain.parameters(), lr=asked.recipe.lr, weight_decay=asked.recipe.weight_decay)
        for _ in range(asked.recipe.epochs):
            adam.zero_grad()
            F.cross_entropy(plain(batch), batch.y).backward()
            adam.step()
        assert torch.allclose(found["w"][k], plain.out.weight.t(), atol=1e-3)
        assert not torch.allclose(first["w"], plain.out.weight.t(), atol=2e-2)


def test_a_graph_answers_for_itself_alone(data):
    """Other graphs' features, and the labels of whoever is no member, change nothing."""
    asked = task(data, "gin")
    query = Query(torch.tensor([4]), asked.data.edge_index)
    trained = train_models(asked, [query], SEED, keep_weights=True)
    other = Data(**asked.data.to_dict())
    other.x = torch.where((data.graph_of == 4)[:, None], other.x, other.x + 1)
    moved = TrainingTask(other, asked.members, asked.recipe, 2)
    (told,) = ask_models(moved, [query], trained.weights)
    assert torch.allclose(told, trained.answers[0], atol=1e-6)

    other = Data(**asked.data.to_dict())
    outside = ~asked.members[0]
    other.y = torch.where(outside, 1 - other.y, other.y)
    other.x = torch.where(outside[data.graph_of][:, None], -other.x, other.x)
    again = train_models(TrainingTask(other, asked.members[:1], asked.recipe, 2), [], SEED, keep_weights=True)
    assert all(torch.equal(again.weights[name][0], weight[0]) for name, weight in trained.weights.items())


def test_ways_to_ask(data):
    """With other features, without edges, and apart: no edge leads from a member to another graph anyway."""
    asked, graphs = task(data, "gin"), torch.arange(40)
    edges = asked.data.edge_index
    queries = [Query(graphs, edges), Query(graphs, edges, apart=True), Query(graphs, None)]
    changed = Query(graphs, edges, x=2 * asked.data.x)
    full, apart, alone, doubled = train_models(asked, [*queries, changed], SEED).answers
    assert torch.equal(full, apart)
    assert not torch.allclose(full, alone)
    assert not torch.allclose(full, doubled)


def test_dropout_has_its_own_coins(data):
    asked = task(data, "gin", dropout=0.5)
    one, other = (train_models(asked, [], SEED, keep_weights=True).weights for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
    without = train_models(task(data, "gin"), [], SEED, keep_weights=True).weights
    assert not torch.allclose(one["w"], without["w"])


def test_members_are_graphs(data):
    with pytest.raises(ValueError, match=r"members must be \[K, 40\]"):
        task_of(data, torch.ones(data.num_nodes, dtype=torch.bool), GraphRecipe())
    assert by_graph(data, "y").shape == (40,)

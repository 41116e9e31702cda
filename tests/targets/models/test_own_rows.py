"""Answers to a row that one node submits, against a forward pass for each node."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.audit.conformance.small_graphs import sixty_nodes
from gaudit.errors import InputError
from gaudit.targets.models import own_rows
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.own_rows import answers_to_own_rows, hidden_rows
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask

ARCHITECTURES = ("gcn", "sage", "mlp")


def made(architecture: str, data: Data | None = None):
    data = sixty_nodes() if data is None else data
    recipe = TrainingConfig(architecture=architecture, hidden=8)
    weights = initial_weights(recipe, 5, 3, np.random.SeedSequence(1))
    return TrainingTask(data, torch.ones(1, data.num_nodes, dtype=torch.bool), recipe, 3), weights


def asked(task, weights, x):
    stacked = {name: weight[None] for name, weight in weights.items()}
    everybody = torch.arange(task.data.num_nodes)
    (logits,) = ask_models(task, [Query(everybody, task.data.edge_index, x=x)], stacked)
    return logits[0].softmax(1)


@pytest.mark.parametrize("at_once", [1, 50, 1 << 17])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_node_is_answered_as_if_it_alone_had_changed(architecture, at_once, monkeypatch):
    monkeypatch.setattr(own_rows, "AT_ONCE", at_once)
    task, weights = made(architecture)
    values = torch.tensor([0.7, -2.0])
    found = answers_to_own_rows(task, weights, torch.tensor([1, 3]), values)
    for node in range(60):
        x = task.data.x.clone()
        x[node, [1, 3]] = values
        torch.testing.assert_close(found[node], asked(task, weights, x)[node])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_nodes_without_neighbours_are_answered_too(architecture):
    data = sixty_nodes()
    data.edge_index = data.edge_index[:, (data.edge_index >= 20).all(0)]
    task, weights = made(architecture, data)
    found = answers_to_own_rows(task, weights, torch.tensor([0]), torch.tensor([5.0]))
    for node in (0, 19, 20, 59):
        x = data.x.clone()
        x[node, 0] = 5
        torch.testing.assert_close(found[node], asked(task, weights, x)[node])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_hidden_rows_lead_to_the_answers(architecture):
    task, weights = made(architecture)
    rows = hidden_rows(task, weights)
    step = torch.from_numpy(own_rows.TwoLayers(task, weights).step.toarray())
    logits = step @ (rows @ weights["w2"]) + weights["b2"] + (rows @ weights["r2"] if "r2" in weights else 0)
    assert bool((rows >= 0).all())
    torch.testing.assert_close(logits.softmax(1), asked(task, weights, task.data.x))


@pytest.mark.parametrize("architecture", ["gat", "sgc"])
def test_models_without_such_a_layer_are_refused(architecture):
    task, weights = made(architecture)
    with pytest.raises(InputError, match=f"not of '{architecture}'"):
        hidden_rows(task, weights)


def test_edges_that_go_one_way_are_refused():
    data = sixty_nodes()
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    task, weights = made("gcn", data)
    with pytest.raises(ValueError, match="both ways"):
        answers_to_own_rows(task, weights, torch.tensor([0]), torch.tensor([5.0]))

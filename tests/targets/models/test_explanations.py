"""Explanations against autograd, node by node."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.targets.models.explanations import explanations
from gaudit.targets.models.propagation import gcn_operator, mean_operator
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import TrainingTask

NODES, FEATURES, CLASSES = 12, 5, 3


def task_of(**recipe):
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((NODES, NODES)) < 0.2, 1)
    data = Data(
        x=torch.from_numpy(rng.normal(size=(NODES, FEATURES)).astype(np.float32)),
        y=torch.arange(NODES) % CLASSES,
        edge_index=torch.from_numpy(np.stack(np.nonzero(upper | upper.T))),
    )
    made = TrainingConfig(hidden=8, **recipe)
    weights = initial_weights(made, FEATURES, CLASSES, np.random.SeedSequence(1))
    return TrainingTask(data, torch.ones(1, NODES, dtype=torch.bool), made, CLASSES), weights


def logits_of(task, w, x):
    """The three models as their papers have them, dense."""
    edges, kind = task.data.edge_index, task.recipe.architecture
    step = {"gcn": gcn_operator, "sage": mean_operator}.get(kind)
    near = torch.eye(NODES) if step is None else step(edges, NODES).to_dense()
    hidden = near @ x @ w["w1"] + w["b1"] + (x @ w["r1"] if kind == "sage" else 0)
    hidden = hidden.relu()
    return near @ hidden @ w["w2"] + w["b2"] + (hidden @ w["r2"] if kind == "sage" else 0)


@pytest.mark.parametrize("architecture", ["gcn", "sage", "mlp"])
def test_explanations_are_gradients_by_a_mask_on_all_rows(architecture):
    task, weights = task_of(architecture=architecture)
    found = explanations(task, weights)
    for node in range(NODES):
        mask = torch.ones(FEATURES, requires_grad=True)
        logits = logits_of(task, weights, task.data.x * mask)[node]
        F.cross_entropy(logits[None], logits.argmax()[None]).backward()
        torch.testing.assert_close(found[node], mask.grad.abs(), atol=1e-5, rtol=1e-4)


def test_attention_is_not_explained():
    task, weights = task_of(architecture="gat", heads=2)
    with pytest.raises(InputError, match="GraphSAGE"):
        explanations(task, weights)

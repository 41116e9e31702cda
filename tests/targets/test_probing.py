"""What a service is asked with changed features: counted, and checked against whole forward passes."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch_geometric.data import Data

from gaudit.graphs.pair_codes import codes, ends
from gaudit.targets.channel import Channel
from gaudit.targets.messages import PROBED
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.scaled_rows import scaled_answers
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.models.training_task import Query, TrainingTask
from gaudit.targets.probing import ProbingSettings, probe
from gaudit.targets.target import no_progress

NODES, CLASSES = 12, 3
RECIPES = ({}, {"architecture": "sage"}, {"architecture": "mlp"}, {"architecture": "gat", "heads": 2})
PAIRS = codes(np.arange(6), np.arange(6) + 3, NODES)


def task_of(**recipe) -> tuple[TrainingTask, dict[str, torch.Tensor]]:
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((NODES, NODES)) < 0.15, 1)
    data = Data(
        x=torch.from_numpy(rng.normal(size=(NODES, 5)).astype(np.float32)),
        y=torch.arange(NODES) % CLASSES,
        edge_index=torch.from_numpy(np.stack(np.nonzero(upper | upper.T))),
    )
    made = TrainingConfig(hidden=8, **recipe)
    weights = initial_weights(made, 5, CLASSES, np.random.SeedSequence(1))
    return TrainingTask(data, torch.ones(1, NODES, dtype=torch.bool), made, CLASSES), weights


@pytest.mark.parametrize("recipe", [*RECIPES, {"architecture": "sgc"}, {"architecture": "sgc", "hops": 3}])
@pytest.mark.parametrize("factor", [0.0, 1.5, 20.0])
def test_answers_are_those_of_a_whole_forward_pass(recipe, factor):
    task, weights = task_of(**recipe)
    answer, every = scaled_answers(task, weights), torch.arange(NODES)
    for node in range(NODES):
        x = task.data.x.clone()
        x[node] *= factor
        stacked = {name: weight[None] for name, weight in weights.items()}
        (whole,) = ask_models(task, [Query(every, task.data.edge_index, x=x)], stacked)
        torch.testing.assert_close(answer(node, factor, every.numpy()), whole[0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(answer(node, factor, np.array([3, 7])), whole[0][[3, 7]], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("recipe", RECIPES)
def test_nodes_beyond_two_hops_are_told_the_same_bits(recipe):
    task, weights = task_of(**recipe)
    step = torch.eye(NODES)
    if task.recipe.architecture != "mlp":
        step[task.data.edge_index[1], task.data.edge_index[0]] = 1
    near, every = (step @ step) > 0, np.arange(NODES)
    answer = scaled_answers(task, weights)
    before = answer(0, 1.0, every)
    for node in every:
        moved = (answer(node, 3.0, every) != before).any(1)
        assert bool(moved[node])
        assert not bool((moved & ~near[:, node]).any())


def probed(seed: int = 0, **settings) -> list:
    task, weights = task_of()
    channel = Channel()
    made = ProbingSettings(**settings)
    asked = ends(PAIRS, NODES)
    probe(channel, scaled_answers(task, weights), asked, NODES, made, np.random.SeedSequence(seed), 1, no_progress)
    return list(channel.transcript.seen_by("public").carrying(PROBED))


@pytest.mark.parametrize(("settings", "queries"), [({}, 13), ({"nodes": 4}, 5), ({"repeats": 3}, 39)])
def test_each_query_is_a_message(settings, queries):
    sent = probed(**settings)
    assert len(sent) == queries
    changed = [m.tensors["nodes"][m.tensors["factors"] != 1].tolist() for m in sent]
    assert max(map(len, changed)) == 1
    nodes = [c[0] for c in changed if c]
    assert len(set(nodes)) == settings.get("nodes", NODES)
    assert len(nodes) == len(set(nodes)) * settings.get("repeats", 1)


def test_a_query_asks_about_the_changed_node_and_those_in_question_with_it():
    low, high = ends(PAIRS, NODES)
    first, *others = probed()
    assert first.tensors["nodes"].tolist() == list(range(NODES))
    for message in others:
        (node,) = message.tensors["nodes"][message.tensors["factors"] != 1].tolist()
        expected = {node, *high[low == node].tolist(), *low[high == node].tolist()}
        assert message.tensors["nodes"].tolist() == sorted(expected)


def test_a_smaller_budget_asks_the_first_queries_of_a_larger_one():
    few, many = probed(nodes=3), probed(nodes=9)
    assert all(torch.equal(a.tensors["nodes"], b.tensors["nodes"]) for a, b in zip(few, many, strict=False))


def test_a_factor_that_changes_nothing_is_refused():
    with pytest.raises(ValidationError, match="changes nothing"):
        ProbingSettings(factor=1)

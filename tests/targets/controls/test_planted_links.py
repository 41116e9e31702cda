"""The control of attacks on links gives its links away, and nothing else tells them."""

import numpy as np
import pytest
import torch

from gaudit.audit.games.blind import blind_baselines
from gaudit.audit.statistics.metrics import auc, auc_finding
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.pair_codes import ends
from gaudit.registry import find, registered
from gaudit.targets.controls.planted_links import RECIPE, PlantedLinks
from gaudit.targets.defense import Defense
from gaudit.targets.messages import GLOBAL_KIND, GRADIENT_KIND, UPDATE_KIND, posteriors_kind
from gaudit.targets.models.model_ensemble import ask_models
from gaudit.targets.models.training_task import Query, TrainingTask


@pytest.fixture(scope="module")
def graph():
    return load_dataset("planted-links")


@pytest.fixture(scope="module")
def run(graph):
    return PlantedLinks()(graph, Defense(), np.random.SeedSequence(0), lambda message: True)


def sent(run, kind):
    return run.transcript.seen_by("server").last(kind).tensors


def cosine(rows: torch.Tensor, run) -> float:
    secrets = run.secrets["edge-presence"]
    unit = torch.nn.functional.normalize(rows, dim=1)
    low, high = ends(secrets.subjects, len(rows))
    return auc(secrets.truth, (unit[low] * unit[high]).sum(1).numpy())


def test_all_pairs_are_in_question(graph, run):
    secrets = run.secrets["edge-presence"]
    assert secrets.truth.sum() == 30 * 6 == graph.edge_index.shape[1] // 2
    assert secrets.asked.sum() == 120 * 119 // 2


def test_the_first_layer_tells_the_links(graph, run):
    assert cosine(torch.relu(graph.x @ sent(run, UPDATE_KIND)["w1"]), run) > 0.99


def test_posteriors_tell_the_links(run):
    table = run.transcript.seen_by("public").last(posteriors_kind("full")).tensors
    assert cosine(table["posteriors"] - table["posteriors"].mean(1, keepdim=True), run) > 0.99


def test_the_public_graph_tells_nothing_of_the_links(graph, run):
    secrets = run.secrets["edge-presence"]
    for name, judged in blind_baselines(graph, secrets, np.random.SeedSequence(0)).items():
        found = auc_finding([judged])
        assert found.estimate < 0.65, name  # a few cliques share a word or a class by chance


def test_the_gradient_is_that_of_the_graph(graph, run):
    first, got = sent(run, GLOBAL_KIND), sent(run, GRADIENT_KIND)
    task = TrainingTask(graph, graph.train_mask[None], RECIPE, 4)
    stacked = {name: w[None] for name, w in first.items()}
    (logits,) = ask_models(task, [Query(torch.arange(120), graph.edge_index)], stacked)
    error = logits[0].softmax(1) - torch.nn.functional.one_hot(graph.y, 4)
    expected = error[graph.train_mask].mean(0)
    assert torch.allclose(got["b2"], expected, atol=1e-5)


def test_same_seed_same_leak(graph, run):
    again = PlantedLinks()(graph, Defense(), np.random.SeedSequence(0), lambda message: True)
    assert torch.equal(sent(again, UPDATE_KIND)["w1"], sent(run, UPDATE_KIND)["w1"])


@pytest.mark.parametrize("name", sorted(set(registered("defenses")) - {"none"}))
def test_it_is_not_defended(graph, name):
    with pytest.raises(InputError, match="a control that leaks on purpose is not defended"):
        PlantedLinks()(graph, find("defenses", name)(), np.random.SeedSequence(0), lambda message: True)

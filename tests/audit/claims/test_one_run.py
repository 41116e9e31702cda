"""One run with many canaries: a training that lies about its noise is found out, honest ones are not accused."""

from dataclasses import replace

import pytest
import torch
from scipy.stats import binom
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.audit.claims.one_run import check_training
from gaudit.errors import InputError
from gaudit.graphs.checks import check_graph
from gaudit.graphs.collection import collection_of
from gaudit.registry import find
from gaudit.targets.private_training.dp_graph_classifier import DPGraphClassifier
from gaudit.targets.private_training.dp_mlp import DPMLP

NODES, CLASSES = 400, 4
LONG = {"split": "dataset", "steps": 120, "hidden": 64, "project": 0, "lr": 0.01, "clip": 10.0}
QUICK = {**LONG, "steps": 8}


class Boastful(DPMLP):
    """Promises epsilon 0.5 whatever it does."""

    name = "boastful"

    def trained(self, training):
        found = super().trained(training)
        return replace(found, guarantee=replace(found.guarantee, epsilon=0.5))


class BoastfulOfGraphs(DPGraphClassifier):
    """Promises epsilon 0.5 to graphs whatever it does."""

    name = "boastful-of-graphs"

    def trained(self, task, seed, progress):
        found = super().trained(task, seed, progress)
        return replace(found, promise=replace(found.promise, epsilon=0.5))


@pytest.fixture(scope="module")
def collection():
    """Pairs of nodes whose features tell every graph from every other."""
    torch.manual_seed(0)
    x = F.normalize(torch.randn(2 * NODES, 200), dim=1) * 3
    pairs = torch.arange(2 * NODES).view(-1, 2).t()
    return collection_of(x, pairs, torch.arange(NODES).repeat_interleave(2), torch.arange(NODES) % CLASSES, "heart")


def of_graphs(kind, epsilon, epochs=60, **settings):
    recipe = {"architecture": "gcn", "layers": 1, "hidden": 64, "epochs": epochs, "lr": 0.01}
    return kind(split="dataset", epsilon=epsilon, rate=1.0, clip=10.0, recipe=recipe, at_once=256, **settings)


@pytest.fixture(scope="module")
def graph():
    """Features that tell every node from every other, so that labels can be learned by heart."""
    torch.manual_seed(0)
    y = torch.arange(NODES) % CLASSES
    x = F.normalize(torch.randn(NODES, 300), dim=1) * 3
    edges = torch.randint(NODES, (2, 800))
    masks = {name: torch.arange(NODES) % 3 == k for k, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    return check_graph(Data(x=x, y=y, edge_index=edges, **masks), "heart")


def checked(data, target, seed=0, canaries=200, guesses=80, **asked):
    return check_training(target, data, canaries, guesses, seed, **asked)


def test_planted_lie_about_the_noise_is_refuted(graph):
    found = checked(graph, Boastful(**LONG, epsilon=1e6))
    assert found.refuted
    assert found.measured.low > 1
    assert found.measured.validity == "valid"


@pytest.mark.dear
def test_honest_trainings_are_not_accused(graph):
    """40 checks at 95 %: more than six of them are false alarms once in a thousand times."""
    target = DPMLP(**QUICK, epsilon=0.5)
    refuted = sum(checked(graph, target, seed, canaries=100, guesses=40).refuted for seed in range(40))
    assert refuted <= binom.ppf(0.999, 40, 0.05)


def test_planted_lie_to_whole_graphs_is_refuted(collection):
    """The same training, which is honest about its noise, is not."""
    found = checked(collection, of_graphs(BoastfulOfGraphs, 1e6))
    assert found.refuted
    assert found.measured.low > 1
    honest = checked(collection, of_graphs(DPGraphClassifier, 0.5))
    assert (honest.guarantee.unit, honest.refuted) == ("graph", False)


def test_honest_trainings_on_graphs_are_not_accused(collection):
    """20 checks at 95 %: more than five of them are false alarms once in a thousand times."""
    target = of_graphs(DPGraphClassifier, 0.5, epochs=5)
    refuted = sum(checked(collection, target, seed, canaries=100, guesses=40).refuted for seed in range(20))
    assert refuted <= binom.ppf(0.999, 20, 0.05)


def test_who_is_about_graphs_takes_a_collection_alone(graph, collection):
    with pytest.raises(InputError, match="about graphs, and the data are not"):
        checked(graph, of_graphs(DPGraphClassifier, 1.0))
    with pytest.raises(InputError, match="about nodes, and the data are not"):
        checked(collection, DPMLP(**QUICK))
    with pytest.raises(InputError, match="promises no differential privacy for graphs: use dp-graph"):
        checked(collection, find("targets", "graph-classifier")(split="dataset"))


def test_without_noise_to_speak_of_much_is_measured(graph):
    honest, other = DPMLP(**LONG, epsilon=0.1), Boastful(**LONG, epsilon=1e6)
    measured = [checked(graph, target).measured.low for target in (honest, other)]
    assert measured[0] < 0.5
    assert measured[1] > 1


@pytest.mark.parametrize("name", ["dp-mlp", "dp-gnn", "gap-ndp"])
def test_a_label_is_one_record_of_all_of_them(graph, name):
    found = checked(graph, find("targets", name)(split="dataset", steps=3, hidden=4, epsilon=1.0))
    assert (float(found.guarantee.epsilon), found.guarantee.unit) == (1.0, "node")
    assert not found.refuted


def test_the_same_seed_says_the_same(graph):
    target = DPMLP(**QUICK, epsilon=2.0)
    assert checked(graph, target, 3).json() == checked(graph, target, 3).json()
    assert checked(graph, target, 3).json() != checked(graph, target, 4).json()


@pytest.mark.parametrize(
    ("name", "settings", "asked", "said"),
    [
        ("gap-edp", {}, {}, "promises no differential privacy for nodes"),
        ("fedavg", {"clients": 1, "rounds": 1}, {}, "promises no differential privacy for nodes"),
        ("gcond", {}, {}, "promises no differential privacy for nodes"),
        ("dp-mlp", {"epsilon": 8}, {}, "would show epsilon 3.2"),
        ("dp-mlp", {}, {"level": 1.5}, "level of confidence"),
        ("dp-mlp", {}, {"canaries": 10, "guesses": 20}, "no more than canaries"),
        ("dp-mlp", {}, {"canaries": 300}, "more than the 240 training nodes"),
        ("dp-mlp", {"split": "60/20/20"}, {}, "split=dataset"),
    ],
)
def test_what_cannot_be_checked_is_one_line(graph, name, settings, asked, said):
    own = {} if name == "gcond" else {"split": "dataset", **settings}
    with pytest.raises(InputError) as caught:
        checked(graph, find("targets", name)(**own), **asked)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)

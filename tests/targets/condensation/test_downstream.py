from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.condensation.downstream import ARCHITECTURES, GraphEdges, Share, WholeGraph, links_of, transfer
from gaudit.targets.condensation.evaluation import EvaluationSettings
from gaudit.targets.condensation.released import transferred
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from gaudit.targets.target import no_progress

CLASSES = 3


def rows(y, generator):
    """Features that tell the class, with noise."""
    return torch.eye(CLASSES).repeat(1, 4)[y] + 0.3 * torch.randn(len(y), 4 * CLASSES, generator=generator)


@pytest.fixture(scope="module")
def graph():
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(90) % CLASSES
    same = (y[:, None] == y[None, :]) & (torch.rand(90, 90, generator=generator) < 0.1)
    edges = (same | same.t()).fill_diagonal_(False).nonzero().t()
    return WholeGraph(rows(y, generator), edges, (share(y, 0), share(y, 45)))


def share(y, first):
    """Of 45 nodes, 9 to tune on, 12 to choose by, 24 to be tested on."""
    ids = torch.arange(first, first + 45)
    return Share(*((part, y[part]) for part in ids.split([9, 12, 24])))


@pytest.fixture(scope="module")
def release():
    y = torch.arange(9) // CLASSES
    adjacency = 0.9 * (y[:, None] == y[None, :]).float().fill_diagonal_(0)
    return CondensedGraph(rows(y, torch.Generator().manual_seed(1)), y, adjacency)


def trained(release, graph, seed=0, tune=False):
    phase = EvaluationSettings(hidden=16, epochs=60, lr=0.02, models=2, fine_tune=tune)
    return transfer(release, graph, CLASSES, phase, np.random.SeedSequence(seed), lambda done: None)


def test_every_architecture_learns_from_a_good_release(release, graph):
    found = trained(release, graph)
    assert list(found) == list(ARCHITECTURES)
    assert min(found.values()) > 0.8  # chance is a third


def test_a_release_with_shuffled_labels_teaches_nothing(release, graph):
    """Over all architectures: a single one may be chosen by validation nodes while it is still as it was drawn."""
    wrong = CondensedGraph(release.x, release.y.roll(3), release.adjacency)
    assert np.mean(list(trained(wrong, graph).values())) < 0.45


def test_the_same_seed_gives_the_same_accuracies(release, graph):
    assert trained(release, graph, 3) == trained(release, graph, 3)


@pytest.mark.dear
@pytest.mark.parametrize("tune", [False, True])
def test_test_labels_change_nothing_but_the_figures(release, graph, tune):
    """Validation nodes choose the epoch: with test labels turned by one class the same models come out.

    Of three classes each model is right for one turn: the shares of right answers add up to 1.
    """
    turned = [
        [replace(s, test=(s.test[0], (s.test[1] + turn) % CLASSES)) for s in graph.shares]
        for turn in range(CLASSES)
    ]
    found = [trained(release, replace(graph, shares=tuple(shares)), tune=tune) for shares in turned]
    for name in ARCHITECTURES:
        assert sum(one[name] for one in found) == pytest.approx(1)


@pytest.mark.dear
def test_holders_tune_each_on_its_own_labels(release, graph):
    """One of two holders calls classes by other names: untuned no model serves both, tuned each serves its own."""
    first, second = graph.shares
    renamed = [(nodes, (y + 1) % CLASSES) for nodes, y in (second.train, second.val, second.test)]
    both = replace(graph, shares=(first, Share(*renamed)))
    for one, other in zip(trained(release, both).values(), trained(release, both, tune=True).values(), strict=True):
        assert one < 0.6
        assert other > 0.7


def test_layers_without_weights_get_strong_links_only():
    adjacency = torch.tensor([[0, 0.9, 0.2], [0.9, 0, 0], [0.2, 0, 0]])
    release = CondensedGraph(torch.eye(3), torch.arange(3), adjacency)
    assert links_of(release, weighted=False).edges.tolist() == [[0, 1], [1, 0]]
    weighted = links_of(release, weighted=True)
    assert weighted.edges.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert weighted.weights.tolist() == pytest.approx([0.9, 0.2, 0.9, 0.2])


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_links_matter_to_all_but_the_perceptron(name, graph):
    torch.manual_seed(0)
    model = ARCHITECTURES[name](graph.x.shape[1], 16, CLASSES).eval()
    ones = torch.ones(graph.edges.shape[1])
    linked = model(graph.x, GraphEdges(graph.edges, ones))
    alone = model(graph.x, GraphEdges(graph.edges[:, :0], ones[:0]))
    assert torch.equal(linked, alone) == (name == "MLP")


# --- what clients hold


@pytest.fixture(scope="module")
def data(graph):
    turn = torch.arange(90) // CLASSES % 3
    masks = {name: turn == place for place, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    return Data(x=graph.x, edge_index=graph.edges, y=torch.arange(90) % CLASSES, **masks)


def held(data, clients):
    return clients_of(data, partition(data, "dirichlet", clients, 1, beta=10.0))


def told(release, data, clients, across=True):
    phase = EvaluationSettings(hidden=16, epochs=30, lr=0.02, models=1, fine_tune=False)
    return transferred(release, data, clients, phase, np.random.SeedSequence(0), no_progress, across)


def test_models_read_the_edges_that_a_defense_left(release, data):
    """Clients who dropped theirs: it does not matter which edges the graph had."""
    clients = held(data, 2)
    bare = [replace(c, edges=c.edges[:, :0], cut=c.cut[:, :0]) for c in clients]
    other = data.clone()
    other.edge_index = data.edge_index[:, :0]
    assert told(release, data, bare) == told(release, other, bare)
    assert told(release, data, bare) != told(release, data, clients)


def test_edges_between_clients_count_only_across(release, data):
    clients, one = held(data, 2), held(data, 1)
    together = told(release, data, one)
    assert told(release, data, clients) == pytest.approx(together, abs=0.04)  # sums in another order
    within = [replace(c, cut=c.cut[:, :0]) for c in clients]
    assert told(release, data, clients, across=False) == told(release, data, within)

import numpy as np
import pytest
import torch

from gaudit.targets.condensed import CondensedGraph
from gaudit.targets.downstream import ARCHITECTURES, Links, WholeGraph, links_of, transfer

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
    val = torch.arange(90) < 30
    return WholeGraph(rows(y, generator), edges, y, val, ~val)


@pytest.fixture(scope="module")
def release():
    y = torch.arange(9) // CLASSES
    adjacency = 0.9 * (y[:, None] == y[None, :]).float().fill_diagonal_(0)
    return CondensedGraph(rows(y, torch.Generator().manual_seed(1)), y, adjacency)


def trained(release, graph, seed=0):
    return transfer(
        release,
        graph,
        CLASSES,
        hidden=16,
        epochs=60,
        lr=0.02,
        weight_decay=5e-4,
        seed=np.random.SeedSequence(seed),
        progress=lambda done: None,
    )


def test_every_architecture_learns_from_a_good_release(release, graph):
    found = trained(release, graph)
    assert list(found) == list(ARCHITECTURES)
    assert min(found.values()) > 0.8  # chance is a third


def test_a_release_with_shuffled_labels_teaches_nothing(release, graph):
    wrong = CondensedGraph(release.x, release.y.roll(3), release.adjacency)
    assert max(trained(wrong, graph).values()) < 0.5


def test_the_same_seed_gives_the_same_accuracies(release, graph):
    assert trained(release, graph, 3) == trained(release, graph, 3)


def test_test_labels_change_nothing_but_the_figures(release, graph):
    """Validation nodes choose the epoch: with other test labels the same models come out."""
    other = WholeGraph(
        graph.x, graph.edges, torch.where(graph.test, (graph.y + 1) % 3, graph.y), graph.val, graph.val
    )
    same = WholeGraph(graph.x, graph.edges, graph.y, graph.val, graph.val)
    assert trained(release, other) == trained(release, same)


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
    linked = model(graph.x, Links(graph.edges, ones))
    alone = model(graph.x, Links(graph.edges[:, :0], ones[:0]))
    assert torch.equal(linked, alone) == (name == "MLP")

"""The bundled graphs: sizes, determinism, and the likeness of citations to Cora."""

import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch.nn import functional as F

from gaudit.graphs.checks import MASKS, check_graph, row_normalised
from gaudit.graphs.datasets import bundled
from gaudit.graphs.pyg import network_of_data
from gaudit.graphs.snapshots import snapshot, windowed
from gaudit.targets.models.propagation import gcn_operator

GRAPHS = {
    "citations": (2708, 7, 1433, (140, 500, 1000)),
    "digits": (1797, 10, 64, (200, 359, 718)),
    "patients": (569, 2, 30, (40, 113, 227)),
    "karate": (34, 4, 34, None),
    "planted": (450, 4, 1600, (150, 20, 150)),
}
DRAWN = {"citations", "planted"}  # with the seed, edges and all


@pytest.mark.parametrize("name", GRAPHS)
def test_sizes_and_splits(name):
    nodes, classes, width, split = GRAPHS[name]
    graph = getattr(bundled, name)()
    assert graph.x.shape == (nodes, width)
    assert int(graph.y.max()) + 1 == classes
    assert split in (None, tuple(int(graph[mask].sum()) for mask in MASKS))
    again = check_graph(graph, name)
    assert all(torch.equal(again[field], graph[field]) for field in graph.keys())  # noqa: SIM118


@pytest.mark.parametrize("name", GRAPHS)
def test_the_seed_decides(name):
    make = getattr(bundled, name)
    first, again, other = make(1), make(1), make(2)
    assert all(torch.equal(first[field], again[field]) for field in first.keys())  # noqa: SIM118
    assert not torch.equal(first.train_mask, other.train_mask)
    assert torch.equal(first.edge_index, other.edge_index) == (name not in DRAWN)


def test_torch_and_numpy_generators_are_left_alone():
    torch.manual_seed(0)
    state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    for name in GRAPHS:
        getattr(bundled, name)()
    assert torch.equal(torch.get_rng_state(), state)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002


def test_citations_appear_within_a_second():
    start = time.process_time()
    bundled.citations()
    assert time.process_time() - start < 2  # twice the promise: the machine may be busy


@pytest.mark.parametrize("seed", range(4))
def test_citations_look_like_cora(seed):
    graph = bundled.citations(seed)
    row, col = graph.edge_index
    degree = torch.bincount(row, minlength=graph.num_nodes)
    words = graph.x > 0
    assert torch.bincount(graph.y).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert graph.edge_index.shape[1] / 2 == pytest.approx(5278, rel=0.03)
    assert float((graph.y[row] == graph.y[col]).float().mean()) == pytest.approx(0.81, abs=0.03)
    assert int(degree.min()) >= 1
    assert 40 <= int(degree.max()) <= 300
    assert int(degree.median()) in (2, 3)
    assert float(words.sum(1).float().mean()) == pytest.approx(18.2, abs=0.5)


def test_neighbour_graphs_join_each_node_to_at_least_five():
    for graph in (bundled.digits(), bundled.patients()):
        assert int(torch.bincount(graph.edge_index[0]).min()) >= 5


def test_patients_are_standardised():
    x = bundled.patients().x
    assert torch.allclose(x.mean(0), torch.zeros(30), atol=1e-5)
    assert torch.allclose(x.std(0, correction=0), torch.ones(30), atol=1e-4)


def accuracy(graph, mixing, seed=0):
    """Test accuracy of two layers, with or without a graph, as Kipf and Welling (2017) train them."""
    generator = torch.Generator().manual_seed(seed)
    widths = (graph.x.shape[1], 16, int(graph.y.max()) + 1)
    weights = [
        torch.nn.init.xavier_uniform_(torch.empty(*shape), generator=generator).requires_grad_()
        for shape in pairwise(widths)
    ]
    biases = [torch.zeros(width, requires_grad=True) for width in widths[1:]]
    first = {"params": [weights[0], biases[0]], "weight_decay": 5e-4}
    optimiser = torch.optim.Adam([first, {"params": [weights[1], biases[1]]}], lr=0.01)
    x = row_normalised(graph.x).to_sparse_csr()

    def logits(keep):
        hidden = F.relu(mixing(x @ weights[0]) + biases[0])
        kept = torch.rand(hidden.shape, generator=generator) < keep
        return mixing((hidden * kept / keep) @ weights[1]) + biases[1]

    for _ in range(150):
        optimiser.zero_grad()
        F.cross_entropy(logits(0.5)[graph.train_mask], graph.y[graph.train_mask]).backward()
        optimiser.step()
    right = logits(1.0).argmax(1) == graph.y
    return float(right[graph.test_mask].float().mean())


def test_citations_are_as_hard_as_cora():
    graph = bundled.citations()
    operator = gcn_operator(graph.edge_index, graph.num_nodes)
    assert 0.76 <= accuracy(graph, lambda h: operator @ h) <= 0.84
    assert 0.50 <= accuracy(graph, lambda h: h) <= 0.62


def test_planted_features_are_nearly_orthogonal_and_labels_say_nothing():
    for seed in range(4):
        graph = bundled.planted(seed)
        assert (graph.x.sum(1) == 3).all()
        common = graph.x @ graph.x.T
        common.fill_diagonal_(0)
        assert float((common > 0).float().mean()) < 0.01  # 9 of 1,600 words: one pair in 178 shares one
        assert graph.edge_index.shape[1] / 2 <= 75
        row, col = graph.edge_index
        alike = int((graph.y[row] == graph.y[col]).sum()) // 2
        assert binom.ppf(1e-4, len(row) // 2, 0.25) <= alike <= binom.isf(1e-4, len(row) // 2, 0.25)
        assert max(torch.bincount(graph.y)) - min(torch.bincount(graph.y)) <= 1
        assert sorted(graph.keys()) == sorted(["x", "y", "edge_index", *MASKS])


def test_planted_members_are_drawn_without_regard_to_anything():
    """Every node is as likely a training node as any other: Binomial(200, 1/3), out of bounds once in 1000."""
    times = sum(bundled.planted(seed).train_mask.int() for seed in range(200))
    low, high = binom.ppf([0.0005 / 450, 1 - 0.0005 / 450], 200, 1 / 3)
    assert low <= int(times.min()) <= int(times.max()) <= high


def test_planted_says_nothing_by_itself():
    """What features and edges tell of the labels of other nodes is chance: Binomial(150, 1/4)."""
    graph = bundled.planted()
    operator = gcn_operator(graph.edge_index, graph.num_nodes)
    for mixing in (lambda h: operator @ h, lambda h: h):
        right = round(accuracy(graph, mixing) * 150)
        assert binom.ppf(1e-3, 150, 0.25) <= right <= binom.isf(1e-3, 150, 0.25)


def test_messages_have_times_that_the_seed_decides():
    network, again, other = (network_of_data(bundled.messages(seed)) for seed in (0, 0, 1))
    assert network.digest == again.digest != other.digest
    assert (network.nodes, len(network.events)) == (200, 1200)
    assert 0 <= network.events.time.min() < network.events.time.max() < 100 * 86_400
    assert len(np.unique(network.events.edge)) == network.size < 1200
    cut = windowed(network, 4)
    assert len({frozenset(np.unique(snapshot(cut, window).edges).tolist()) for window in range(4)}) == 4

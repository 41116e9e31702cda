"""Every node has one owner, and each way to divide keeps its promise."""

import igraph
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from gaudit.errors import InputError
from gaudit.graphs.datasets.bundled import citations, karate
from gaudit.targets.partition import METHODS, partition


@pytest.fixture(scope="module")
def graph():
    return citations()


def sizes(result):
    return torch.bincount(result.owner, minlength=result.clients)


def check(data, result, clients):
    """Every node has one owner, every client a node, and the cut edges are those with two owners."""
    assert result.clients == clients
    assert result.owner.shape == (data.num_nodes,)
    assert result.owner.dtype == torch.int64
    assert 0 <= int(result.owner.min()) <= int(result.owner.max()) < clients
    assert int(sizes(result).min()) >= 1
    owner = result.owner.tolist()
    cut = {(u, v) for u, v in data.edge_index.T.tolist() if u < v and owner[u] != owner[v]}
    assert set(map(tuple, result.cut_edges.T.tolist())) == cut
    assert result.cut_edges.shape == (2, len(cut))


@pytest.mark.parametrize("clients", [1, 2, 3, 10])
@pytest.mark.parametrize("method", METHODS)
def test_owners_and_cut_edges(graph, method, clients):
    result = partition(graph, method, clients, 0)
    check(graph, result, clients)
    assert result.method == method


@given(
    nodes=st.integers(4, 40),
    density=st.floats(0, 1),
    clients=st.integers(1, 20),
    seed=st.integers(0, 2**32),
    method=st.sampled_from(METHODS),
)
def test_any_graph_is_divided_or_refused(nodes, density, clients, seed, method):
    rng = np.random.default_rng(seed)
    edges = torch.from_numpy(np.argwhere(np.triu(rng.random((nodes, nodes)) < density, 1)).T.copy())
    y = torch.from_numpy(rng.integers(3, size=nodes))
    data = Data(x=torch.ones(nodes, 1), y=y, edge_index=to_undirected(edges, num_nodes=nodes))
    try:
        result = partition(data, method, clients, seed)
    except InputError:
        assert clients > 2 or clients > nodes / 2
    else:
        check(data, result, clients)


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_alone_decides(graph, method):
    first = partition(graph, method, 5, np.random.SeedSequence(7))
    igraph.Graph.GRG(50, 0.3)  # uses up the generator that igraph shares
    again = partition(graph, method, 5, 7)
    assert torch.equal(first.owner, again.owner)
    assert torch.equal(first.cut_edges, again.cut_edges)


def test_seeds_differ(graph):
    for method in ("dirichlet", "louvain"):
        owners = [partition(graph, method, 5, seed).owner for seed in (1, 2)]
        assert not torch.equal(*owners)


@pytest.mark.parametrize("beta", [0.5, 1.0, 10.0])
def test_dirichlet_keeps_the_least_size_and_nobody_far_above_the_rest(graph, beta):
    for seed in range(5):
        held = sizes(partition(graph, "dirichlet", 10, seed, beta))
        assert int(held.min()) >= 10
        assert int(held.max()) < graph.num_nodes / 10 + 818  # full clients get no further class


def mixture_distance(data, result):
    """Mean total variation between the classes of a client and of the graph."""
    table = torch.zeros(result.clients, 7).index_put_((result.owner, data.y), torch.ones(1), accumulate=True)
    overall = torch.bincount(data.y) / data.num_nodes
    return float((table / table.sum(1, keepdim=True) - overall).abs().sum(1).mean() / 2)


def test_a_larger_beta_makes_clients_more_alike(graph):
    results = [partition(graph, "dirichlet", 5, 0, beta) for beta in (0.3, 3, 1000)]
    distances = [mixture_distance(graph, result) for result in results]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 0.1


def test_communities_cut_few_edges_and_labels_most(graph):
    undirected = graph.edge_index.shape[1] / 2
    share = {name: partition(graph, name, 10, 0).cut_edges.shape[1] / undirected for name in METHODS}
    assert share["dirichlet"] > 0.7
    assert share["louvain"] < 0.4
    assert share["metis"] < 0.4


def test_louvain_and_metis_clients_are_of_about_one_size(graph):
    assert int(sizes(partition(graph, "louvain", 10, 0)).max()) <= 270 + 20
    assert int(sizes(partition(graph, "metis", 10, 0)).max()) <= 1.05 * 271


def test_louvain_keeps_separate_cliques_whole():
    edges = torch.tensor([(u, v) for u in range(96) for v in range(u) if u // 8 == v // 8]).T
    data = Data(x=torch.ones(96, 1), y=torch.arange(96) % 2, edge_index=to_undirected(edges))
    assert partition(data, "louvain", 3, 0).cut_edges.shape == (2, 0)


def test_a_client_without_edges_is_given_none():
    star = torch.tensor([[0] * 9, range(1, 10)])
    data = Data(x=torch.ones(10, 1), y=torch.arange(10) % 2, edge_index=to_undirected(star))
    before = data.edge_index.clone()
    for method in METHODS:
        result = partition(data, method, 5, 0)
        check(data, result, 5)
        assert torch.equal(data.edge_index, before)


def test_the_least_size_shrinks_with_tiny_graphs():
    result = partition(karate(), "dirichlet", 4, 0)
    assert int(sizes(result).min()) >= 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "louvian"}, "unknown partition method 'louvian': did you mean 'louvain'"),
        ({"clients": 0}, "clients is 0: expected 1 to 17"),
        ({"clients": -3}, "clients is -3"),
        ({"clients": 18}, "clients is 18: expected 1 to 17"),
        ({"beta": 0.0}, "beta is 0.0"),
        ({"beta": float("nan")}, "beta is nan"),
        ({"beta": 1e-9, "clients": 10}, "no dirichlet partition"),
    ],
)
def test_impossible_requests_are_refused_in_one_line(changes, message):
    request = {"method": "dirichlet", "clients": 2, "seed": 0} | changes
    with pytest.raises(InputError, match=message) as refusal:
        partition(karate(), **request)
    assert "\n" not in str(refusal.value)

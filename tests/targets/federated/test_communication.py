"""Topologies, and the shares that follow from them."""

import networkx as nx
import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.targets.federated.communication import metropolis, topology

CASES = [("ring", 1), ("ring", 2), ("ring", 3), ("ring", 7), ("complete", 5), ("random-regular", 8)]


def drawn(name, clients, seed=0, degree=3):
    return topology(name, clients, degree, np.random.default_rng(seed))


@pytest.mark.parametrize(("name", "clients"), CASES)
def test_shares_are_doubly_stochastic_and_of_neighbours_alone(name, clients):
    near = drawn(name, clients)
    shares = metropolis(near)
    assert torch.equal(near, near.t())
    assert not bool(near.diagonal().any())
    torch.testing.assert_close(shares.sum(0), torch.ones(clients).double())
    torch.testing.assert_close(shares, shares.t())
    assert bool((shares >= 0).all())
    assert torch.equal((shares > 0) & ~torch.eye(clients, dtype=torch.bool), near)


def test_shares_by_hand():
    path = torch.tensor([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).bool()
    third = 1 / 3
    by_hand = torch.tensor([[2 * third, third, 0], [third, third, third], [0, third, 2 * third]]).double()
    torch.testing.assert_close(metropolis(path), by_hand)


@pytest.mark.parametrize(("name", "edges"), [("ring", 6), ("complete", 15), ("random-regular", 9)])
def test_topologies_are_what_they_are_called(name, edges):
    graph = nx.from_numpy_array(drawn(name, 6).numpy())
    assert graph.number_of_edges() == edges
    assert nx.is_connected(graph)
    assert len({degree for _, degree in graph.degree}) == 1


def test_random_regular_graphs_are_uniform():
    """On 6 nodes there are 70 cubic graphs: 10 copies of K33 and 60 prisms, all connected."""
    found = [nx.is_bipartite(nx.from_numpy_array(drawn("random-regular", 6, seed).numpy())) for seed in range(2000)]
    expected, deviation = 2000 / 7, (2000 * 6 / 49) ** 0.5
    assert abs(sum(found) - expected) < 4 * deviation  # fails by chance once in 16,000


@pytest.mark.parametrize(("clients", "degree"), [(3, 3), (5, 3)])
def test_a_graph_that_does_not_exist_is_refused(clients, degree):
    with pytest.raises(InputError, match=f"no graph has {clients} clients with {degree} neighbours each"):
        drawn("random-regular", clients, degree=degree)

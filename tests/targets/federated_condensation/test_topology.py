"""Figures of a graph's shape, on graphs small enough for networkx and for a pencil."""

import math

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.targets.federated_condensation.topology import Topology, compared, divergence


@given(st.integers(0, 10**6), st.floats(0.1, 0.9))
def test_density_homophily_and_degrees_are_those_of_networkx(seed, share):
    network = nx.gnp_random_graph(12, share, seed=seed)
    y = torch.from_numpy(np.random.default_rng(seed).integers(0, 3, 12))
    weights = torch.from_numpy(nx.to_numpy_array(network)).float() * 0.3
    found = Topology.of_links(weights, y, 0.2)
    assert found.density() == pytest.approx(nx.density(network))
    assert found.degrees.tolist() == [d for _, d in network.degree()]
    alike = [bool(y[a] == y[b]) for a, b in network.edges()]
    if alike:
        assert found.homophily() == pytest.approx(np.mean(alike))
    else:
        assert math.isnan(found.homophily())


def test_weak_links_are_none():
    weights = torch.tensor([[0.0, 0.05, 0.6], [0.05, 0.0, 0.0], [0.6, 0.0, 0.0]])
    found = Topology.of_links(weights, torch.tensor([0, 0, 1]), 0.05)
    assert found.degrees.tolist() == [1, 0, 1]
    assert found.homophily() == 0


def test_edges_and_links_are_the_same_graph():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    links = torch.zeros(3, 3)
    links[edges[0], edges[1]] = 1.0
    y = torch.tensor([0, 0, 1])
    one, other = Topology.of_edges(edges, y), Topology.of_links(links, y, 0.05)
    assert torch.equal(one.degrees, other.degrees)
    assert one.homophily() == other.homophily() == 0.5


def test_divergence_is_that_of_the_shares_of_degrees():
    """A star of five nodes and a cycle of five: by hand, with one node more in each of the ten bins."""
    y = torch.zeros(5)
    star = Topology.of_edges(torch.tensor(list(nx.star_graph(4).to_directed().edges())).t(), y)
    ring = Topology.of_edges(torch.tensor(list(nx.cycle_graph(5).to_directed().edges())).t(), y)
    p = np.ones(10)
    p[2], p[9] = 5, 2  # degrees of 1 are a quarter of 4, which one node has
    q = np.ones(10)
    q[9] = 6  # all have the largest degree
    p, q = p / 15, q / 15
    assert divergence(star, ring) == pytest.approx(float((p * np.log(p / q)).sum()))
    assert divergence(star, star) == 0
    assert divergence(star, ring) > 0


def test_figures_are_means_over_clients_and_lone_nodes_have_no_homophily():
    y = torch.tensor([0, 0, 1])
    linked = Topology.of_edges(torch.tensor([[0, 1], [1, 0]]), y)
    none = Topology.of_links(torch.zeros(3, 3), y, 0.05)
    found = compared(
        {"original": [linked, linked], "condensed": [linked, none], "rebuilt": [none, none]}, "original"
    )
    assert found["density, condensed"] == pytest.approx(1 / 6)
    assert found["homophily, condensed"] == 1
    assert math.isnan(found["homophily, rebuilt"])
    assert found["degree divergence, original"] == 0
    assert found["degree divergence, rebuilt"] > found["degree divergence, condensed"] > 0

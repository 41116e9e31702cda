"""Graphs with bounded degrees: what stays, and that nothing but the edges decides it."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.targets.private_training.bounded_neighbours import bounded


def both(graph):
    edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).t()
    return torch.cat([edges, edges.flip(0)], 1)


@given(nodes=st.integers(2, 12), share=st.floats(0, 1), most=st.integers(1, 12), seed=st.integers(0, 99))
def test_nobody_has_more_and_who_has_fewer_loses_none(nodes, share, most, seed):
    graph = nx.gnp_random_graph(nodes, share, seed=seed)
    found = bounded(both(graph), nodes, most)
    left = nx.Graph(found.edges.t().tolist())
    degrees = torch.bincount(found.edges[0], minlength=nodes)
    assert int(degrees.max()) <= most
    assert {tuple(sorted(e)) for e in left.edges} <= {tuple(sorted(e)) for e in graph.edges}
    assert torch.equal(*(torch.sort(found.edges[i] * nodes + found.edges[1 - i]).values for i in range(2)))
    assert found.dropped == graph.number_of_edges() - left.number_of_edges()
    assert found.above == sum(d > most for _, d in graph.degree)
    if not found.above:
        assert found.dropped == 0


@given(nodes=st.integers(2, 10), seed=st.integers(0, 99))
def test_lists_are_the_neighbours(nodes, seed):
    graph = nx.gnp_random_graph(nodes, 0.5, seed=seed)
    found = bounded(both(graph), nodes, nodes)
    lists = found.lists(nodes, nodes)
    for node in range(nodes):
        assert sorted(j for j in lists[node].tolist() if j >= 0) == sorted(graph[node])


def test_a_node_that_goes_takes_its_own_edges_alone_where_the_bound_is_kept():
    """All graphs of 5 nodes with at most 3 neighbours each: the edges of the others stay as they are."""
    pairs = list(itertools.combinations(range(5), 2))
    checked = 0
    for code in range(0, 2 ** len(pairs), 7):
        graph = nx.Graph([p for i, p in enumerate(pairs) if code >> i & 1])
        graph.add_nodes_from(range(5))
        if max(d for _, d in graph.degree) > 3:
            continue
        without = graph.copy()
        without.remove_edges_from(list(graph.edges(0)))
        after, before = (
            {tuple(e) for e in bounded(both(g), 5, 3).edges.t().tolist() if 0 not in e} for g in (without, graph)
        )
        assert after == before
        checked += 1
    assert checked > 50


def test_which_edges_stay_does_not_depend_on_how_they_are_listed():
    graph = both(nx.gnp_random_graph(30, 0.4, seed=1))
    shuffled = graph[:, torch.from_numpy(np.random.default_rng(0).permutation(graph.shape[1]))]
    one, other = ({tuple(e) for e in bounded(g, 30, 4).edges.t().tolist()} for g in (graph, shuffled))
    assert one == other


@pytest.mark.parametrize("most", [1, 3])
def test_no_edges_are_no_trouble(most):
    found = bounded(torch.empty((2, 0), dtype=torch.long), 4, most)
    assert found.edges.shape == (2, 0)
    assert torch.equal(found.lists(4, most), torch.full((4, most), -1))

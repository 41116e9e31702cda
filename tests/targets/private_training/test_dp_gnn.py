"""DP-SGD on bounded neighbourhoods: who has a part in whose loss; the published model is the trained one."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus import GradSampleModule

from gaudit.targets.private_training.bounded_neighbours import bounded
from gaudit.targets.private_training.clipped_training import NoisySteps, clipped_sum, draw_first_weights
from gaudit.targets.private_training.dp_gnn import DPGNN, Reading, Sage
from support.private_training import ran, told
from support.sixty_nodes import sixty_nodes


@pytest.mark.parametrize(("layers", "most", "terms"), [(1, 5, 6), (2, 3, 13), (2, 1, 3)])
def test_terms_are_those_of_daigavane(layers, most, terms):
    assert DPGNN(layers=layers, max_degree=most).terms == terms


@settings(max_examples=15)
@given(layers=st.sampled_from([1, 2]), seed=st.integers(0, 99))
def test_a_node_moves_the_clipped_sum_by_no_more_than_its_terms_allow(layers, seed):
    """Brute force: each node of a graph that keeps the bound away with all its edges, or with other features."""
    most, nodes, clip = 3, 9, 0.5
    graph = nx.random_regular_graph(2, nodes, seed=seed)
    x = torch.randn(nodes, 4, generator=torch.Generator().manual_seed(seed)) * 3
    labels = torch.arange(nodes) % 3
    model = Sage(4, 3, 3, layers)
    draw_first_weights(model, np.random.default_rng(seed))
    watched = GradSampleModule(model, loss_reduction="sum", strict=False)
    how = NoisySteps(1.0, 1, clip, 1.0, 1e-9, 64)
    terms = DPGNN(layers=layers, max_degree=most).terms

    def total(edges, rows, records):
        both = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
        reading = Reading(rows, bounded(torch.cat([both, both.flip(0)], 1), nodes, most), most, layers)
        return torch.cat([p.flatten() for p in clipped_sum(watched, reading.of, labels, records, how)])

    everybody = torch.arange(nodes)
    whole = total(list(graph.edges), x, everybody)
    for node in range(nodes):
        left = [e for e in graph.edges if node not in e]
        gone = total(left, x, everybody[everybody != node])
        other = x.clone()
        other[node] = -other[node]
        for changed in (gone, total(list(graph.edges), other, everybody)):
            assert float((whole - changed).norm()) <= 2 * clip * terms + 1e-5


@pytest.mark.parametrize("layers", [1, 2])
def test_the_published_model_is_the_one_that_was_trained(layers):
    """On a graph that keeps the bound its answers on the whole graph are those that training read."""
    data = sixty_nodes()
    most = int(torch.bincount(data.edge_index[0]).max())
    run = ran("dp-gnn", data, layers=layers, max_degree=most, project=0, epsilon=1e4)
    weights, table = told(run, "model"), told(run, "posteriors-full")
    reading = Reading(data.x, bounded(data.edge_index, 60, most), most, layers)
    model = Sage(data.x.shape[1], 4, 3, layers)
    with torch.no_grad():
        model.near1.weight.copy_(weights["w1"].t())
        model.own1.weight.copy_(weights["r1"].t())
        model.near1.bias.copy_(weights["b1"])
        model.own2.weight.copy_(weights["r2"].t())
        model.own2.bias.copy_(weights["b2"])
        if layers == 2:
            model.near2.weight.copy_(weights["w2"].t())
        else:
            assert not weights["w2"].any()
        logits = model(*reading.of(torch.arange(60)))
    assert torch.allclose(table["posteriors"], logits.softmax(1), atol=1e-5)


def test_what_is_dropped_is_said():
    notes = ran("dp-gnn", sixty_nodes(), max_degree=1).notes
    assert any("more than 1 neighbours" in note and "left out of training" in note for note in notes)

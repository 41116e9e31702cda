"""Bundled collections have the structure that they say."""

import networkx as nx
import numpy as np
import torch
from scipy.stats import binomtest

from gaudit.graphs.collection import by_graph, graphs_in, sizes_of
from gaudit.graphs.datasets.bundled_collections import molecules, planted_graphs


def components(data):
    graph = nx.Graph(data.edge_index.t().tolist())
    graph.add_nodes_from(range(data.num_nodes))
    return [graph.subgraph(found) for found in nx.connected_components(graph)]


def test_molecules_are_rings_with_trees():
    data = molecules()
    found = components(data)
    assert len(found) == graphs_in(data) == 400
    assert all(len(nx.cycle_basis(part)) == 1 and len(nx.cycle_basis(part)[0]) == 6 for part in found)
    sizes = sizes_of(data)
    assert sizes.min() >= 12
    assert sizes.max() <= 26
    assert torch.equal(data.x.sum(1), torch.ones(data.num_nodes))


def test_nine_molecules_in_ten_bear_the_class_of_their_shape():
    """Bushes have more ends than chains; the most frequent label of the more branched half is 1."""
    data = molecules()
    degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
    ends = torch.zeros(400).index_add(0, data.graph_of, (degree == 1).float()) / sizes_of(data)
    y = by_graph(data, "y").numpy()
    agree = int(((ends > ends.median()).numpy() == (y == 1)).sum())
    assert binomtest(agree, 400, 0.5, "greater").pvalue < 1e-9
    assert agree < 380  # with a wrong label in ten nobody is right more often than 360 times, but for chance


def test_another_seed_gives_others():
    assert not torch.equal(molecules(1).x[:100], molecules(2).x[:100])
    assert torch.equal(molecules(1).x, molecules(1).x)


def test_planted_graphs_are_rings_of_four_with_words_of_their_own():
    data = planted_graphs()
    assert {len(part) for part in components(data)} == {4}
    words = torch.zeros(300, 800).index_add(0, data.graph_of, data.x).numpy()
    assert (words.sum(1) == 6).all()
    common = words @ words.T
    np.fill_diagonal(common, 0)
    assert common.max() <= 3
    assert np.bincount(by_graph(data, "y").numpy()).tolist() == [75] * 4

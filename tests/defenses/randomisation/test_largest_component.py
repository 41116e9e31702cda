"""A network taken apart and put together again."""

import networkx as nx
import numpy as np
from hypothesis import given

from gaudit.defenses.randomisation.largest_component import apart, largest_component, together, within
from gaudit.graphs.network import Network
from support import small_networks as small


@given(small.networks())
def test_the_parts_are_the_largest_component_and_the_rest(network):
    twin = nx.empty_graph(network.nodes)
    twin.add_edges_from(network.edges.T.tolist())
    largest = max(nx.connected_components(twin), key=lambda part: (len(part), -min(part)))
    (nodes, core), (others, rest) = apart(network)
    assert nodes.tolist() == sorted(largest) == largest_component(network).tolist()
    assert sorted([*nodes, *others]) == list(range(network.nodes))
    assert core.size + rest.size == network.size
    assert nx.is_isomorphic(nx.Graph(twin.subgraph(largest)), nx.from_scipy_sparse_array(core.adjacency))
    again = together(network, ((nodes, core), (others, rest)), np.random.default_rng(0))
    assert again.edges.tolist() == network.edges.tolist()


def test_nothing_is_lost_of_weights_and_types():
    rng = np.random.default_rng(0)
    network = Network.from_edges(7, [0, 1, 0, 4], [1, 2, 2, 5], rng.random(4), np.array([0, 1, 2, 1]))
    again = together(network, apart(network), rng)
    assert again.weights.tolist() == network.weights.tolist()
    assert again.types.tolist() == network.types.tolist()


def test_no_nodes_are_no_component():
    empty = Network.from_edges(0, [], [])
    assert largest_component(empty).tolist() == []
    assert within(empty, largest_component(empty)).nodes == 0

"""The compiled graph whose edges move, beside networkx."""

import networkx as nx
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gaudit.defenses.randomisation.dynamic_graph import common, joined, linked, living_graph, move
from support import small_networks as small

MOVES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.booleans()), max_size=15)


def agree(graph, twin, nodes):
    degrees = dict(twin.degree())
    piece = {node: k for k, part in enumerate(nx.connected_components(twin)) for node in part}
    for one in range(nodes):
        assert graph.degrees[one] == degrees[one]
        for other in range(one):
            assert linked(graph, one, other) == twin.has_edge(one, other)
            assert common(graph, one, other) == len(set(twin[one]) & set(twin[other]))
            assert joined(graph, one, other) == (piece[one] == piece[other])


@settings(max_examples=50)
@given(small.networks(least=4, most=10), MOVES)
def test_moved_edges_are_where_they_should_be(network, steps):
    nodes, edges = network.nodes, network.edges.T.tolist()
    assume(0 < len(edges) < nodes * (nodes - 1) // 2)
    graph = living_graph(np.array(edges, dtype=np.int32).ravel(), nodes)
    twin = nx.empty_graph(nodes)
    twin.add_edges_from(edges)
    agree(graph, twin, nodes)
    for which, where, turned in steps:
        free = sorted(nx.complement(twin).edges())
        edge, (one, other) = which % len(edges), free[where % len(free)]
        if turned:
            one, other = other, one
        twin.remove_edge(*graph.ends[2 * edge : 2 * edge + 2].tolist())
        move(graph, edge, one, other)
        twin.add_edge(one, other)
        agree(graph, twin, nodes)
    now = {frozenset(pair) for pair in graph.ends.reshape(-1, 2).tolist()}
    assert now == {frozenset(pair) for pair in twin.edges()}

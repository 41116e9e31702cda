"""Surroundings of nodes against a search by hand."""

import networkx as nx
import numpy as np
import pytest

from gaudit.graphs.balls import balls_around


@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_balls_are_what_networkx_finds(radius):
    graph = nx.gnm_random_graph(40, 55, seed=3)
    edges = np.array([pair for u, v in graph.edges for pair in ((u, v), (v, u))]).T
    centres = np.array([5, 0, 39, 5])
    found = balls_around(centres, edges, 40, radius)
    for place, centre in enumerate(centres.tolist()):
        inside = found.ball_of == place
        steps = nx.single_source_shortest_path_length(graph, centre, cutoff=radius)
        assert dict(zip(found.nodes[inside].tolist(), found.steps[inside].tolist(), strict=True)) == steps
        assert found.nodes[found.roots[place]] == centre
        own = found.edges[:, found.ball_of[found.edges[0]] == place]
        assert (found.ball_of[own[1]] == place).all()
        linked = sorted(map(tuple, found.nodes[own].T.tolist()))
        assert linked == sorted(pair for u, v in graph.subgraph(steps).edges for pair in ((u, v), (v, u)))


def test_a_graph_without_edges_has_lone_roots():
    found = balls_around(np.array([1, 2]), np.empty((2, 0), dtype=np.int64), 3, 2)
    assert found.nodes.tolist() == [1, 2]
    assert found.steps.tolist() == [0, 0]
    assert found.edges.shape == (2, 0)

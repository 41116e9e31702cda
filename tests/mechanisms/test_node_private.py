"""Private in nodes: what one node with all its edges changes, by brute force, and what a bound leaves as it is."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from gaudit.mechanisms.node_private import (
    bounded_degrees,
    bounded_degrees_sensitivity,
    bounded_edges,
    bounded_flow,
    edge_count,
    flow_sensitivity,
    private_degree_histogram,
)
from support import every_network as every

BOUNDS = (1, 2, 3, 4)


def flow_by_definition(network, bound):
    graph = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for node in range(network.nodes):
        graph.add_edge("source", ("out", node), capacity=bound)
        graph.add_edge(("in", node), "sink", capacity=bound)
    for a, b in network.edges.T.tolist():
        graph.add_edge(("out", a), ("in", b), capacity=1)
        graph.add_edge(("out", b), ("in", a), capacity=1)
    return nx.maximum_flow_value(graph, "source", "sink")


def projected_by_definition(network, bound):
    degrees = [0] * network.nodes
    for a, b in sorted(network.edges.T.tolist()):
        if degrees[a] < bound and degrees[b] < bound:
            degrees[a] += 1
            degrees[b] += 1
    return degrees


@pytest.mark.parametrize("bound", BOUNDS)
def test_flow_changes_by_its_sensitivity_at_most_and_reaches_it(bound):
    """All shapes of 1 to 6 nodes without each node; a star reaches it."""
    changes = set()
    for nodes in range(1, 7):
        for network in every.atlas(nodes):
            here = bounded_flow(network, bound)
            changes |= {here - bounded_flow(every.without(network, node), bound) for node in range(nodes)}
    assert min(changes) >= 0
    assert max(changes) == flow_sensitivity(bound)
    star = Network.from_edges(bound + 1, [0] * bound, range(1, bound + 1))
    assert bounded_flow(star, bound) - bounded_flow(every.without(star, 0), bound) == flow_sensitivity(bound)
    assert max(changes) <= flow_sensitivity(bound)


@pytest.mark.parametrize("bound", BOUNDS)
def test_bounded_degrees_change_by_their_sensitivity_at_most_and_reach_it(bound):
    """The order of edges depends on names, so all labelled networks of 1 to 5 nodes, without each node."""
    changes = set()
    for nodes in range(1, 6):
        networks = every.labelled(nodes)
        smaller = {other.edges.tobytes(): bounded_degrees(other, bound) for other in every.labelled(nodes - 1)}
        for network in networks:
            here = bounded_degrees(network, bound)
            for node in range(nodes):
                changes.add(np.abs(here - smaller[every.without(network, node).edges.tobytes()]).sum())
    assert max(changes) == bounded_degrees_sensitivity(bound)


@pytest.mark.parametrize("bound", [1, 2, 4, 7])
def test_larger_networks_change_no_more(bound):
    rng = np.random.default_rng(bound)
    for nodes in rng.integers(6, 20, 25).tolist():
        network = every.random_network(rng, nodes, hubs=2)
        flow, degrees = bounded_flow(network, bound), bounded_degrees(network, bound)
        for node in range(nodes):
            other = every.without(network, node)
            assert 0 <= flow - bounded_flow(other, bound) <= flow_sensitivity(bound)
            assert np.abs(degrees - bounded_degrees(other, bound)).sum() <= bounded_degrees_sensitivity(bound)


@pytest.mark.parametrize("bound", [1, 2, 4, 7])
def test_queries_are_those_of_their_definitions(bound):
    rng = np.random.default_rng(20 + bound)
    for nodes in [0, 1, 2, *rng.integers(3, 16, 20).tolist()]:
        network = every.random_network(rng, nodes, hubs=2)
        assert bounded_flow(network, bound) == flow_by_definition(network, bound)
        degrees = projected_by_definition(network, bound)
        assert bounded_edges(network, bound).degrees.tolist() == degrees
        assert bounded_degrees(network, bound).tolist() == [
            sum(d <= top for d in degrees) for top in range(bound + 1)
        ]


def test_a_bound_that_no_degree_exceeds_changes_nothing():
    for network in every.atlas(6):
        top = max(int(network.degrees.max()), 1)
        for bound in (top, top + 3):
            assert bounded_flow(network, bound) == 2 * network.size
            assert bounded_edges(network, bound).size == network.size
        assert bounded_flow(network, 1) <= bounded_flow(network, 2) <= 2 * network.size


def test_the_noise_has_the_scale_that_the_sensitivity_asks_for():
    """Chi-square of edge counts of a star; false alarm 1e-6. In nodes, its doubled flow changes by 2 D."""
    star, bound, draws = Network.from_edges(6, [0] * 5, range(1, 6)), 2, 1500
    rng = np.random.default_rng(0)
    drawn = np.array([edge_count(star, 2, bound, rng).values for _ in range(draws)])
    noise = np.rint(2 * drawn).astype(int) - bounded_flow(star, bound)
    values = np.arange(-8, 9)
    expected = discrete_laplace_pmf(Fraction(2 * bound, 2), values)
    hits = np.array([(noise == value).sum() for value in values])
    cells = np.append(expected, 1 - expected.sum()) * draws
    assert chisquare(np.append(hits, draws - hits.sum()), cells).pvalue > 1e-6


def test_released_histograms_are_counts():
    rng = np.random.default_rng(0)
    for nodes in (0, 1, 30):
        for epsilon in (0.05, 1):
            values = private_degree_histogram(every.random_network(rng, nodes), epsilon, 4, rng).values
            assert values.shape == (5,)
            assert values.dtype == np.int64
            assert (values >= 0).all()
    ring = Network.from_edges(500, range(500), np.roll(range(500), 1))
    assert np.abs(private_degree_histogram(ring, 100, 3, rng).values - [0, 0, 500, 0]).sum() < 10


def test_nothing_but_the_values_depends_on_the_network():
    rng = np.random.default_rng(0)
    empty, full = (
        Network.from_edges(0, [], []),
        Network.from_edges(6, *zip(*combinations(range(6), 2), strict=True)),
    )
    for release in (edge_count, private_degree_histogram):
        one, two = release(empty, 1, 2, rng), release(full, 1, 2, rng)
        assert (one.notes, one.guarantee, one.sensitivity) == (two.notes, two.guarantee, two.sensitivity)
        assert np.shape(one.values) == np.shape(two.values)
        assert (one.guarantee.unit, one.guarantee.adjacency) == ("node", "add/remove")
        assert one.guarantee.public == ("the degree bound 2",)


@pytest.mark.parametrize("release", [edge_count, private_degree_histogram])
@pytest.mark.parametrize(
    ("epsilon", "bound", "said"),
    [(0, 3, "epsilon is 0"), (1, 0, "degree bound is 0: expected a whole number of 1")],
)
def test_bad_input_is_one_line(release, epsilon, bound, said):
    with pytest.raises(InputError, match=said):
        release(Network.from_edges(3, [0], [1]), epsilon, bound)

"""Triangles and k-stars: counts, local sensitivities, ladders and probability ratios by brute force."""

import math
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms import subgraph_counts
from gaudit.mechanisms.ladder import LadderLaw, ladder_law
from gaudit.mechanisms.subgraph_counts import (
    largest_degrees,
    star_count,
    star_ladder,
    stars,
    triangle_count,
    triangle_ladder,
    triangles,
)
from support import every_network as every


def of_stars(k):
    return lambda network: star_count(network, k), lambda network: star_ladder(network, k)


STATISTICS = {"triangles": (triangle_count, triangle_ladder)} | {f"{k}-stars": of_stars(k) for k in (1, 2, 3, 4)}
MORE = 3
"""Rungs beyond where every ladder stays as it is."""


def pairs_of(network):
    """Common neighbours and degrees without the link between them, of every pair."""
    near = network.adjacency.toarray().astype(int)
    for i, j in combinations(range(network.nodes), 2):
        linked = near[i, j]
        one, other = sorted((near[i].sum() - linked, near[j].sum() - linked), reverse=True)
        yield int(near[i] @ near[j]), int(one), int(other)


@pytest.mark.parametrize("name", STATISTICS)
def test_ladders_are_the_local_sensitivity_at_every_distance(name):
    """All labelled networks of 2 to 5 nodes; distance t by t steps of flipping one pair."""
    count, ladder = STATISTICS[name]
    for nodes in range(2, 6):
        networks = every.labelled(nodes)
        across = every.one_edge_away(len(networks))
        counts = np.array([count(network) for network in networks])
        sensitivity = np.max([np.abs(counts - counts[other]) for other in across], axis=0)
        ladders = [ladder(network) for network in networks]
        for step in range(max(len(found.widths) for found in ladders) + MORE):
            assert np.array_equal(sensitivity, [found.width(step) for found in ladders])
            sensitivity = np.maximum(sensitivity, np.max([sensitivity[other] for other in across], axis=0))


@pytest.mark.parametrize("name", STATISTICS)
def test_ladders_climb_by_one_rung_to_any_neighbour_of_six_nodes(name):
    count, ladder = STATISTICS[name]
    for network in every.atlas(6):
        here, rungs = count(network), ladder(network)
        for other in every.flipped(network):
            there = ladder(other)
            assert abs(here - count(other)) <= rungs.width(0)
            for step in range(len(rungs.widths) + MORE):
                assert there.width(step) <= rungs.width(step + 1)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_no_number_is_more_than_epsilon_likelier_for_any_neighbour(name, epsilon):
    """Explicit laws of all networks of 4 nodes and all shapes of 5, in logarithms, to 1e-9."""
    count, ladder = STATISTICS[name]
    values, worst = range(-25, 45), 0.0
    for network in [*every.labelled(4), *every.atlas(5)]:
        here = LadderLaw(count(network), ladder(network), epsilon)
        law = np.array([here.log_probability(value) for value in values])
        for other in every.flipped(network):
            there = LadderLaw(count(other), ladder(other), epsilon)
            apart = law - [there.log_probability(value) for value in values] if ladder(other).last else [0.0]
            worst = max(worst, np.abs(apart).max())
    assert worst <= float(epsilon) + 1e-9
    assert worst > float(epsilon) / 4 or name == "4-stars"


def test_the_law_of_a_release_is_the_explicit_one():
    """Chi-square of triangles() on K5 without an edge, false alarm 1e-6."""
    network = Network.from_edges(5, *zip(*list(combinations(range(5), 2))[1:], strict=True))
    rng, epsilon, draws = np.random.default_rng(0), Fraction(1), 1000
    drawn = np.array([triangles(network, epsilon, rng).values for _ in range(draws)])
    window = ladder_law(7, triangle_ladder(network), epsilon, 9)
    hits = np.array([(drawn == value).sum() for value in window.values])
    expected = np.append(window.probabilities, window.beyond) * draws
    assert chisquare(np.append(hits, draws - hits.sum()), expected).pvalue > 1e-6


@pytest.mark.parametrize("hubs", [0, 1, 3])
def test_larger_networks_agree_with_every_pair(hubs, monkeypatch):
    """The ladders by all pairs, also when paths are looked at few at a time."""
    rng = np.random.default_rng(hubs)
    monkeypatch.setattr(subgraph_counts, "PATHS", 40)
    for nodes in rng.integers(2, 26, 30).tolist():
        network, most = every.random_network(rng, nodes, hubs), nodes - 2
        pairs = list(pairs_of(network))
        wider = triangle_ladder(network)
        for step in range(2 * nodes + 2):
            widths = [min(a + step, (x + y + step) // 2, most) for a, x, y in pairs]
            assert wider.width(step) == max(widths)
        rungs = star_ladder(network, 3)
        for step in range(2 * nodes + 2):
            spent = [(min(step, most - x), x, y) for _, x, y in pairs]
            widths = [math.comb(x + s, 2) + math.comb(min(y + step - s, most), 2) for s, x, y in spent]
            assert rungs.width(step) == max(widths)


@pytest.mark.parametrize("hubs", [0, 1, 3])
def test_counts_agree_with_another_program(hubs):
    rng = np.random.default_rng(10 + hubs)
    for nodes in (2, 7, 20, 40):
        network = every.random_network(rng, nodes, hubs)
        graph = nx.Graph(network.edges.T.tolist())
        assert triangle_count(network) == sum(nx.triangles(graph).values()) // 3
        assert star_count(network, 2) == sum(math.comb(d, 2) for _, d in graph.degree)
        assert star_count(network, 1) == 2 * network.size


def test_known_counts_of_the_karate_club():
    import igraph

    graph = igraph.Graph.Famous("Zachary")
    network = Network.from_edges(34, *zip(*graph.get_edgelist(), strict=True))
    assert triangle_count(network) == 45
    assert star_count(network, 2) == 528
    assert triangle_ladder(network).width(0) == max(a for a, _, _ in pairs_of(network))
    released = [triangles(network, 5, np.random.default_rng(seed)).values for seed in range(20)]
    assert abs(np.median(released) - 45) < 20


def test_rows_of_largest_degrees_exceed_every_pair():
    for nodes in range(2, 6):
        for network in every.labelled(nodes):
            rows = largest_degrees(network).tolist()
            real = [(x, y) for _, x, y in pairs_of(network)]
            assert all(any(x <= a and y <= b for a, b in rows) for x, y in real)
            assert all(any(a <= x and b <= y for x, y in real) for a, b in rows)


def test_nothing_but_the_number_depends_on_the_edges():
    rng = np.random.default_rng(0)
    empty, full = (
        Network.from_edges(5, [], []),
        Network.from_edges(5, *zip(*combinations(range(5), 2), strict=True)),
    )
    for one, two in [
        (triangles(empty, 1, rng), triangles(full, 1, rng)),
        (stars(empty, 1, 2, rng), stars(full, 1, 2)),
    ]:
        assert (one.notes, one.guarantee, one.sensitivity) == (two.notes, two.guarantee, two.sensitivity)
        assert isinstance(one.values, int)
        assert one.guarantee.unit == "edge"


def test_numbers_beyond_64_bits():
    star = Network.from_edges(300, [0] * 299, range(1, 300))
    exact = math.comb(299, 40)
    assert star_count(star, 40) == exact > 2**63
    assert abs(stars(star, 20, 40, np.random.default_rng(0)).values - exact) < exact


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda network: triangles(network, 0), "epsilon is 0"),
        (lambda network: stars(network, 1, 0), "k is 0: expected a whole number of 1 or more"),
        (lambda network: stars(network, -2, 1), "epsilon is -2"),
        (lambda _: triangles(Network.from_edges(1, [], []), 1), "1 nodes: expected 2"),
    ],
)
def test_bad_input_is_one_line(call, said):
    with pytest.raises(InputError, match=said):
        call(Network.from_edges(3, [0], [1]))

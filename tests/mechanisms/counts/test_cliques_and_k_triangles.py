"""Cliques and triangles that share an edge: counts, local sensitivities, ladders and odds, all by brute force."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.counts.cliques import clique_count, clique_ladder, cliques
from gaudit.mechanisms.counts.common_neighbours import most_shared, shared
from gaudit.mechanisms.counts.k_triangles import k_triangle_count, k_triangle_ladder, k_triangles
from gaudit.mechanisms.ladder import LadderLaw, climbing
from gaudit.mechanisms.subgraph_counts import triangle_count, triangle_ladder
from support import every_network as every


def cliques_by_definition(network, k):
    linked = set(map(tuple, network.edges.T.tolist()))
    sets = combinations(range(network.nodes), k)
    return sum(all(pair in linked for pair in combinations(chosen, 2)) for chosen in sets)


def k_triangles_by_definition(network, k):
    near = [set() for _ in range(network.nodes)]
    for a, b in network.edges.T.tolist():
        near[a].add(b)
        near[b].add(a)
    edges = network.edges.T.tolist()
    return sum(1 for a, b in edges for _ in combinations(near[a] & near[b], k))


COUNTS = {
    "cliques": (clique_count, clique_ladder, cliques_by_definition, (3, 4, 5)),
    "k-triangles": (k_triangle_count, k_triangle_ladder, k_triangles_by_definition, (2, 3, 4)),
}
CASES = [(name, k) for name, (*_, kinds) in COUNTS.items() for k in kinds]
MORE = 3
"""Rungs beyond where every ladder stays as it is."""


def climbs(one, other):
    """Whether no width of one ladder exceeds the next one of the other."""
    return all(one.width(step) <= other.width(step + 1) for step in range(len(one.widths) + MORE))


@pytest.mark.parametrize(("name", "k"), CASES)
def test_ladders_start_at_the_local_sensitivity_and_climb_by_one_rung(name, k):
    """All labelled networks of 2 to 5 nodes, and every edge of each."""
    _, ladder, defined, _ = COUNTS[name]
    for nodes in range(2, 6):
        networks = every.labelled(nodes)
        across = every.one_edge_away(len(networks))
        counts = np.array([defined(network, k) for network in networks])
        ladders = [ladder(network, k) for network in networks]
        sensitivity = np.max([np.abs(counts - counts[other]) for other in across], axis=0)
        assert np.array_equal(sensitivity, [found.width(0) for found in ladders])
        kinds = sorted({found.widths for found in ladders})
        place = np.array([kinds.index(found.widths) for found in ladders])
        steps = {(a, b) for other in across for a, b in zip(place.tolist(), place[other].tolist(), strict=True)}
        lookup = {found.widths: found for found in ladders}
        assert all(climbs(lookup[kinds[a]], lookup[kinds[b]]) for a, b in steps)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_larger_networks_keep_to_their_ladders(name, k):
    """Random networks of 6 to 9 nodes, and every edge of each."""
    count, ladder, defined, _ = COUNTS[name]
    rng = np.random.default_rng(k)
    for nodes in (6, 7, 8, 9):
        network = every.random_network(rng, nodes, hubs=2)
        here, rungs = defined(network, k), ladder(network, k)
        assert count(network, k) == here
        assert ladder(network.renamed(rng.permutation(nodes)), k) == rungs
        changes = []
        for other in every.flipped(network):
            changes.append(abs(here - defined(other, k)))
            assert climbs(ladder(other, k), rungs)
        assert max(changes) == rungs.width(0)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_no_number_is_more_than_epsilon_likelier_for_any_neighbour(name, k):
    """Explicit laws of all shapes of 5 nodes, in logarithms, to 1e-9."""
    count, ladder, _, _ = COUNTS[name]
    epsilon, values, worst = Fraction(2), range(-20, 45), 0.0
    for network in every.atlas(5):
        law = LadderLaw(count(network, k), ladder(network, k), epsilon)
        here = np.array([law.log_probability(value) for value in values])
        for other in every.flipped(network):
            near = LadderLaw(count(other, k), ladder(other, k), epsilon)
            if near.ladder.last:
                worst = max(worst, np.abs(here - [near.log_probability(value) for value in values]).max())
    most_in_five_nodes = name, k
    assert worst <= float(epsilon) + 1e-9
    assert worst > 0.1 or most_in_five_nodes == ("k-triangles", 4)


def linked_by_pairs(around):
    """Two nodes with two common neighbours; each of these four edges has so many more nodes linked to both ends."""
    edges, nodes = [(0, 2), (0, 3), (1, 2), (1, 3)], 4
    for a, b in list(edges):
        for _ in range(around):
            edges += [(a, nodes), (b, nodes)]
            nodes += 1
    return every.network_of(nodes, edges)


def test_the_ladder_without_edges_among_common_neighbours_is_none():
    """12 nodes, k = 3: one edge lifts the local sensitivity from 4 to 12, and that ladder's next rung is 11."""
    before = linked_by_pairs(2)
    after = every.network_of(12, [*before.edges.T.tolist(), (2, 3)])
    a, first = most_shared(shared(before)), k_triangle_ladder(before, 3).width(0)

    def step(number):
        return 3 * math.comb(a + number, 2) + (a + number) * math.comb(a + number, 1)

    wanting = climbing(first, step, 10**6)
    assert (first, k_triangle_ladder(after, 3).width(0), wanting.width(1)) == (4, 12, 11)
    linked = every.network_of(12, [*after.edges.T.tolist(), (0, 1)])
    assert k_triangles_by_definition(linked, 3) - k_triangles_by_definition(after, 3) == 12
    assert k_triangle_ladder(before, 3).width(1) >= 12
    assert climbs(k_triangle_ladder(after, 3), k_triangle_ladder(before, 3))


def test_cliques_of_three_are_triangles_on_a_wider_ladder():
    rng = np.random.default_rng(0)
    for nodes in (2, 5, 20, 40):
        network = every.random_network(rng, nodes, hubs=1)
        assert clique_count(network, 3) == triangle_count(network)
        exact, ours = triangle_ladder(network), clique_ladder(network, 3)
        assert exact.width(0) == ours.width(0)
        assert all(exact.width(step) <= ours.width(step) for step in range(nodes))


def test_known_counts_of_the_karate_club():
    import igraph

    graph = igraph.Graph.Famous("Zachary")
    network = Network.from_edges(34, *zip(*graph.get_edgelist(), strict=True))
    assert [clique_count(network, k) for k in (3, 4, 5, 6)] == [45, 11, 2, 0]
    assert k_triangle_count(network, 2) == k_triangles_by_definition(network, 2)
    for release, exact in ((cliques(network, 20, 4, np.random.default_rng(0)), 11),):
        assert abs(release.values - exact) < 40


def test_nothing_but_the_number_depends_on_the_edges():
    empty, full = every.network_of(6, []), every.network_of(6, combinations(range(6), 2))
    for release, k in ((cliques, 4), (k_triangles, 2)):
        one, two = (release(network, 1, k, np.random.default_rng(0)) for network in (empty, full))
        assert (one.notes, one.guarantee, one.sensitivity) == (two.notes, two.guarantee, two.sensitivity)
        assert one.guarantee.unit == "edge"
        assert isinstance(one.values, int)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda network: cliques(network, 1, 2), "k is 2: expected a whole number of 3 or more"),
        (lambda network: k_triangles(network, 1, 1), "k is 1: expected a whole number of 2 or more"),
        (lambda network: cliques(network, 0, 3), "epsilon is 0"),
        (lambda _: k_triangles(every.network_of(10_000, []), 1, 6), "choose a smaller k"),
        (lambda _: cliques(every.network_of(1, []), 1, 3), "1 nodes: expected 2"),
    ],
)
def test_bad_input_is_one_line(call, said):
    with pytest.raises(InputError, match=said):
        call(every.network_of(3, [(0, 1)]))

"""Colours of nodes: hashed, sorted, compared with orbits and with other programs."""

from itertools import islice, pairwise

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gaudit.attacks.identity.colour_refinement import (
    BLOCK,
    classes,
    colours_at,
    exact_refinements,
    jointly,
    refinements,
    stable_colours,
    structure,
    unique_share,
)
from gaudit.graphs.network import Network
from support.snap import snap

GOLDEN = {
    "ca-GrQc": ((66, 2354, 3319, 3382, 3383), (0.3, 35.6, 51.0, 52.4)),
    "ca-HepTh": ((56, 5141, 7483, 7607, 7612), (0.07, 44.8, 65.7, 67.1)),
    "wiki-Vote": ((300, 5007, 5789, 5789, 5789), (1.2, 66.6, 74.3, 74.3)),
    "email-Enron": ((334, 19024, 20393, 20417, 20417), (0.35, 44.0, 46.4, 46.5)),
}
"""Classes of H_1 to H_4 and of the stable colours; per cent of the nodes alone in theirs, H_1 to H_4."""


@st.composite
def networks(draw, most=12):
    nodes = draw(st.integers(1, most))
    pairs = np.stack(np.triu_indices(nodes, 1), 1)
    kept = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return Network.from_edges(nodes, *pairs[np.array(kept, dtype=bool)].T)


def of(graph):
    return Network.from_edges(graph.vcount(), *np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T)


def random_network(nodes, size, seed):
    drawn = np.random.default_rng(seed).integers(nodes, size=(2 * size, 2))
    coded = np.unique(np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1) @ [nodes, 1])
    coded = np.random.default_rng(seed).permutation(coded)[:size]
    return Network.from_edges(nodes, coded // nodes, coded % nodes)


def same_partition(one, other):
    """Whether equal in one means equal in the other, and back."""
    together = np.stack([np.unique(values, return_inverse=True)[1] for values in (one, other)], 1)
    return len(np.unique(together, axis=0)) == classes(one) == classes(other)


def orbits(graph):
    """The orbit of each node under all automorphisms, from BLISS's generators."""
    images = np.array(graph.automorphism_group(), dtype=np.int32).reshape(-1, graph.vcount())
    moved, node = np.nonzero(images != np.arange(graph.vcount()))
    moves = coo_array((np.ones(len(node)), (node, images[moved, node])), shape=(graph.vcount(),) * 2)
    return connected_components(moves, directed=False)[1]


@given(networks(), st.booleans(), st.integers(0, 99))
def test_hashes_split_nodes_as_sorting_does(network, labelled, seed):
    labels = np.random.default_rng(seed).integers(-1, 2, network.nodes) if labelled else None
    graph = structure(network)
    rounds = zip(refinements(graph, labels), exact_refinements(graph, labels), strict=True)
    for hashed, sorted_ in islice(rounds, 6):
        assert same_partition(hashed, sorted_)


@given(networks(8), networks(8), st.booleans(), st.integers(0, 99))
def test_networks_refined_apart_can_be_compared(one, other, labelled, seed):
    labels = np.random.default_rng(seed).integers(0, 2, one.nodes + other.nodes) if labelled else None
    parts = (None, None) if labels is None else np.split(labels, [one.nodes])
    apart = [refinements(structure(n), part) for n, part in zip((one, other), parts, strict=True)]
    together = exact_refinements(jointly(structure(one), structure(other)), labels)
    for first, second, both in islice(zip(*apart, together, strict=True), 6):
        assert same_partition(np.concatenate([first, second]), both)


@given(networks(), st.booleans())
def test_each_round_refines_the_last_until_nothing_splits(network, labelled):
    graph, labels = structure(network), np.arange(network.nodes) % 2 if labelled else None
    coarse = list(islice(refinements(graph, labels), network.nodes + 2))
    for before, after in pairwise(coarse):
        assert classes(np.stack([before, after], 1).view("u8,u8").ravel()) == classes(after)
    stable, depth = stable_colours(graph, labels)
    assert np.array_equal(stable, coarse[depth])
    assert same_partition(stable, coarse[-1])
    assert depth == 0 or classes(coarse[depth - 1]) < classes(stable)


@given(networks(), st.integers(0, 99))
def test_colours_do_not_depend_on_ids(network, seed):
    new = np.random.default_rng(seed).permutation(network.nodes)
    for depth in range(4):
        renamed = colours_at(structure(network.renamed(new)), depth)
        assert np.array_equal(renamed[new], colours_at(structure(network), depth))


@given(networks())
def test_no_automorphism_leaves_a_stable_class(network):
    orbit, stable = orbits(network.igraph()), stable_colours(structure(network))[0]
    assert classes(np.stack([orbit, stable.view(np.int64)], 1).view("i8,i8").ravel()) == classes(orbit)


def test_isolated_nodes_stay_a_class_of_their_own():
    network = Network.from_edges(5, [0, 1], [1, 2])  # a path, and nodes 3 and 4 without a neighbour
    for colours in islice(refinements(structure(network)), 1, 5):
        assert colours[3] == colours[4] == 0
        assert (colours[:3] != 0).all()


@pytest.mark.parametrize("graph", [igraph.Graph.Ring(9), igraph.Graph.Famous("Petersen"), igraph.Graph.Full(5)])
def test_a_regular_graph_is_one_class(graph):
    assert [classes(c) for c in islice(refinements(structure(of(graph))), 5)] == [1] * 5


def test_with_labels_a_node_knows_its_own():
    """Two pairs of linked nodes: the multiset of a neighbour's labels says nothing of a node's own."""
    graph = structure(Network.from_edges(6, [0, 2], [1, 3]))
    labels = np.array([0, 0, 0, 1, 0, 1])
    colours = colours_at(graph, 1, labels)
    assert classes(colours) == 5  # 0 and 1 alike; 2, 3; and the isolated 4 and 5, which no neighbour tells apart
    assert colours[0] == colours[1]


def test_sums_over_blocks_agree_with_sorting():
    network = random_network(60_000, 300_000, 0)
    graph = structure(network)
    assert len(graph.indices) > BLOCK
    for hashed, sorted_ in islice(zip(refinements(graph), exact_refinements(graph), strict=True), 3):
        assert same_partition(hashed, sorted_)


def test_a_hub_may_have_more_neighbours_than_a_block():
    """A star has one neighbour list longer than a block; what comes behind it in memory must not suffer."""
    leaves = np.arange(1, BLOCK + 2)
    path = np.arange(BLOCK + 2, BLOCK + 5)
    star = Network.from_edges(BLOCK + 5, np.append(0 * leaves, path[:-1]), np.append(leaves, path[1:]))
    colours = colours_at(structure(star), 2)
    assert classes(colours) == 4
    assert (colours[leaves] == colours[1]).all()
    assert colours[path[0]] == colours[path[2]] != colours[path[1]]


def test_a_path_needs_half_its_length():
    graph = structure(of(igraph.Graph.Lattice([21], circular=False)))
    stable, depth = stable_colours(graph)
    assert (classes(stable), depth) == (11, 10)
    early, stopped = stable_colours(graph, rounds=3)
    assert stopped == 3
    assert np.array_equal(early, colours_at(graph, 3))


def test_types_and_weights_do_not_matter():
    plain = Network.from_edges(4, [0, 1, 2], [1, 2, 3])
    double = Network.from_edges(4, [0, 0, 1, 2], [1, 1, 2, 3], np.arange(1.0, 5), types=np.array([0, 1, 0, 0]))
    assert np.array_equal(colours_at(structure(double), 3), colours_at(structure(plain), 3))


def test_no_node_has_no_colour():
    empty = structure(Network.from_edges(0, [], []))
    colours, depth = stable_colours(empty)
    assert (len(colours), depth, classes(colours), unique_share(colours)) == (0, 0, 0, 0.0)


def test_networkx_finds_the_same_classes():
    """Its labels keep a node's own, which changes nothing where all nodes begin alike."""
    network = random_network(400, 800, 2)
    graph = nx.from_edgelist(network.edges.T.tolist())
    nx.set_node_attributes(graph, "x", "label")  # it strings labels together: an empty one says nothing
    theirs = nx.weisfeiler_lehman_subgraph_hashes(graph, node_attr="label", iterations=3)
    inside = np.array(sorted(theirs))  # it knows the ends of edges only
    for depth in (1, 2, 3):
        ours = colours_at(structure(network), depth)[inside]
        assert same_partition(ours, np.array([theirs[v][depth - 1] for v in inside]))


def test_karate_club():
    graph = igraph.Graph.Famous("Zachary")
    found = list(islice(refinements(structure(of(graph))), 5))[1:]
    assert [classes(c) for c in found] == [11, 27, 27, 27]
    assert [round(100 * unique_share(c), 1) for c in found] == [17.6, 67.6, 67.6, 67.6]
    stable = stable_colours(structure(of(graph)))[0]
    assert graph.count_automorphisms() == 480
    assert same_partition(stable, orbits(graph))
    assert classes(stable) == 27


@pytest.mark.parametrize("name", GOLDEN)
def test_classes_of_real_networks(gaudit_data, name):
    graph = structure(snap(gaudit_data, name))
    found = [*list(islice(refinements(graph), 5))[1:], stable_colours(graph)[0]]
    sizes, shares = GOLDEN[name]
    assert tuple(classes(c) for c in found) == sizes
    for colours, share in zip(found[:-1], shares, strict=True):
        assert 100 * unique_share(colours) == pytest.approx(share, abs=0.06)  # given to one decimal


@pytest.mark.parametrize("name", ["ca-GrQc", "ca-HepTh"])
def test_stable_classes_of_real_networks_are_orbits(gaudit_data, name):
    network = snap(gaudit_data, name)
    found = orbits(network.igraph())
    assert same_partition(stable_colours(structure(network))[0], found)
    assert classes(found) == GOLDEN[name][0][-1]

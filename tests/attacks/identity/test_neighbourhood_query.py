"""Identities by the subgraphs of neighbours."""

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gaudit.attacks.identity.colour_refinement import classes, unique_share
from gaudit.attacks.identity.neighbourhood_query import NeighbourhoodQuery
from gaudit.graphs.neighbourhoods import canonical_forms, digests, neighbourhoods
from gaudit.graphs.network import Network, Original
from support.random_networks import NOBODY, hits_with_facts_of_others, network_of_share
from support.snap import snap


def egos(network):
    graph = nx.empty_graph(network.nodes)
    graph.add_edges_from(network.edges.T.tolist())
    return [graph.subgraph(graph[v]) for v in range(network.nodes)]


def polblogs(folder):
    """Blogs with a link; direction and loops dropped."""
    rows = pd.read_csv(folder / "PolBlogs/raw/adjacency.tsv", sep=r"\s+", header=None, usecols=[0, 1]).to_numpy()
    rows = np.unique(np.sort(rows[rows[:, 0] != rows[:, 1]], axis=1), axis=0)
    ids, ends = np.unique(rows, return_inverse=True)
    return Network.from_edges(len(ids), *ends.reshape(-1, 2).T)


def by_colours_and_vf2(network):
    """The class of each neighbourhood: VF2 among those with the same degrees of neighbours."""
    graph, known, found = network.igraph(), {}, []
    for node in range(network.nodes):
        ego = graph.induced_subgraph(graph.neighbors(node))
        degrees = ego.degree()
        seen = [(degrees[v], *sorted(degrees[w] for w in ego.neighbors(v))) for v in range(ego.vcount())]
        names = {colour: i for i, colour in enumerate(sorted(set(seen)))}
        colours = [names[colour] for colour in seen]
        alike = known.setdefault(tuple(sorted(seen)), [])
        hits = [name for other, c, name in alike if ego.isomorphic_vf2(other, color1=colours, color2=c)]
        if not hits:
            alike.append((ego, colours, node))
        found.append(hits[0] if hits else node)
    return np.array(found)


@given(st.integers(1, 11), st.integers(1, 11), st.floats(0.1, 0.9), st.integers(0, 999))
def test_candidates_have_an_isomorphic_neighbourhood(people, nodes, share, seed):
    original, published = network_of_share(people, share, seed), network_of_share(nodes, share, seed + 1)
    attack, rng = NeighbourhoodQuery(), np.random.default_rng(0)
    found = attack.candidates(published, attack.learn(Original(original), rng), NOBODY, rng)
    theirs = egos(published)
    for person, ego in enumerate(egos(original)):
        alike = [v for v, other in enumerate(theirs) if nx.is_isomorphic(ego, other)]
        assert found.of(person).tolist() == alike


def test_forms_agree_with_isomorphism_on_larger_neighbourhoods():
    """60 nodes, neighbourhoods of 10 to 30: planted copies under other ids beside ones that differ."""
    network = network_of_share(60, 0.35, 0)
    new = np.random.default_rng(1).permutation(60)
    forms = [*canonical_forms(network), *canonical_forms(network.renamed(new))]
    graphs = [*egos(network), *egos(network.renamed(new))]
    rng = np.random.default_rng(2)
    pairs = [(v, 60 + new[v]) for v in range(60)] + rng.integers(120, size=(400, 2)).tolist()
    for one, other in pairs:
        assert (forms[one] == forms[other]) == nx.is_isomorphic(graphs[one], graphs[other])


def test_regular_neighbourhoods_that_refinement_confuses_are_told_apart():
    """Beside node 0 a hexagon, beside node 7 two triangles: every neighbour has two neighbours among the six."""
    hexagon = [(1 + i, 1 + (i + 1) % 6) for i in range(6)]
    triangles = [(8 + 3 * t + i, 8 + 3 * t + (i + 1) % 3) for t in range(2) for i in range(3)]
    spokes = [(c, c + 1 + i) for c in (0, 7) for i in range(6)]
    found = digests(Network.from_edges(14, *np.array(hexagon + triangles + spokes).T))
    assert found[0] != found[7]


@given(st.integers(1, 15), st.floats(0.1, 0.9), st.integers(0, 999))
def test_digests_do_not_depend_on_ids(nodes, share, seed):
    network, new = network_of_share(nodes, share, seed), np.random.default_rng(seed).permutation(nodes)
    assert np.array_equal(digests(network.renamed(new))[new], digests(network))


@given(st.integers(1, 20), st.floats(0.0, 0.9), st.integers(0, 999))
def test_neighbourhoods_hold_every_triangle_three_times(nodes, share, seed):
    network = network_of_share(nodes, share, seed)
    listed = list(neighbourhoods(network))
    assert [degree for degree, _ in listed] == network.degrees.tolist()
    corners = np.array(network.igraph().list_triangles(), dtype=np.int64).ravel()
    assert [len(edges) for _, edges in listed] == np.bincount(corners, minlength=nodes).tolist()
    assert all(
        (edges < degree).all() and (edges[:, 0] != edges[:, 1]).all() for degree, edges in listed if len(edges)
    )


def test_planted_neighbourhoods_are_found_exactly():
    """A dense random network: no two neighbourhoods are isomorphic."""
    network, rng = network_of_share(70, 0.4, 3), np.random.default_rng(4)
    attack, new = NeighbourhoodQuery(), rng.permutation(70)
    found = attack.candidates(network.renamed(new), attack.learn(Original(network), rng), NOBODY, rng)
    assert (found.sizes == 1).all()
    assert np.array_equal(found.listed[found.start], new)


def test_null_where_facts_belong_to_others_persons_are_found_by_chance():
    """A random person's facts lead to a person with probability 1 / n: hits are Poisson, error rate 1 in 1000."""
    runs, rng = 20, np.random.default_rng(5)
    hits = hits_with_facts_of_others(NeighbourhoodQuery(), network_of_share(70, 0.4, 3), runs, rng)
    assert poisson.ppf(0.0005, runs) <= hits <= poisson.isf(0.0005, runs)


def test_null_without_triangles_only_the_degree_is_told():
    tree = Network.from_edges(40, np.arange(1, 40), (np.arange(1, 40) - 1) // 3)
    attack, rng = NeighbourhoodQuery(), np.random.default_rng(0)
    found = attack.candidates(tree, attack.learn(Original(tree), rng), NOBODY, rng)
    for person in range(40):
        assert found.of(person).tolist() == np.flatnonzero(tree.degrees == tree.degrees[person]).tolist()


def test_accounts_are_no_persons_and_a_release_of_numbers_leaves_everybody():
    network = network_of_share(12, 0.5, 0)
    attack, rng = NeighbourhoodQuery(), np.random.default_rng(0)
    facts = attack.learn(Original(network, accounts=2), rng)
    assert len(facts["neighbourhoods"]) == 10
    told = Network(12, network.edges[:, :0], groups=np.zeros(12, int), counts=np.array([[0, 0, 0, network.size]]))
    found = attack.candidates(told, facts, NOBODY, rng)
    assert found.sizes.tolist() == [12] * 10


def test_karate_club():
    network = Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)
    found = digests(network)
    assert (classes(found), round(34 * unique_share(found))) == (20, 16)


@pytest.mark.parametrize(
    ("name", "count", "alone"), [("ca-GrQc", 857, 689), ("ca-HepTh", 1922, 1633), ("polblogs", 830, 790)]
)
def test_classes_of_real_networks(gaudit_data, name, count, alone):
    network = polblogs(gaudit_data) if name == "polblogs" else snap(gaudit_data, name)
    found = digests(network)
    assert (classes(found), round(network.nodes * unique_share(found))) == (count, alone)


def test_classes_of_a_real_network_are_those_of_vf2(gaudit_data):
    network = snap(gaudit_data, "ca-GrQc")
    found, other = digests(network), by_colours_and_vf2(network)
    pairs = np.unique(np.stack([found, other], 1), axis=0)
    assert len(pairs) == classes(found) == classes(other)

"""Identities by a few known edges."""

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from gaudit.attacks.identity.rooted_embedding import FREE, Graph, Pattern, roomy
from gaudit.attacks.identity.rooted_search import MOST_EDGES, RootedSearch
from gaudit.attacks.identity.subgraph_query import SubgraphQuery, grown
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from support.random_networks import NOBODY, network_of_share

ENOUGH = 10**7
GROWTHS = ("breadth", "walk")


def roots(network, pattern, trials=ENOUGH):
    return RootedSearch(network.adjacency).roots(np.array(pattern, dtype=np.int64).reshape(-1, 2), trials)


def by_lad(network, pattern):
    """The same by igraph's LAD: every vertex anywhere, the root at each node in turn."""
    graph, wanted = network.igraph(), igraph.Graph(n=int(pattern.max(initial=0)) + 1, edges=pattern.tolist())
    anywhere = list(range(network.nodes))
    rest = [anywhere] * (wanted.vcount() - 1)
    if wanted.vcount() > network.nodes:
        return []
    return [v for v in anywhere if graph.subisomorphic_lad(wanted, domains=[[v], *rest], induced=False)]


@given(
    st.integers(1, 9),
    st.integers(2, 9),
    st.floats(0.1, 0.9),
    st.integers(1, 14),
    st.sampled_from(GROWTHS),
    st.data(),
)
def test_roots_are_those_of_lad(nodes, people, share, edges, growth, data):
    seed = data.draw(st.integers(0, 9999))
    rng = np.random.default_rng(seed)
    pattern = grown(network_of_share(people, share, seed).adjacency, 0, edges, growth, rng)
    published = network_of_share(nodes, share, seed + 1)
    found, undecided = roots(published, pattern)
    assert undecided == 0
    assert found.tolist() == by_lad(published, pattern)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("share", [0.06, 0.12])
def test_roots_of_larger_networks_are_those_of_lad(growth, share):
    """Patterns of one network in another of the same law."""
    known, published = network_of_share(50, share, 0), network_of_share(50, share, 1)
    numbers = []
    for seed in range(12):
        pattern = grown(known.adjacency, seed, 14, growth, np.random.default_rng(seed))
        found, undecided = roots(published, pattern)
        assert undecided == 0
        assert found.tolist() == by_lad(published, pattern)
        numbers.append(len(found))
    assert len(set(numbers)) > 2


def test_networkx_knows_the_same_roots():
    network, rng = network_of_share(14, 0.3, 3), np.random.default_rng(0)
    pattern = grown(network_of_share(14, 0.3, 4).adjacency, 2, 8, "breadth", rng)
    host, wanted = network.edges.T.tolist(), nx.from_edgelist(pattern.tolist())
    found = []
    for root in range(14):
        marked = nx.empty_graph(14)
        marked.add_edges_from(host)
        nx.set_node_attributes(marked, {v: v == root for v in range(14)}, "root")
        nx.set_node_attributes(wanted, {v: v == 0 for v in wanted}, "root")
        alike = nx.algorithms.isomorphism.GraphMatcher(marked, wanted, lambda a, b: a["root"] or not b["root"])
        found += [root] if alike.subgraph_is_monomorphic() else []
    assert 0 < len(found) < 14
    assert roots(network, pattern)[0].tolist() == found


@given(st.integers(2, 25), st.floats(0.05, 0.6), st.integers(1, 30), st.sampled_from(GROWTHS), st.integers(0, 999))
def test_what_is_known_of_a_person_is_there(nodes, share, edges, growth, seed):
    """Connected edges that exist, each once, and no fewer than asked for unless the component has no more."""
    network = network_of_share(nodes, share, seed)
    found = grown(network.adjacency, 0, edges, growth, np.random.default_rng(seed))
    component = network.igraph().subcomponent(0)
    assert len(found) == min(edges, network.igraph().induced_subgraph(component).ecount())
    assert len(np.unique(np.sort(found, axis=1), axis=0)) == len(found)
    seen = 1
    for one, other in found.tolist():
        assert one < seen  # it is reached before it is left
        assert other <= seen
        seen = max(seen, other + 1)
    assert 0 in roots(network, found, 5000)[0]


@given(st.integers(2, 20), st.floats(0.1, 0.6), st.sampled_from(GROWTHS), st.integers(0, 999))
def test_more_edges_leave_fewer_candidates(nodes, share, growth, seed):
    network = network_of_share(nodes, share, seed)
    longest = grown(network.adjacency, 0, 12, growth, np.random.default_rng(seed))
    last = np.arange(nodes)
    for size in range(len(longest) + 1):
        again = grown(network.adjacency, 0, size, growth, np.random.default_rng(seed)) if size else longest[:0]
        assert np.array_equal(again, longest[:size])
        found, undecided = roots(network, again)
        assert undecided == 0
        assert np.isin(found, last).all()
        last = found


def test_breadth_takes_the_nearest_edges_first():
    network = network_of_share(40, 0.1, 5)
    far = np.array(network.igraph().distances(0)[0])
    for seed in range(5):
        found = grown(network.adjacency, 0, int(far[far < np.inf].size), "breadth", np.random.default_rng(seed))
        assert (found[: network.degrees[0], 0] == 0).all()
        assert (np.diff(found[:, 0]) >= 0).all()


@pytest.mark.parametrize("leaves", [1, 3, 7, 20])
def test_a_star_is_known_by_its_degree(leaves):
    network = network_of_share(60, 0.1, 6)
    found, _ = roots(network, [(0, leaf) for leaf in range(1, leaves + 1)])
    assert found.tolist() == np.flatnonzero(network.degrees >= leaves).tolist()


def test_a_subgraph_need_not_be_induced():
    """A path of three nodes lies in a triangle, from its middle and from its end."""
    triangle = Network.from_edges(3, [0, 0, 1], [1, 2, 2])
    assert len(roots(triangle, [(0, 1), (0, 2)])[0]) == len(roots(triangle, [(0, 1), (1, 2)])[0]) == 3


@pytest.mark.parametrize(("free", "fits"), [(4, True), (3, False)])
def test_leaves_of_neighbours_need_places_of_their_own(free, fits):
    """Two linked nodes with two leaves each: where they share all other neighbours, there must be four of these."""
    others = np.arange(2, 2 + free)
    ends = [0, *np.zeros(free, int), *np.ones(free, int)], [1, *others, *others]
    network = Network.from_edges(2 + free, *ends)
    found, _ = roots(network, [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5)])
    assert np.isin([0, 1], found).all() == fits


def test_leaves_make_room_for_each_other():
    """Node 1 has 3 and 4 to choose from, node 2 only 3: the leaf of 1 has to be 4, wherever one begins."""
    network = Network.from_edges(5, [0, 0, 1, 1, 2], [1, 2, 3, 4, 3])
    assert 0 in roots(network, [(0, 1), (0, 2), (1, 3), (2, 4)])[0]
    tight = Network.from_edges(5, [0, 0, 1, 2, 3], [1, 2, 3, 3, 4])
    assert 0 not in roots(tight, [(0, 1), (0, 2), (1, 3), (2, 4)])[0]


@given(st.integers(3, 14), st.floats(0.1, 0.6), st.integers(1, 5), st.integers(0, 9999))
def test_room_for_leaves_is_a_bipartite_matching(nodes, share, core, seed):
    """A row for each leaf of the first nodes, a column for each node that is none of these."""
    network, rng = network_of_share(nodes, share, seed), np.random.default_rng(seed)
    core = min(core, nodes - 1)
    leaves = np.minimum(rng.integers(0, 4, core), network.degrees[:core])
    beside = network.adjacency.toarray()[:core, core:]
    matched = maximum_bipartite_matching(csr_array(np.repeat(beside, leaves, axis=0)), perm_type="column")
    search, owner, none = RootedSearch(network.adjacency), np.full(nodes, FREE), np.zeros(0, dtype=np.int64)
    pattern = Pattern(none, none, none, leaves, np.array([nodes]))  # so many vertices: no node has room in any case
    graph = Graph(search.start, search.near, search.tried)
    assert roomy(graph, pattern, np.arange(core), owner) == (matched >= 0).all()
    assert (owner == FREE).all()


@pytest.mark.parametrize(("steps", "some"), [(12, True), (14, False)])
def test_undecided_nodes_stay_candidates_and_are_counted(steps, some):
    """Three cliques of six around one node: a path crosses it once, so it has 13 nodes at most of the 19."""
    pairs = np.stack(np.triu_indices(6, 1))
    cliques = [pairs + 6 * i for i in range(3)]
    network = Network.from_edges(19, *np.concatenate([*cliques, [[0, 6, 12], [18, 18, 18]]], axis=1))
    path = [(i, i + 1) for i in range(steps)]
    exact, undecided = roots(network, path)
    assert undecided == 0
    assert exact.tolist() == ([v for v in range(18) if v % 6] if some else [])
    early, unsure = roots(network, path, 100)
    assert np.isin(exact, early).all()
    assert unsure >= len(early) - len(exact) > 0


@pytest.mark.parametrize("growth", GROWTHS)
def test_planted_subgraphs_are_found_exactly(growth):
    """Components of ten edges each, no two alike, of which all edges are known: a person is told up to symmetry."""
    trees, rng = [], np.random.default_rng(0)
    while len(trees) < 10:
        parents = [int(rng.integers(v)) for v in range(1, 11)]
        tree = nx.Graph([(p, v) for v, p in enumerate(parents, start=1)])
        if not any(nx.is_isomorphic(tree, other) for other in trees):
            trees.append(tree)
    edges = np.concatenate([11 * i + np.array(tree.edges) for i, tree in enumerate(trees)])
    network = Network.from_edges(110, *edges.T)
    new = rng.permutation(110)
    attack = SubgraphQuery(growth=growth, persons=110)
    found = attack.candidates(network.renamed(new), attack.learn(Original(network), rng), NOBODY, rng)
    for person in range(110):
        tree, own = trees[person // 11], person % 11
        like = [v for v in tree if alike(tree, own, v)]
        assert found.of(person).tolist() == sorted(new[11 * (person // 11) + np.array(like)])
    assert (found.sizes == 1).mean() > 0.4
    assert attack.undecided == 0


def alike(tree, one, other):
    """Whether an automorphism takes one node of a tree to another."""
    first, second = tree.copy(), tree.copy()
    nx.set_node_attributes(first, {v: v == one for v in tree}, "root")
    nx.set_node_attributes(second, {v: v == other for v in tree}, "root")
    return nx.is_isomorphic(first, second, lambda a, b: a["root"] == b["root"])


def test_null_where_facts_belong_to_others_persons_are_found_by_chance():
    """A fact with c candidates reaches one of them with chance c / n, who is then right with 1 / c: 1 / n in all.

    The mean over 200 draws of all persons' facts lies within 4 standard errors of 1 / n, which once in 15,000 times
    it does not.
    """
    network, rng = network_of_share(80, 0.08, 7), np.random.default_rng(8)
    attack, new = SubgraphQuery(edges=14, persons=80), rng.permutation(80)
    facts, published = attack.learn(Original(network), rng), network.renamed(new)
    own = attack.candidates(published, facts, NOBODY, rng).probability(np.arange(80), new)
    assert own.min() > 0
    assert own.mean() > 2 / 80  # with one's own facts it is no chance
    sets = attack.candidates(published, facts, NOBODY, rng)
    means = []
    for _ in range(200):
        order = rng.permutation(80)
        shuffled = type(sets)(sets.start[order], sets.sizes[order], sets.listed)
        means.append(shuffled.probability(np.arange(80), new).mean())
    assert abs(np.mean(means) - 1 / 80) < 4 * np.std(means) / np.sqrt(200)


def test_of_persons_that_were_not_drawn_nothing_is_known():
    network, rng = network_of_share(60, 0.1, 9), np.random.default_rng(0)
    attack = SubgraphQuery(persons=7)
    facts = attack.learn(Original(network, accounts=10), rng)
    assert facts["edges"].shape == (50, 15, 2)
    known = (facts["edges"][:, 0, 0] >= 0).nonzero()[0]
    assert len(known) == 7
    found = attack.candidates(network, facts, NOBODY, rng)
    assert (np.delete(found.sizes, known) == 60).all()
    assert all(person in found.of(person) for person in known)


def test_without_links_there_is_nothing_to_know():
    lonely, rng = Network.from_edges(4, [0], [1]), np.random.default_rng(0)
    attack = SubgraphQuery(persons=4)
    found = attack.candidates(lonely, attack.learn(Original(lonely), rng), NOBODY, rng)
    assert found.sizes.tolist() == [2, 2, 4, 4]


def test_a_release_of_numbers_of_edges_leaves_everybody():
    network, rng = network_of_share(20, 0.3, 0), np.random.default_rng(0)
    attack = SubgraphQuery()
    told = Network(20, network.edges[:, :0], groups=np.zeros(20, int), counts=np.array([[0, 0, 0, network.size]]))
    found = attack.candidates(told, attack.learn(Original(network), rng), NOBODY, rng)
    assert (found.sizes == 20).all()


def test_a_seed_draws_the_persons_and_the_edges():
    network = network_of_share(60, 0.1, 9)
    attack = SubgraphQuery(persons=20)
    facts = [attack.learn(Original(network), np.random.default_rng(s))["edges"] for s in (1, 1, 2)]
    known = [np.flatnonzero(f[:, 0, 0] >= 0).tolist() for f in facts]
    assert np.array_equal(facts[0], facts[1])
    assert known[0] != known[2]


@pytest.mark.parametrize("setting", [{"edges": 0}, {"edges": MOST_EDGES + 1}, {"growth": "depth"}, {"persons": 0}])
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(InputError, match=f"setting '{next(iter(setting))}' of attack 'subgraph-query'"):
        SubgraphQuery(**setting)


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_longest_patterns_work(growth):
    network, rng = network_of_share(200, 0.03, 1), np.random.default_rng(0)
    attack = SubgraphQuery(edges=MOST_EDGES, growth=growth, persons=3)
    found = attack.candidates(network, facts := attack.learn(Original(network), rng), NOBODY, rng)
    known = (facts["edges"][:, 0, 0] >= 0).nonzero()[0]
    assert (facts["edges"][known] >= 0).all()
    assert all(person in found.of(person) for person in known)

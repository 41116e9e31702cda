"""What a published network keeps: each measure against another way to compute it."""

import itertools
import random
from collections import Counter

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import ks_2samp
from sklearn.metrics import adjusted_mutual_info_score

from gaudit.errors import InputError
from gaudit.graphs.files.network_file import read_network
from gaudit.graphs.measures import distances as network_distances
from gaudit.graphs.measures import spectra as network_spectra
from gaudit.graphs.measures.communities import adjusted_mutual_information, leiden
from gaudit.graphs.measures.comparison import closeness
from gaudit.graphs.measures.distances import distances
from gaudit.graphs.measures.influence import highest, spreads
from gaudit.graphs.measures.spectra import adjacency_radius, algebraic_connectivity, largest_component
from gaudit.graphs.measures.utility import MEASURES, overall, utility_of
from gaudit.graphs.network import Network

NAMES = [measure.name for measure in MEASURES]
BY_NODE = {"communities", "pagerank-top", "influence"}


def of_igraph(graph):
    edges = np.array(graph.simplify().get_edgelist(), dtype=np.int64).reshape(-1, 2)
    return Network.from_edges(graph.vcount(), edges[:, 0], edges[:, 1])


def of_networkx(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    ends = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    return Network.from_edges(len(graph), ends[:, 0], ends[:, 1])


def to_networkx(network):
    graph = nx.Graph()
    graph.add_nodes_from(range(network.nodes))
    graph.add_edges_from(network.edges.T.tolist())
    return graph


def random_network(nodes, edges, seed):
    return of_networkx(nx.gnm_random_graph(nodes, edges, seed=seed))


def rng(seed=0):
    return np.random.default_rng(seed)


def kept(before, after, name, seed=0):
    return utility_of(before, after, rng(seed), [name])[0]


@pytest.fixture(scope="module")
def karate():
    return of_igraph(igraph.Graph.Famous("Zachary"))


@pytest.fixture(scope="module")
def karate_rewired(karate):
    return of_networkx(nx.double_edge_swap(to_networkx(karate), 200, 10_000, seed=1))


@st.composite
def networks(draw, least=2, most=12, edges=1):
    nodes = draw(st.integers(least, most))
    pairs = list(itertools.combinations(range(nodes), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=edges, unique=True))
    ends = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    return Network.from_edges(nodes, ends[:, 0], ends[:, 1])


@st.composite
def pairs_of_networks(draw):
    """An original, and a published network that may have further nodes and no edges."""
    before = draw(networks())
    return before, draw(networks(before.nodes, before.nodes + 3, 0))


# ---- all measures


def test_measures_have_different_names_and_say_what_they_are():
    assert len(set(NAMES)) == len(NAMES) >= 12
    assert all(measure.definition for measure in MEASURES)
    assert {measure.name for measure in MEASURES if measure.by_node} == BY_NODE


@given(networks(), st.integers(0, 5))
@settings(max_examples=40)
def test_a_network_keeps_everything_of_itself(network, seed):
    for one in utility_of(network, network, rng(seed)):
        assert one.score == pytest.approx(1, abs=1e-12), one
        assert one.before == pytest.approx(one.after, abs=1e-12) or one.name == "communities"


@pytest.mark.parametrize("name", ["karate", "trees", "random"])
def test_identity_scores_one_on_larger_networks(karate, name):
    network = {
        "karate": karate,
        "trees": of_igraph(igraph.Graph.Tree(600, 3)),
        "random": random_network(600, 2000, 4),
    }[name]
    assert overall(utility_of(network, network, rng(3))) == pytest.approx(1, abs=1e-12)


@given(pairs_of_networks(), st.integers(0, 5))
@settings(max_examples=60)
def test_scores_lie_between_0_and_1(both, seed):
    found = utility_of(*both, rng(seed))
    assert [one.name for one in found] == NAMES
    assert all(0 <= one.score <= 1 for one in found)
    assert all(min(one.errors) >= 0 and np.isfinite(one.errors).all() for one in found)
    assert overall(found) == pytest.approx(sum(one.score for one in found) / len(found))


@given(pairs_of_networks())
@settings(max_examples=20)
def test_a_measure_says_the_same_alone_and_among_others(both):
    together = utility_of(*both, rng(7))
    assert together == tuple(measure(*both, rng(7)) for measure in MEASURES)
    assert utility_of(*both, rng(7), NAMES[::-2]) == together[::-2]


def test_the_global_generators_are_left_alone(karate):
    state, numpy_state = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    utility_of(karate, karate, rng())
    assert random.getstate() == state
    assert np.random.get_state()[1].tolist() == numpy_state  # noqa: NPY002
    random.seed(5)  # igraph draws from it again
    one = igraph.Graph.Erdos_Renyi(20, m=30).get_edgelist()
    random.seed(5)
    assert igraph.Graph.Erdos_Renyi(20, m=30).get_edgelist() == one


def test_weights_and_types_of_edges_make_no_difference(karate, karate_rewired):
    one, other = karate_rewired.edges
    twice = Network.from_edges(
        34,
        np.concatenate([one, one[:20]]),
        np.concatenate([other, other[:20]]),
        np.arange(98.0),
        np.concatenate([np.zeros(78, dtype=np.int64), np.ones(20, dtype=np.int64)]),
    )
    assert utility_of(karate, twice, rng(2)) == utility_of(karate, karate_rewired, rng(2))


@given(pairs_of_networks(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_measures_of_structure_do_not_ask_who_is_who(both, coins):
    before, after = both
    names = list(range(after.nodes))
    coins.shuffle(names)
    exact = [name for name in NAMES if name not in BY_NODE | {"modularity"}]  # Leiden depends on the order
    one, other = (
        utility_of(before, after, rng(), exact),
        utility_of(before, after.renamed(np.array(names)), rng(), exact),
    )
    for same, renamed in zip(one, other, strict=True):
        assert same.score == pytest.approx(renamed.score, abs=1e-9), same.name


def test_a_network_without_edges_keeps_next_to_nothing(karate):
    found = {one.name: one for one in utility_of(karate, Network.from_edges(34, [], []), rng())}
    gone = set(NAMES) - {"pagerank-top", "influence", "degree-distribution"}  # chance nodes spread a little
    assert {name for name in gone if found[name].score > 1e-9} == set()
    assert found["harmonic-distance"].after == np.inf
    assert found["degree-distribution"].score < 0.1


def test_a_random_network_of_the_same_size_loses_clustering(karate):
    found = [utility_of(karate, random_network(34, 78, seed), rng(seed)) for seed in range(20)]
    clustering = [one.score for kept in found for one in kept if one.name == "average-clustering"]
    assert np.mean(clustering) < 0.5  # 0.24 +- 0.02 over seeds
    assert all(overall(kept) < 0.85 for kept in found)


def test_switching_keeps_degrees_and_loses_triangles(karate, karate_rewired):
    found = {one.name: one.score for one in utility_of(karate, karate_rewired, rng())}
    assert found["degree-distribution"] == 1
    assert found["influence"] == 1  # the same nodes have the highest degree
    assert found["joint-degree"] < 0.8
    assert found["average-clustering"] < 0.8
    assert found["communities"] < 0.6


def test_isolated_nodes_behind_the_others_change_no_measure_by_node(karate):
    padded = Network(40, karate.edges)
    found = {one.name: one.score for one in utility_of(karate, padded, rng())}
    assert {name: found[name] for name in BY_NODE} == dict.fromkeys(BY_NODE, 1.0)
    assert found["degree-distribution"] == pytest.approx(1 - 6 / 40)
    assert found["algebraic-connectivity"] == found["spectral-radius"] == 1
    assert found["harmonic-distance"] < 1


BAD = {
    "an unknown measure": (lambda k: (k, k, ["clusterin"]), "unknown measure.*'clusterin'.*average-clustering"),
    "no edges to begin with": (
        lambda k: (Network.from_edges(34, [], []), k, None),
        "original network has no edges",
    ),
    "counts": (
        lambda k: (k, Network(34, np.empty((2, 0), dtype=np.int64), counts=np.array([[0, 0, 0, 5]])), None),
        "counts of edges between classes and no edges",
    ),
    "missing nodes": (lambda k: (k, Network.from_edges(30, [0], [1]), None), "lacks 4 nodes.*communities"),
    "no nodes": (lambda k: (k, Network.from_edges(0, [], []), ["transitivity"]), "no nodes"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_compared_is_refused_in_one_line(karate, case):
    make, message = BAD[case]
    before, after, names = make(karate)
    with pytest.raises(InputError, match=message) as refusal:
        utility_of(before, after, rng(), names)
    assert "\n" not in str(refusal.value)


def test_smaller_networks_can_be_compared_where_nobody_asks_who_is_who(karate):
    smaller = Network.from_edges(30, np.arange(29), np.arange(1, 30))
    names = [name for name in NAMES if name not in BY_NODE]
    assert len(utility_of(karate, smaller, rng(), names)) == len(names)


@pytest.mark.parametrize(
    ("before", "after", "score"),
    [
        (2, 2, 1),
        (2, 1, 0.5),
        (2, 3, 0.5),
        (2, 5, 0),
        (0, 0, 1),
        (0, 2e-16, 1),
        (2e-16, 0, 1),
        (0, 0.1, 0),
        (-0.5, -0.25, 0.5),
        (2, np.inf, 0),
    ],
)
def test_closeness_is_one_less_the_relative_error(before, after, score):
    assert closeness(before, after) == pytest.approx(score)


def test_overall_of_nothing_is_no_number():
    assert np.isnan(overall(()))


# ---- degrees


@given(pairs_of_networks())
@settings(max_examples=50)
def test_degree_distribution_is_kolmogorov_and_smirnovs_distance(both):
    before, after = both
    one = kept(before, after, "degree-distribution")
    distance = ks_2samp(before.degrees, after.degrees, method="asymp").statistic
    assert one.score == pytest.approx(1 - distance)
    assert (one.before, one.after) == pytest.approx((before.degrees.mean(), after.degrees.mean()))


@given(pairs_of_networks())
@settings(max_examples=50)
def test_joint_degree_is_half_the_l1_distance_of_degrees_at_edges(both):
    def shares(network):
        degree = dict(to_networkx(network).degree)
        counted = Counter(tuple(sorted((degree[u], degree[v]))) for u, v in network.edges.T.tolist())
        return {pair: count / network.size for pair, count in counted.items()}

    one, other = map(shares, both)
    gap = sum(abs(one.get(pair, 0) - other.get(pair, 0)) for pair in one | other)
    expected = 1 - gap / 2 if other else 0
    assert kept(*both, "joint-degree").score == pytest.approx(expected)


# ---- neighbourhoods


@given(pairs_of_networks())
@settings(max_examples=50)
def test_clustering_and_transitivity_are_those_of_networkx(both):
    for name, measure in (("average-clustering", nx.average_clustering), ("transitivity", nx.transitivity)):
        one = kept(*both, name)
        expected = [measure(to_networkx(network)) for network in both]
        assert (one.before, one.after) == pytest.approx(expected)
        assert one.score == pytest.approx(closeness(one.before, one.after))


# ---- distances


def all_distances(network):
    lengths = dict(nx.all_pairs_shortest_path_length(to_networkx(network)))
    return [d for u, row in lengths.items() for v, d in row.items() if u != v]


def by_hand(network):
    """Harmonic mean distance and effective diameter from all distances."""
    found = sorted(all_distances(network))
    pairs = network.nodes * (network.nodes - 1)
    harmonic = pairs / sum(1 / d for d in found) if found else np.inf
    wanted, count = 0.9 * len(found), Counter(found)
    below = 0
    for d in sorted(count):
        if below + count[d] >= wanted:
            return harmonic, d - 1 + (wanted - below) / count[d]
        below += count[d]
    return harmonic, 0.0


@given(pairs_of_networks())
@settings(max_examples=50)
def test_distances_from_all_nodes_are_exact(both):
    expected = [by_hand(network) for network in both]
    for name, place in (("harmonic-distance", 0), ("effective-diameter", 1)):
        one = kept(*both, name)
        assert (one.before, one.after) == pytest.approx((expected[0][place], expected[1][place]))
        assert one.errors == (0, 0)


def test_long_paths_are_searched_to_their_end():
    path = Network.from_edges(101, np.arange(100), np.arange(1, 101))
    found = distances(path, rng())
    assert found.reached.shape == (101, 100)
    assert found.reached.sum() == 101 * 100
    assert found.effective_diameter.value == pytest.approx(by_hand(path)[1])


@pytest.mark.parametrize(("nodes", "edges"), [(300, 900), (60, 30), (80, 79)])  # with a long path: 79 in a row
def test_compiled_searches_find_the_same(nodes, edges, monkeypatch):
    graph = nx.path_graph(nodes) if edges == nodes - 1 else nx.gnm_random_graph(nodes, edges, seed=1)
    network = of_networkx(graph)
    monkeypatch.setattr(network_distances, "FEW_STEPS", 10**9)
    plain = distances(network, rng())
    monkeypatch.setattr(network_distances, "FEW_STEPS", 0)
    compiled = distances(network, rng())
    assert plain.reached.dtype == compiled.reached.dtype
    np.testing.assert_array_equal(plain.reached, compiled.reached)


# ---- spectra


def dense(network):
    """Both eigenvalues from all of them; the component by networkx."""
    graph = to_networkx(network)
    part = max(nx.connected_components(graph), key=len)
    adjacency = nx.to_numpy_array(graph.subgraph(sorted(part)))
    laplacian = np.diag(adjacency.sum(1)) - adjacency
    return np.linalg.eigvalsh(adjacency)[-1], np.sort(np.linalg.eigvalsh(laplacian))[min(1, len(part) - 1)]


def test_the_spectrum_of_karate(karate):
    component = largest_component(karate)
    assert adjacency_radius(component, rng()).value == pytest.approx(6.7257, abs=5e-5)
    assert algebraic_connectivity(component, rng()).value == pytest.approx(0.4685, abs=5e-5)


@given(pairs_of_networks())
@settings(max_examples=50)
def test_eigenvalues_are_those_of_the_dense_matrices(both):
    sizes = [sorted(map(len, nx.connected_components(to_networkx(network)))) for network in both]
    if any(len(size) > 1 and size[-1] == size[-2] for size in sizes):
        return  # which component is the largest is open
    expected = np.array([dense(network) for network in both])
    for place, name in enumerate(("spectral-radius", "algebraic-connectivity")):
        one = kept(*both, name)
        assert (one.before, one.after) == pytest.approx(tuple(expected[:, place]), abs=1e-9)


def whiskers(seed):
    """A dense core with long paths and trees on it, where small eigenvalues live."""
    graph = nx.barabasi_albert_graph(100, 4, seed=seed)
    for root in range(5):
        graph.add_edges_from(itertools.pairwise([root, *((root, k) for k in range(20))]))
    return of_networkx(graph)


LARGE = {
    "random": lambda: random_network(200, 800, 1),
    "sparse, in parts": lambda: random_network(400, 350, 2),
    "hubs": lambda: of_networkx(nx.barabasi_albert_graph(200, 3, seed=3)),
    "tree": lambda: of_networkx(nx.random_labeled_tree(200, seed=4)),
    "star": lambda: of_networkx(nx.star_graph(200)),
    "ring": lambda: of_networkx(nx.circulant_graph(200, [1, 2])),
    "grid": lambda: of_networkx(nx.grid_2d_graph(14, 15)),
    "complete": lambda: of_networkx(nx.complete_graph(120)),
    "whiskers": lambda: whiskers(5),
    "two parts with one bridge": lambda: of_networkx(nx.barbell_graph(60, 3)),
}


@pytest.mark.parametrize("widest", [0, 10**6], ids=["iterated", "inverted"])
@pytest.mark.parametrize("name", LARGE)
def test_sparse_methods_agree_with_dense_ones(name, widest, monkeypatch):
    network = LARGE[name]()
    expected = dense(network)
    monkeypatch.setattr(network_spectra, "SMALL", 10)
    monkeypatch.setattr(network_spectra, "WIDEST", widest)
    component = largest_component(network)
    radius, connectivity = adjacency_radius(component, rng()), algebraic_connectivity(component, rng())
    assert radius.value == pytest.approx(expected[0], rel=1e-5)
    assert connectivity.value == pytest.approx(expected[1], rel=1e-4)
    is_tree = component.nnz == 2 * (component.shape[0] - 1)
    assert connectivity.method == ("LOBPCG" if not widest and not is_tree else "Lanczos on the inverse")
    assert connectivity.residual <= 2e-3 * connectivity.value


def test_a_long_path_on_a_dense_core_is_found_by_either_method(monkeypatch):
    """Its eigenvalue is below 1e-6, where all others of the core are above 100."""
    graph = nx.gnm_random_graph(300, 30_000, seed=1)
    graph.add_edges_from(itertools.pairwise([0, *range(300, 3300)]))
    component = largest_component(of_networkx(graph))
    one = algebraic_connectivity(component, rng())
    monkeypatch.setattr(network_spectra, "WIDEST", 0)
    other = algebraic_connectivity(component, rng())
    assert (one.method, other.method) == ("Lanczos on the inverse", "LOBPCG")
    assert other.value == pytest.approx(one.value, rel=1e-5)
    assert one.value < 1e-6


def test_what_did_not_converge_says_so(monkeypatch):
    """Eigenvalues of a long path lie close to each other; what was found is still within its residual of one."""
    monkeypatch.setattr(network_spectra, "ROUNDS", 1)
    monkeypatch.setattr(network_spectra, "STEPS", 4)
    path = largest_component(Network.from_edges(900, np.arange(899), np.arange(1, 900)))
    found = adjacency_radius(path, rng())
    exact = 2 * np.cos(np.arange(1, 901) * np.pi / 901)
    assert found.method.startswith("LOBPCG, off by")
    assert np.abs(exact - found.value).min() <= found.residual


def test_of_components_of_one_size_the_first_counts():
    network = Network.from_edges(8, [0, 1, 4, 5, 5], [1, 2, 5, 6, 7])
    assert largest_component(network).shape == (4, 4)
    twins = Network.from_edges(6, [0, 1, 3, 4, 3], [1, 2, 4, 5, 5])
    assert largest_component(twins).nnz == 4


# ---- communities


@given(st.data(), st.integers(2, 40))
@settings(max_examples=80)
def test_adjusted_mutual_information_is_that_of_scikit_learn(data, size):
    one, other = (
        np.array(data.draw(st.lists(st.integers(0, data.draw(st.integers(0, size))), min_size=size, max_size=size)))
        for _ in range(2)
    )
    expected = adjusted_mutual_info_score(one, other)
    assert adjusted_mutual_information(one, other) == pytest.approx(expected, abs=1e-8)
    assert adjusted_mutual_information(one, one) == pytest.approx(1)


def test_adjusted_mutual_information_of_shuffled_parts_is_0_on_average():
    """Standard error of the mean of 300 shuffles is 0.0007: 4 of them."""
    one, coins = np.arange(300) % 7, rng(1)
    found = [adjusted_mutual_information(one, coins.permutation(one)) for _ in range(300)]
    assert abs(np.mean(found)) < 0.003


def test_adjusted_mutual_information_of_many_small_parts_is_fast():
    """50,000 single nodes on each side: 2.5e9 pairs of parts, and two sizes."""
    one = np.concatenate([np.arange(50_000), np.full(50_000, 50_000)])
    value = adjusted_mutual_information(one, one[::-1].copy())
    assert -1 < value < 0
    assert adjusted_mutual_information(one, one) == 1


@given(networks(3, 12))
@settings(max_examples=40)
def test_modularity_is_that_of_the_communities(network):
    label, modularity = leiden(network, rng(1))
    parts = [set(np.flatnonzero(label == part).tolist()) for part in np.unique(label)]
    assert modularity == pytest.approx(nx.community.modularity(to_networkx(network), parts))
    again, _ = leiden(network, rng(1))
    assert (label == again).all()


def test_communities_of_cliques_are_found_and_lost():
    cliques = of_networkx(nx.connected_caveman_graph(10, 8))
    one = kept(cliques, cliques, "communities")
    assert (one.before, one.after, one.score) == (1, 1, 1)
    shuffled = cliques.renamed(rng(3).permutation(80))
    assert kept(cliques, shuffled, "modularity").score > 0.98
    assert kept(cliques, shuffled, "communities").score < 0.15


# ---- PageRank


def test_pagerank_of_the_highest_nodes_is_that_of_networkx():
    before = of_networkx(nx.barabasi_albert_graph(500, 3, seed=1))
    after = of_networkx(nx.barabasi_albert_graph(500, 3, seed=2))

    def top(network):
        rank = nx.pagerank(to_networkx(network), tol=1e-12, max_iter=1000)
        return set(sorted(rank, key=rank.get)[-5:])

    expected = len(top(before) & top(after)) / 5
    assert 0 < expected < 1
    assert kept(before, after, "pagerank-top").score == pytest.approx(expected)


def test_highest_decides_between_equals_by_priority():
    values, priority = np.array([3, 1, 3, 3, 2]), np.array([0.9, 0.0, 0.1, 0.5, 0.0, 7.0])
    assert highest(values, 2, priority).tolist() == [2, 3]
    assert highest(values, 4, priority).tolist() == [0, 2, 3, 4]


# ---- influence


def spread_by_hand(network, seeds):
    """The expected number of nodes reached, over all outcomes of all coins."""
    arcs = [(u, v) for u, v in network.edges.T.tolist()] + [(v, u) for u, v in network.edges.T.tolist()]
    chance = [1 / network.degrees[v] for _, v in arcs]
    total = 0.0
    for coins in itertools.product([False, True], repeat=len(arcs)):
        weight = np.prod([p if coin else 1 - p for p, coin in zip(chance, coins, strict=True)])
        live = nx.DiGraph([arc for arc, coin in zip(arcs, coins, strict=True) if coin])
        live.add_nodes_from(range(network.nodes))
        total += weight * len(set(seeds).union(*(nx.descendants(live, seed) for seed in seeds)))
    return total


@pytest.mark.parametrize("seeds", [[0], [1, 4], [3]])
def test_cascades_reach_as_many_as_all_outcomes_say(seeds):
    """Within 4 standard errors of 4,000 cascades: one of 3 tests fails by chance in 5,000."""
    network = Network.from_edges(6, [0, 0, 0, 1, 3], [1, 2, 3, 2, 4])
    found = spreads(network, [np.array(seeds)], rng(5), 4000)[0]
    assert found.mean() == pytest.approx(spread_by_hand(network, seeds), abs=4 * found.std() / np.sqrt(4000))


def test_cascades_from_the_same_nodes_are_the_same_and_nobody_reaches_nobody(karate):
    same = spreads(karate, [np.array([0, 33]), np.array([33, 0]), np.empty(0, dtype=np.int64)], rng(), 50)
    assert (same[0] == same[1]).all()
    assert not same[2].any()


def test_seeds_from_a_network_that_points_elsewhere_reach_fewer():
    star = Network.from_edges(100, np.zeros(99, dtype=np.int64), np.arange(1, 100))
    other = Network.from_edges(100, np.full(99, 7), np.delete(np.arange(100), 7))
    one = kept(star, other, "influence")
    assert one.before == 100  # leaves have degree 1: each is reached
    assert one.after < 20  # the hub is reached with probability 1 / 99
    assert one.score == pytest.approx(one.after / one.before)
    assert one.errors[0] == 0


def test_added_nodes_spread_nothing():
    star = Network.from_edges(100, np.zeros(99, dtype=np.int64), np.arange(1, 100))
    fake = Network.from_edges(201, np.full(200, 200), np.arange(200))  # the hub is an added node
    assert kept(star, fake, "influence").score == 0
    assert kept(star, fake, "pagerank-top").score == 0


# ---- real networks


def test_a_random_network_keeps_the_size_of_ca_hepth_and_little_else(gaudit_data):
    real = read_network(gaudit_data / "snap/ca-HepTh.txt.gz").network
    found = {one.name: one for one in utility_of(real, random_network(real.nodes, real.size, 1), rng())}
    assert found["average-clustering"].before == pytest.approx(0.4714, abs=1e-4)
    assert found["average-clustering"].score < 0.01
    assert found["communities"].score < 0.05
    assert found["harmonic-distance"].score > 0.5
    assert found["algebraic-connectivity"].before == pytest.approx(0.024419, abs=1e-5)
    assert isinstance(largest_component(real), csr_array)


def with_random_edges(network, share, coins):
    """A share of the edges in places drawn uniformly."""
    drawn = np.sort(coins.integers(network.nodes, size=(2, 3 * network.size)), axis=0)
    fresh = np.setdiff1d((drawn[0] * network.nodes + drawn[1])[drawn[0] < drawn[1]], network.codes)
    gone = round(share * network.size)
    codes = np.concatenate([coins.permutation(network.codes)[gone:], coins.permutation(fresh)[:gone]])
    return Network.from_edges(network.nodes, codes // network.nodes, codes % network.nodes)


def test_utility_falls_as_edges_are_replaced(gaudit_data):
    real = read_network(gaudit_data / "snap/ca-GrQc.txt.gz").network
    scores = [overall(utility_of(real, with_random_edges(real, share, rng()), rng())) for share in (0, 0.1, 0.4)]
    assert scores[0] == pytest.approx(1)
    assert scores[0] > scores[1] > scores[2]

"""Measures of large networks come from samples: intervals cover what all nodes say, and small ones are exact.

Each test of coverage draws 200 samples of a network whose exact value another way of computing gives. Intervals are
of 95 %: that 176 or fewer of 200 cover comes with a chance below 1e-4.
"""

import igraph
import networkx as nx
import numpy as np
import pytest

from gaudit.graphs.measures import comparison, triangles
from gaudit.graphs.measures import distances as network_distances
from gaudit.graphs.measures import estimate as estimates
from gaudit.graphs.measures.comparison import closeness
from gaudit.graphs.measures.distances import Distances, affordable_sources, distances
from gaudit.graphs.measures.estimate import Estimate, affordable, ratio, within
from gaudit.graphs.measures.influence import affordable_runs, spreads
from gaudit.graphs.measures.triangles import closed_triples, clustering
from gaudit.graphs.measures.utility import Kept, estimated, utility_of
from gaudit.graphs.network import Network
from gaudit.reports.console.kept_console import kept_lines
from gaudit.reports.formats.anonymised import utility_table

SAMPLES, LEAST = 200, 177


def network_of(graph):
    ends = np.array(nx.convert_node_labels_to_integers(graph).edges, dtype=np.int64).reshape(-1, 2)
    return Network.from_edges(len(graph), ends[:, 0], ends[:, 1])


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Searches are compiled, which many of them are worth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_distances, "FEW_STEPS", 0)
        yield


@pytest.fixture(scope="module")
def clustered():
    """Hubs and triangles: 500 nodes, 1,990 edges or so."""
    return network_of(nx.powerlaw_cluster_graph(500, 4, 0.6, seed=1))


@pytest.fixture(scope="module")
def rewired(clustered):
    graph = nx.Graph(clustered.edges.T.tolist())
    return network_of(nx.double_edge_swap(graph, 300, 50_000, seed=2))


@pytest.fixture(scope="module")
def tree():
    ends = np.array(igraph.Graph.Tree(400, 2).get_edgelist())
    return Network.from_edges(400, ends[:, 0], ends[:, 1])


def covering(truth, draw):
    """How many intervals of samples cover the truth; each has some width."""
    found = [draw(rng(seed)).interval for seed in range(SAMPLES)]
    assert all(low < high for low, high in found)
    return sum(low <= truth <= high for low, high in found)


# ---- coverage of values


@pytest.mark.parametrize("what", ["harmonic", "effective_diameter"])
@pytest.mark.parametrize("name", ["tree", "clustered"])
def test_intervals_of_distances_cover(name, what, request):
    network = request.getfixturevalue(name)
    exact = getattr(distances(network, rng(), network.nodes), what)
    assert exact.interval == (exact.value, exact.value)
    assert not exact.sampled
    assert exact.error == 0
    covered = covering(exact.value, lambda coins: getattr(distances(network, coins, 50), what))
    assert covered >= LEAST


def test_intervals_of_clustering_cover(clustered):
    graph = nx.Graph(clustered.edges.T.tolist())
    assert covering(nx.average_clustering(graph), lambda coins: clustering(clustered, coins, 200)) >= LEAST


def test_intervals_of_closed_triples_cover(clustered):
    graph = nx.Graph(clustered.edges.T.tolist())
    assert covering(nx.transitivity(graph), lambda coins: closed_triples(clustered, coins, 500)) >= LEAST


def test_intervals_of_cascades_cover(clustered):
    """The truth is the mean of 20,000 cascades; its own error is a twentieth of that of 50."""
    starts = [np.arange(5)]
    truth = float(spreads(clustered, starts, rng(10**6), 20_000).mean())

    def draw(coins):
        reached = spreads(clustered, starts, coins, 50)[0]
        return Estimate(float(reached.mean()), reached - reached.mean())

    assert covering(truth, draw) >= LEAST


# ---- coverage of scores


@pytest.mark.parametrize("name", ["harmonic-distance", "effective-diameter", "average-clustering", "transitivity"])
def test_intervals_of_scores_cover(name, clustered, rewired, monkeypatch):
    exact = exactly(clustered, rewired, name, monkeypatch)
    monkeypatch.undo()
    monkeypatch.setattr(comparison, "affordable_sources", lambda _: 50)
    monkeypatch.setattr(comparison, "LARGE", 0)
    draws = {
        "average-clustering": ("clustering", clustering, 300),
        "transitivity": ("closed_triples", closed_triples, 600),
    }
    if name in draws:
        attribute, measure, drawn = draws[name]
        monkeypatch.setattr(comparison, attribute, lambda g, coins, m=measure, d=drawn: m(g, coins, d))
    covered = 0
    for seed in range(SAMPLES):
        one = utility_of(clustered, rewired, rng(seed), [name])[0]
        low, high = one.intervals[2]
        assert 0 <= low <= one.score <= high <= 1
        assert one.method.startswith("estimated from ")
        covered += low <= exact <= high
    assert covered >= LEAST


def exactly(before, after, name, monkeypatch):
    """The score from everything."""
    monkeypatch.setattr(comparison, "affordable_sources", lambda network: network.nodes)
    one = utility_of(before, after, rng(), [name])[0]
    assert one.intervals is None
    assert one.method == ""
    return one.score


def test_a_quotient_of_independent_samples_has_the_errors_of_both():
    """20 draws beside 30: the error of the quotient by the delta method, and 2,000 quotients that it covers."""
    coins, covered = rng(1), 0
    for _ in range(2_000):
        one, other = coins.normal(4, 1, 200), coins.normal(2, 1, 300)
        found = ratio(Estimate(other.mean(), other - other.mean()), Estimate(one.mean(), one - one.mean()))
        low, high = found.interval
        covered += low <= 0.5 <= high
    assert 1_850 <= covered <= 1_950


def test_a_quotient_of_exact_values_is_exact():
    found = ratio(Estimate(1.0), Estimate(4.0))
    assert (found.value, found.interval, found.sampled) == (0.25, (0.25, 0.25), False)


def test_a_network_against_itself_loses_nothing_in_any_sample(clustered, monkeypatch):
    monkeypatch.setattr(comparison, "affordable_sources", lambda _: 50)
    for one in utility_of(clustered, clustered, rng(), ["harmonic-distance", "effective-diameter", "influence"]):
        assert one.score == pytest.approx(1)
        assert one.intervals[2] == pytest.approx((1, 1))


# ---- samples that say little


def test_sources_that_reach_nobody_leave_the_rest_open():
    pair = Network.from_edges(1000, [0], [1])
    some = Distances(1000, np.empty((200, 0)), linked=True)
    truth = distances(pair, rng(), 1000)
    for what in ("harmonic", "effective_diameter"):
        low, high = getattr(some, what).interval
        assert low <= getattr(truth, what).value <= high
        assert getattr(some, what).sampled
    assert some.harmonic.interval == (200 / 3, np.inf)
    nothing = distances(Network.from_edges(1000, [], []), rng())
    assert nothing.harmonic.interval == (np.inf, np.inf)
    assert nothing.effective_diameter.interval == (0, 0)


def test_rare_triangles_are_counted_exactly(tree, clustered):
    """Fewer than 100 drawn ones are in a triangle: no normal interval, so that all are looked at."""
    none = clustering(tree, rng(), 300)
    assert (none.value, none.sampled) == (0, False)
    assert not closed_triples(clustered, rng(), 50).sampled


def test_one_source_has_no_error():
    found = Distances(5, np.array([[2, 1]])).harmonic
    assert (found.value, found.error, found.sampled) == (1 / ((2 + 0.5) / 4), 0, False)


def test_an_interval_is_students_and_not_below_0():
    low, high = within(10.0, 1.0, 31)
    assert (low, high) == pytest.approx((10 - 2.0422725, 10 + 2.0422725))
    assert within(0.1, 1.0, 31)[0] == 0
    assert within(3.0, 0.0, 31) == (3.0, 3.0)


# ---- thresholds


def test_what_is_looked_for_in_rows_is_what_sets_say(clustered):
    graph = nx.Graph(clustered.edges.T.tolist())
    shared = triangles._common(clustered, *clustered.edges)
    assert shared.tolist() == [len(set(graph[u]) & set(graph[v])) for u, v in clustered.edges.T.tolist()]
    closed = triangles._closed_pairs(clustered, np.arange(clustered.nodes))
    assert closed.tolist() == [nx.triangles(graph, node) for node in range(clustered.nodes)]


def test_draws_fall_with_the_size_and_never_below_the_least():
    assert [affordable(200, 50, cost) for cost in (1, 5_000_000, 10_000_000, 10**12)] == [200, 200, 100, 50]

    class Sized:
        nodes = 100_000

        def __init__(self, size):
            self.size = size

    assert [affordable_sources(Sized(size)) for size in (0, 262_500, 1_000_000, 10**7)] == [200, 200, 59, 50]
    assert [affordable_runs(Sized(size)) for size in (0, 783_333, 1_000_000, 10**7)] == [100, 100, 79, 30]
    assert estimates.BUDGET == 10**9


def test_small_networks_are_measured_as_igraph_does_to_the_last_bit(clustered, rewired):
    found = {one.name: one for one in utility_of(clustered, rewired, rng(), ["average-clustering", "transitivity"])}
    for name, one in found.items():
        ask = "transitivity_avglocal_undirected" if name == "average-clustering" else "transitivity_undirected"
        values = [float(getattr(g.igraph(), ask)(mode="zero")) for g in (clustered, rewired)]
        expected = (*values, closeness(*values), (0.0, 0.0), "", None)
        assert (one.before, one.after, one.score, one.errors, one.method, one.intervals) == expected


# ---- what is said


ESTIMATE = Kept(
    "harmonic-distance",
    *(3.7, 3.6, 0.97, (0.02, 0.02), "estimated from 56 sources"),
    ((3.65, 3.75), (3.55, 3.65), (0.9612, 0.9788)),
)
EXACT = Kept("transitivity", 0.5, 0.25, 0.5)


def test_reports_say_what_is_an_estimate_and_how_good():
    page = utility_table((ESTIMATE, EXACT))
    assert page.rows[0][1:4] == ("3.7 [3.65, 3.75]", "3.6 [3.55, 3.65]", "97.0 [96.1, 97.9]")
    assert page.rows[1][1:4] == ("0.5", "0.25", "50.0")
    assert "intervals of 95 %" in page.note
    assert "harmonic-distance is estimated from 56 sources." in page.note
    assert "estimate" not in utility_table((EXACT,)).note
    (sentence,) = estimated((ESTIMATE, EXACT))
    assert "harmonic-distance 97.0 % [96.1, 97.9] (estimated from 56 sources)" in sentence
    assert estimated((EXACT,)) == ()


def test_a_terminal_shows_brackets_as_brackets(capsys):
    from rich.console import Console

    Console(width=120).print(kept_lines((ESTIMATE, EXACT)))
    shown = capsys.readouterr().out
    assert "3.7 [3.65, 3.75]" in shown
    assert "estimated from 56 sources" in shown

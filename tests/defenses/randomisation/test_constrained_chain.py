"""Constrained chains: what is kept is kept, what is rejected counts, the law is uniform on what is reached."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.randomisation.constrained_chain import (
    GIVE_UP,
    Constraints,
    constrained_edits,
    constrained_switches,
)
from gaudit.defenses.randomisation.features import features, verify_features
from gaudit.defenses.randomisation.switching_chain import SwitchCounts, kept_share
from gaudit.graphs.network import Network
from support import small_networks as small
from support.three_communities import three_communities

LEVEL = 1e-3
ALL = ("lambda_1", "mu_2", "transitivity", "distance")
BOOKS = three_communities(157)


def network_of(nodes, edges):
    return Network.from_edges(nodes, [a for a, _ in edges], [b for _, b in edges])


def edges_of(network):
    return tuple(map(tuple, network.edges.T.tolist()))


def connected(network):
    twin = nx.empty_graph(network.nodes)
    twin.add_edges_from(edges_of(network))
    return nx.is_connected(twin)


def triangles(network):
    a = network.adjacency.toarray()
    return round(np.trace(a @ a @ a) / 6)


def reachable(start, allowed):
    """Every graph that switches reach from one, by way of connected graphs that are allowed, by trying them."""
    found, waiting = {edges_of(start)}, [edges_of(start)]
    while waiting:
        edges = waiting.pop()
        for (t, w), second in combinations(edges, 2):
            for u, v in (second, second[::-1]):
                new = {tuple(sorted(pair)) for pair in ((t, v), (u, w))}
                if len({t, w, u, v}) < 4 or not new.isdisjoint(edges):
                    continue
                other = tuple(sorted((set(edges) - {(t, w), second}) | new))
                graph = network_of(start.nodes, other)
                if other not in found and connected(graph) and allowed(graph):
                    found.add(other)
                    waiting.append(other)
    return sorted(found)


@pytest.mark.parametrize(
    ("edges", "names", "tolerance"),
    [
        ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (3, 5)], (), 0.0),
        ([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (1, 5)], ("transitivity",), 0.5),
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 5)], ("transitivity",), 0.5),
    ],
    ids=["connected", "one triangle", "no triangle"],
)
def test_every_graph_that_can_be_reached_is_equally_likely(edges, names, tolerance):
    start, rng = network_of(6, edges), np.random.default_rng(1)
    graphs = reachable(start, lambda graph: not names or triangles(graph) == triangles(start))
    assert len(graphs) > 5
    times = dict.fromkeys(graphs, 0)
    for _ in range(15 * len(graphs)):
        after, tally = constrained_switches(start, Constraints(names, tolerance), rng, proposals=150)
        assert tally.proposed == 150
        times[edges_of(after)] += 1
    assert len(times) == len(graphs)
    assert chisquare(list(times.values())).pvalue > LEVEL


@settings(max_examples=60)
@given(
    small.connected_networks(least=4),
    st.sets(st.sampled_from(ALL)),
    st.floats(0.01, 1),
    st.booleans(),
    st.integers(0, 9),
)
def test_switches_keep_degrees_features_and_connectedness(network, names, tolerance, turned, seed):
    chosen = Constraints(tuple(sorted(names)), tolerance, turned)
    after, tally = constrained_switches(network, chosen, np.random.default_rng(seed), proposals=80)
    assert (after.degrees == network.degrees).all()
    assert len(set(edges_of(after))) == after.size
    assert connected(after)
    assert 0 <= tally.accepted <= tally.proposed <= 80
    if names:
        assert verify_features(network, after, chosen.names, tolerance).holds
    if not tally.accepted:
        assert edges_of(after) == edges_of(network)


@settings(max_examples=60)
@given(small.connected_networks(least=4), st.booleans(), st.floats(0.01, 1), st.booleans(), st.integers(0, 9))
def test_edits_keep_the_number_of_edges_features_and_connectedness(network, mu, tolerance, turned, seed):
    names, rng = ("lambda_1", "mu_2") if mu else ("lambda_1",), np.random.default_rng(seed)
    after, tally = constrained_edits(
        network, Constraints(names, tolerance, turned), rng, proposals=200, successes=5
    )
    assert after.size == network.size
    assert len(set(edges_of(after))) == after.size
    assert connected(after)
    assert verify_features(network, after, names, tolerance).holds
    assert len(set(edges_of(after)) - set(edges_of(network))) == tally.accepted <= 5  # none returned


def test_each_change_is_turned_towards_the_target():
    """Without tolerance to spare, single switches only go where the eigenvalue came from."""
    chosen = Constraints(("lambda_1", "mu_2"), 0.1, turned=True)
    after, tally = constrained_switches(BOOKS, chosen, np.random.default_rng(0), proposals=10**6, successes=400)
    loose = Constraints(("lambda_1", "mu_2"), 0.1)
    astray, _ = constrained_switches(BOOKS, loose, np.random.default_rng(0), proposals=10**6, successes=400)
    target, near, far = (features(g.adjacency, chosen.names).values for g in (BOOKS, after, astray))
    assert tally.accepted == 400
    # what may go anywhere within the tolerance ends at its lower edge: random graphs have a smaller lambda_1
    assert abs(near["lambda_1"] / target["lambda_1"] - 1) < 0.03 < abs(far["lambda_1"] / target["lambda_1"] - 1)


def test_undone_blocks_count_as_proposals_and_not_as_switches():
    """Distances are only looked at after a block; without tolerance most are undone, and the chain gives up."""
    chosen, rng = Constraints(("distance",), 1e-9), np.random.default_rng(0)
    after, tally = constrained_switches(BOOKS, chosen, rng, proposals=10**6)
    assert verify_features(BOOKS, after, ("distance",), 1e-9).holds
    assert len(set(edges_of(BOOKS)) - set(edges_of(after))) <= 2 * tally.accepted < GIVE_UP
    assert GIVE_UP <= tally.proposed < 10**6


def test_an_edit_that_was_undone_leaves_its_edge_for_another():
    """More edits are undone here than there are edges."""
    chosen, rng = Constraints(("distance",), 0.01), np.random.default_rng(0)
    after, tally = constrained_edits(BOOKS, chosen, rng, proposals=10**5, successes=300)
    assert tally.accepted == 300
    assert tally.rejected > 2 * BOOKS.size
    assert len(set(edges_of(BOOKS)) - set(edges_of(after))) == 300


def test_without_tolerance_a_tracked_feature_is_kept_to_the_letter():
    chosen, rng = Constraints(("transitivity",), 1e-9), np.random.default_rng(0)
    after, tally = constrained_switches(BOOKS, chosen, rng, proposals=5000)
    assert tally.proposed == 5000
    assert tally.accepted > 200
    assert kept_share(BOOKS, after) < 0.7
    assert triangles(after) == triangles(BOOKS)


@pytest.mark.parametrize("edges", [[], [(0, 1)], [(0, 1), (0, 2), (0, 3)]])
def test_where_nothing_can_be_switched_it_stays(edges):
    network = network_of(1 + len(edges), edges)
    after, tally = constrained_switches(
        network, Constraints(ALL, 1.0), np.random.default_rng(0), proposals=100, successes=5
    )
    assert edges_of(after) == edges_of(network)
    assert tally.accepted == 0
    assert tally == SwitchCounts(100, 0)


@pytest.mark.parametrize("edges", [[], [(0, 1)], list(combinations(range(5), 2))])
def test_where_nothing_can_be_edited_it_stays(edges):
    network = network_of(max(1, max((b for _, b in edges), default=0) + 1), edges)
    after, tally = constrained_edits(
        network, Constraints(("lambda_1",), 1.0), np.random.default_rng(0), proposals=100, successes=5
    )
    assert edges_of(after) == edges_of(network)
    assert tally.accepted == 0


def test_the_seed_decides():
    chosen = Constraints(ALL, 0.1)
    one, again, other = (
        edges_of(constrained_switches(BOOKS, chosen, np.random.default_rng(s), proposals=300)[0]) for s in (0, 0, 1)
    )
    assert one == again != other

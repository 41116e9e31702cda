"""Switching: degrees stay, the graph stays simple, and every such graph is as likely as any other."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.randomisation.switching_chain import SwitchCounts, kept_share, switch, verify_degrees_kept
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap

LEVEL = 1e-3


def network_of(nodes, pairs):
    one, other = zip(*pairs, strict=True) if pairs else ((), ())
    return Network.from_edges(nodes, one, other)


def realisations(degrees):
    """Every simple graph with these degrees, by trying them all."""
    every = list(combinations(range(len(degrees)), 2))
    found = set()
    for edges in combinations(every, sum(degrees) // 2):
        if np.bincount(np.ravel(edges), minlength=len(degrees)).tolist() == list(degrees):
            found.add(edges)
    return found


def edges_of(network):
    return tuple(map(tuple, network.edges.T.tolist()))


@given(small.networks(), st.integers(0, 60), st.integers(0, 2**32))
def test_degrees_stay_and_no_edge_is_a_loop_or_there_twice(network, proposals, seed):
    after, tally = switch(network, np.random.default_rng(seed), proposals=proposals)
    assert (after.degrees == network.degrees).all()
    assert len(set(edges_of(after))) == after.size == network.size
    assert all(one < other for one, other in edges_of(after))
    assert tally.proposed == (proposals if network.size > 1 else 0)
    assert 0 <= tally.accepted <= tally.proposed
    assert tally.rejected == tally.proposed - tally.accepted
    assert verify_degrees_kept(network, after).holds
    if tally.accepted == 0:
        assert edges_of(after) == edges_of(network)


# Each sample is a chain of its own, so that counts are multinomial. Degrees of which the graphs differ in how many
# legal switches they have: two triangles, say, have nine pairs of edges to switch and a hexagon fewer.
@pytest.mark.parametrize("degrees", [(2, 2, 2, 2, 2, 2), (3, 2, 2, 2, 2, 1), (3, 3, 2, 2, 1, 1)])
def test_after_many_proposals_every_graph_is_equally_likely(degrees):
    graphs = sorted(realisations(degrees))
    start, rng, times = network_of(6, graphs[0]), np.random.default_rng(1), dict.fromkeys(graphs, 0)
    for _ in range(40 * len(graphs)):
        times[edges_of(switch(start, rng, proposals=120)[0])] += 1
    assert len(times) == len(graphs)  # nothing else came up
    assert chisquare(list(times.values())).pvalue > LEVEL


def test_a_fixed_number_of_successes_is_not_uniform():
    """As networkx's double_edge_swap, which draws again until a switch is legal; so the test above can fail."""
    graphs = sorted(realisations((3, 3, 2, 2, 1, 1)))
    start, rng, times = network_of(6, graphs[0]), np.random.default_rng(1), dict.fromkeys(graphs, 0)
    for _ in range(300 * len(graphs)):
        times[edges_of(switch(start, rng, successes=40)[0])] += 1
    assert chisquare(list(times.values())).pvalue < LEVEL


def test_one_proposal_is_a_uniform_pair_of_edges_and_a_uniform_orientation():
    start = network_of(8, [(0, 1), (2, 3), (4, 5), (6, 7)])  # every proposal is legal
    rng, times = np.random.default_rng(3), {}
    for _ in range(3000):
        after, tally = switch(start, rng, proposals=1)
        assert tally == SwitchCounts(1, 1)
        times[edges_of(after)] = times.get(edges_of(after), 0) + 1
    assert len(times) == 6 * 2  # pairs of edges, and two ways for each
    assert chisquare(list(times.values())).pvalue > LEVEL


@pytest.mark.parametrize(
    "stuck",
    [[(0, k) for k in range(1, 6)], list(combinations(range(6), 2)), [(0, 1), (1, 2), (2, 0)], [(0, 1)], []],
)
def test_where_no_switch_is_legal_it_stays(stuck):
    before = network_of(6, stuck)
    after, tally = switch(before, np.random.default_rng(0), proposals=500)
    assert edges_of(after) == edges_of(before)
    assert tally.accepted == 0
    assert kept_share(before, after) == 1


def test_it_stops_at_the_number_of_successes():
    before = network_of(40, [(k, (k + 1) % 40) for k in range(40)])
    for wanted in (0, 1, 17, 400):
        after, tally = switch(before, np.random.default_rng(0), successes=wanted)
        assert tally.accepted == wanted <= tally.proposed
        assert switch(before, np.random.default_rng(0), proposals=tally.proposed)[0].codes.tolist() == (
            after.codes.tolist()
        )


@pytest.mark.parametrize("limits", [{}, {"proposals": -1}, {"successes": -2, "proposals": 5}])
def test_limits_are_checked(limits):
    with pytest.raises(ValueError, match="a chain needs a number of proposals or of successes"):
        switch(network_of(4, [(0, 1), (2, 3)]), np.random.default_rng(0), **limits)


def test_types_stay_with_the_edges_that_stay_and_weights_are_rounded_to_old_ones():
    rng = np.random.default_rng(5)
    before = Network.from_edges(60, np.arange(59), np.arange(1, 60), rng.random(59), rng.integers(3, size=59))
    after, _ = switch(before, rng, successes=15)
    old, new = (dict(zip(n.codes.tolist(), n.types.tolist(), strict=True)) for n in (before, after))
    stayed = old.keys() & new.keys()
    assert 0 < len(stayed) < 59
    assert {code: old[code] for code in stayed} == {code: new[code] for code in stayed}
    values, times = np.unique(after.weights, return_counts=True)
    assert set(values) <= set(before.weights)
    assert times.min() >= 10


def test_the_seed_decides():
    before = network_of(30, [(k, (k + 1) % 30) for k in range(30)])
    one, again, other = (edges_of(switch(before, np.random.default_rng(s), proposals=99)[0]) for s in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("name", ["ca-HepTh", "email-Enron", "facebook_combined"])
def test_real_networks_forget_their_edges_and_keep_their_degrees(gaudit_data, name):
    before = snap(gaudit_data, name)
    after, tally = switch(before, np.random.default_rng(0), successes=5 * before.size)
    assert (after.degrees == before.degrees).all()
    assert after.size == before.size
    assert tally.accepted == 5 * before.size
    # what is expected of a graph with these degrees: a pair is linked with a chance of about d d' / 2 m, or less
    by_chance = (before.degrees[before.edges[0]] * before.degrees[before.edges[1]] / (2 * before.size)).clip(0, 1)
    assert kept_share(before, after) <= by_chance.mean() + 0.01
    verified = verify_degrees_kept(before, after)
    assert verified.holds
    assert f"0 of {before.nodes} degrees differ" in verified.detail


def test_changed_degrees_are_found():
    before = network_of(5, [(0, 1), (1, 2), (2, 3)])
    found = verify_degrees_kept(before, network_of(5, [(0, 1), (1, 2), (1, 3)]))
    assert not found.holds
    assert found.detail == "2 of 5 degrees differ; 66.7% of the edges are still there"
    assert not verify_degrees_kept(before, network_of(6, [(0, 1), (1, 2), (2, 3)])).holds

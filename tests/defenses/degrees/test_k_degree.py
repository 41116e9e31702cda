"""k-degree anonymity: read off the output, for every variant, and compared with random edits at equal cost."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.defenses.anonymity.k_neighbourhood import verify_k_neighbourhood
from gaudit.defenses.degrees import k_degree
from gaudit.defenses.degrees.degree_sequences import is_graphic, k_anonymous
from gaudit.defenses.degrees.k_degree import KDegree, verify_k_degree
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import ends
from support.small_networks import karate, listed_networks, pairs_of
from support.snap import snap

VARIANTS = [
    {},
    {"variant": "priority"},
    {"variant": "priority", "deletions": True},
    {"variant": "construction"},
    {"variant": "construction", "deletions": True},
]
REAL = ["ca-HepTh", "email-Enron", "facebook_combined"]


def defended(network, seed=0, **how):
    return KDegree(**how).on_graph(network, np.random.SeedSequence(seed))


def rarest(network) -> int:
    """By counting neighbours in plain sets."""
    near = {node: set() for node in range(network.nodes)}
    for a, b in pairs_of(network):
        assert 0 <= a < b < network.nodes
        near[a].add(b)
        near[b].add(a)
    return min(Counter(len(others) for others in near.values()).values())


def told_apart(network, k: int) -> int:
    """Nodes that share their degree with fewer than k - 1 others."""
    times = np.bincount(network.degrees)
    return int((times[network.degrees] < k).sum())


@pytest.mark.parametrize("how", VARIANTS)
@given(network=listed_networks(), data=st.data())
def test_guarantee_every_degree_occurs_k_times(how, network, data):
    k = data.draw(st.integers(1, network.nodes))
    after = defended(network, k=k, **how)
    assert after.nodes == network.nodes
    assert (np.diff(after.codes) > 0).all()
    assert rarest(after) >= k
    assert KDegree(k=k, **how).verify(network, after).holds
    if how == {}:
        assert pairs_of(network) <= pairs_of(after)
    if how.get("variant") != "construction" and k == 1:
        assert pairs_of(network) == pairs_of(after)


@pytest.mark.parametrize("how", VARIANTS[1:])
@given(network=listed_networks(), data=st.data())
def test_degrees_are_the_nearest_that_a_graph_has(how, network, data):
    k = data.draw(st.integers(1, network.nodes))
    nearest = k_anonymous(network.degrees, k, how.get("deletions", False), even=True)
    after = defended(network, k=k, **how)
    changed = np.abs(after.degrees - network.degrees).sum()
    assert changed >= np.abs(nearest - network.degrees).sum()
    if is_graphic(nearest):
        assert (after.degrees == nearest).all()


@given(network=listed_networks(), data=st.data())
def test_guarantee_is_seen_to_fail(network, data):
    k = data.draw(st.integers(1, network.nodes))
    assert verify_k_degree(network, k).holds == (rarest(network) >= k)


@pytest.mark.parametrize("leaves", [5, 200])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_guarantee_of_a_star_whose_hub_has_nobody_to_be_equal_with(leaves, k):
    """The first supergraph needs more links than there are nodes whose degrees must grow."""
    star = Network.from_edges(leaves + 1, np.zeros(leaves, dtype=int), np.arange(1, leaves + 1))
    after = defended(star, k=k)
    assert rarest(after) >= k
    assert pairs_of(star) <= pairs_of(after)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("how", VARIANTS)
def test_guarantee_on_real_networks(name, how, gaudit_data):
    network = snap(gaudit_data, name)
    after = defended(network, k=10, **how)
    assert rarest(after) >= 10
    kept = np.isin(network.codes, after.codes).mean()
    if how == {}:
        assert kept == 1
    elif how["variant"] == "priority":
        nearest = k_anonymous(network.degrees, 10, how.get("deletions", False), even=True)
        assert (np.sort(after.degrees) == np.sort(nearest)).all()
        assert kept > 0.95
    else:
        assert kept < 0.1


def test_few_edges_are_enough_on_a_sparse_network(gaudit_data):
    """The optimum for ca-HepTh and k = 10 changes degrees by 180: 90 edges, and none more is needed."""
    network = snap(gaudit_data, "ca-HepTh")
    assert defended(network, k=10).size == network.size + 90


def equal_edits(network, number: int, seed: int) -> Network:
    """As many edges added at random."""
    rng, pairs = np.random.default_rng(seed), network.codes
    while len(pairs) < network.size + number:
        low, high = np.sort(rng.integers(network.nodes, size=2))
        if low < high:
            pairs = np.union1d(pairs, [low * network.nodes + high])
    return Network.from_edges(network.nodes, *ends(pairs, network.nodes))


def test_trivial_alternative_leaves_nodes_that_are_told_apart():
    network = karate()
    assert told_apart(network, 5) > 10
    after = defended(network, k=5)
    assert told_apart(after, 5) == 0
    left = [told_apart(equal_edits(network, after.size - network.size, seed), 5) for seed in range(20)]
    assert min(left) > 0


def test_trivial_alternative_leaves_hubs_of_a_real_network(gaudit_data):
    network = snap(gaudit_data, "ca-HepTh")
    assert told_apart(network, 10) == 83
    after = defended(network, k=10)
    assert told_apart(after, 10) == 0
    left = [told_apart(equal_edits(network, after.size - network.size, seed), 10) for seed in range(5)]
    assert min(left) > 50


@pytest.mark.parametrize("verify", [verify_k_degree, verify_k_neighbourhood])
def test_guarantee_says_that_types_are_aside(verify):
    """Two types between one pair: degrees in the file are 2, 2, 1 and 1, and without types all are 1."""
    typed = Network.from_edges(4, [0, 0, 2], [1, 1, 3], types=np.array([0, 1, 0]))
    assert sorted(typed.degrees.tolist()) == [1, 1, 2, 2]
    found = verify(typed, 4)
    assert found.holds
    assert "types and weights of edges aside" in found.guarantee
    assert "The types of edges are published too" in found.knowledge
    plain = verify(typed.plain(), 4)
    assert "aside" not in plain.guarantee
    assert "somebody who knows" in plain.knowledge
    assert "types" not in plain.knowledge


def test_verify_counts_what_was_done():
    network = karate()
    after = defended(network, k=5)
    told = KDegree(k=5).verify(network, after).detail
    added, changed = after.size - network.size, int(np.abs(after.degrees - network.degrees).sum())
    assert f"78 of 78 edges kept, {added} added; degrees changed by {changed} in all, 26 is the least" in told
    lost = Network.from_edges(34, *network.edges[:, 1:])
    assert "77 of 78 edges kept, 0 added" in KDegree(k=5).verify(network, lost).detail
    assert not KDegree(k=5).verify(network, lost).holds


def test_types_of_edges_that_stay_are_kept():
    rng, plain = np.random.default_rng(0), karate()
    twice = plain.edges[:, :10]  # ten pairs are linked in two ways
    one, other = np.concatenate([plain.edges, twice], 1)
    types = np.concatenate([np.zeros(plain.size, dtype=int), np.ones(10, dtype=int)])
    network = Network.from_edges(34, one, other, rng.random(len(one)), types)
    after = defended(network, k=3)
    assert verify_k_degree(after, 3).holds
    assert rarest(after.plain()) >= 3

    def rows(of):
        return set(zip(*of.edges.tolist(), of.types.tolist(), strict=True))

    assert rows(network) <= rows(after)
    assert set(after.weights) <= set(network.weights)


@pytest.mark.parametrize("how", VARIANTS)
def test_the_seed_decides(how):
    one, again, other = (pairs_of(defended(karate(), seed, k=5, **how)) for seed in (0, 0, 1))
    assert one == again != other


@pytest.mark.parametrize("how", VARIANTS)
def test_more_nodes_than_there_are_is_refused(how):
    with pytest.raises(InputError, match="k is 35 but there are only 34 nodes"):
        defended(karate(), k=35, **how)


@pytest.mark.parametrize(
    ("variant", "k", "edges"), [("supergraph", 3, [[0, 0, 1], [1, 3, 3]]), ("priority", 2, [[0, 1, 2], [3, 3, 3]])]
)
def test_probing_finds_what_the_nearest_sequence_does_not_allow(variant, k, edges, monkeypatch):
    network = Network.from_edges(4, *edges)
    assert rarest(defended(network, k=k, variant=variant)) >= k
    monkeypatch.setattr(k_degree, "PROBES", 1)
    with pytest.raises(InputError, match=f"every degree occurs {k} times: choose a smaller k"):
        defended(network, k=k, variant=variant)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"k": 0}, "setting 'k'"),
        ({"variant": "best"}, "setting 'variant'"),
        ({"deletions": True}, "deletions need the variant 'priority' or 'construction'"),
    ],
)
def test_settings_are_checked(how, message):
    with pytest.raises(InputError, match=message):
        KDegree(**how)

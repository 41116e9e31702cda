"""Identities by the distances to hubs."""

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gaudit.attacks.identity.hub_fingerprint import SELF, HubFingerprint, fingerprints, hubs_of
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from support.random_networks import NOBODY, hits_with_facts_of_others, network_of_share
from support.snap import snap


def uneven_network(nodes, seed):
    """Each newcomer links to three older nodes, most often to those of high degree."""
    graph, rng = [(0, 1), (1, 2), (0, 2)], np.random.default_rng(seed)
    for node in range(3, nodes):
        ends = np.unique(rng.choice(np.ravel(graph), 3))
        graph += [(int(end), node) for end in ends]
    return Network.from_edges(nodes, *np.array(graph).T)


def attacked(attack, network, published):
    rng = np.random.default_rng(0)
    return attack.candidates(published, attack.learn(Original(network), rng), NOBODY, rng)


def by_bfs(network, hubs, depth):
    """Distances by igraph, in the encoding of the attack."""
    far = np.array(network.igraph().distances(target=hubs.tolist()))
    told = np.where(far <= depth, far, 0)
    told[hubs, np.arange(len(hubs))] = SELF
    return told.astype(int)


@given(st.integers(1, 15), st.floats(0.05, 0.5), st.integers(1, 4), st.integers(1, 5), st.integers(0, 999))
def test_fingerprints_are_distances(nodes, share, hubs, depth, seed):
    network = network_of_share(nodes, share, seed)
    found, of = fingerprints(network, hubs, depth), hubs_of(network, hubs)
    assert np.array_equal(found[:, : len(of)], by_bfs(network, of, depth))
    assert (found[:, len(of) :] == 0).all()


@given(st.integers(1, 15), st.floats(0.05, 0.5), st.integers(0, 999))
def test_hubs_have_the_highest_degrees(nodes, share, seed):
    network = network_of_share(nodes, share, seed)
    degrees = network.degrees[hubs_of(network, 4)]
    assert degrees.tolist() == sorted(network.degrees, reverse=True)[:4]


def test_hubs_that_tie_are_told_apart_by_their_surroundings():
    """A ring of six with arms of lengths 2, 1, 1 and 3: whatever the ids, their feet come in the same order."""
    ring = [(0, 1), (1, 4), (4, 7), (7, 8), (8, 2), (2, 0)]
    arms = [(0, 3), (3, 12), (1, 5), (4, 6), (8, 9), (9, 10), (10, 11)]
    network = Network.from_edges(13, *np.array(ring + arms).T)
    first = hubs_of(network, 4)
    assert sorted(first.tolist()) == [0, 1, 4, 8]
    for seed in range(20):
        new = np.random.default_rng(seed).permutation(13)
        assert hubs_of(network.renamed(new), 4).tolist() == new[first].tolist()


@given(st.integers(2, 12), st.integers(2, 12), st.floats(0.05, 0.5), st.integers(1, 3), st.integers(0, 999))
def test_candidates_of_both_worlds_by_definition(people, nodes, share, hubs, seed):
    original, published = network_of_share(people, share, seed), network_of_share(nodes, share, seed + 1)
    known, seen = fingerprints(original, hubs, 2), fingerprints(published, hubs, 2)
    closed = attacked(HubFingerprint(hubs=hubs, depth=2), original, published)
    opened = attacked(HubFingerprint(hubs=hubs, depth=2, world="open"), original, published)
    for person in range(people):
        same = [v for v in range(nodes) if (seen[v] == known[person]).all()]
        agree = [v for v in range(nodes) if all(s == k for s, k in zip(seen[v], known[person], strict=True) if k)]
        assert closed.of(person).tolist() == same
        assert opened.of(person).tolist() == agree
        assert set(same) <= set(agree)


@pytest.mark.parametrize("world", ["closed", "open"])
def test_planted_fingerprints_are_found_exactly(world):
    """A hub with one long arm: nodes of the arm are told by how far from it they are, its leaves are not."""
    arm = 12
    network = Network.from_edges(30, [0] * 17 + [*range(17, 29)], [*range(1, 18), *range(18, 30)])
    new = np.random.default_rng(0).permutation(30)
    found = attacked(HubFingerprint(hubs=1, depth=arm, world=world), network, network.renamed(new))
    assert found.of(0).tolist() == [new[0]]
    for person in range(18, 29):
        assert found.of(person).tolist() == [new[person]]
    around = sorted(new[1:18])
    assert found.of(1).tolist() == around
    beyond = sorted(new) if world == "open" else [new[29]]
    assert found.of(29).tolist() == beyond  # 13 steps away: further than is known


@pytest.mark.parametrize("world", ["closed", "open"])
def test_planted_persons_of_an_uneven_network_are_candidates(world):
    network = uneven_network(300, 1)
    new = np.random.default_rng(2).permutation(300)
    found = attacked(HubFingerprint(hubs=12, world=world), network, network.renamed(new))
    chance = found.probability(np.arange(300), new)
    assert (chance > 0).all()
    assert chance.mean() > 0.5


@pytest.mark.parametrize("world", ["closed", "open"])
def test_null_where_facts_belong_to_others_persons_are_found_by_chance(world):
    """A fact with c candidates reaches one of them with chance c / n, who is then right with 1 / c: 1 / n in all.

    So hits have mean 1 a run, and no more variance than a Poisson number; error rate 1 in 1000.
    """
    attack, runs, rng = HubFingerprint(hubs=12, world=world), 40, np.random.default_rng(3)
    hits = hits_with_facts_of_others(attack, uneven_network(300, 1), runs, rng)
    assert poisson.ppf(0.0005, runs) <= hits <= poisson.isf(0.0005, runs)


def test_a_release_of_numbers_of_edges_leaves_everybody():
    network = uneven_network(40, 0)
    told = Network(40, network.edges[:, :0], groups=np.zeros(40, int), counts=np.array([[0, 0, 0, network.size]]))
    assert (attacked(HubFingerprint(), network, told).sizes == 40).all()


def test_fewer_published_nodes_than_hubs():
    star, pair = Network.from_edges(5, [0] * 4, [1, 2, 3, 4]), Network.from_edges(2, [0], [1])
    assert attacked(HubFingerprint(hubs=1), star, pair).of(0).tolist() == [0]
    assert attacked(HubFingerprint(hubs=5), star, pair).sizes.tolist() == [0] * 5


def test_accounts_may_be_hubs_and_are_no_persons():
    star = Network.from_edges(5, [4] * 4, [0, 1, 2, 3])
    facts = HubFingerprint(hubs=1).learn(Original(star, accounts=1), np.random.default_rng(0))
    assert facts["fingerprints"].tolist() == [[1]] * 4


@pytest.mark.parametrize("setting", [{"hubs": 0}, {"depth": 0}, {"world": "half-open"}])
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(InputError, match=f"setting '{next(iter(setting))}' of attack 'hub-fingerprint'"):
        HubFingerprint(**setting)


def test_karate_club():
    """Its five highest degrees are different: no rule for ties is needed."""
    network = Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)
    assert hubs_of(network, 5).tolist() == [33, 0, 32, 2, 1]
    sizes = np.unique(fingerprints(network, 5, 3), axis=0, return_counts=True)[1]
    assert (len(sizes), (sizes == 1).sum()) == (20, 16)


def test_fingerprints_of_a_real_network(gaudit_data):
    """The hubs of ca-HepTh do not tie. Were a hub as far from itself as the unreachable, 2 classes were lost."""
    network = snap(gaudit_data, "ca-HepTh")
    found = fingerprints(network, 5, 3)
    assert np.array_equal(found, by_bfs(network, hubs_of(network, 5), 3))
    sizes = np.unique(found, axis=0, return_counts=True)[1]
    assert (len(sizes), (sizes == 1).sum()) == (221, 47)
    sizes = np.unique(np.maximum(found, 0), axis=0, return_counts=True)[1]
    assert len(sizes) == 219
    assert round(100 * (sizes == 1).sum() / network.nodes, 2) == 0.46

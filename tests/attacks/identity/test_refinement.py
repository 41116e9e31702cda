"""Identities by vertex refinement."""

from collections import Counter

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gaudit.attacks.identity.vertex_refinement import Refinement
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from support.random_networks import NOBODY, network_of_share

PEOPLE = 150


def attacked(attack, original, published):
    """The facts, and the candidates that they give."""
    rng = np.random.default_rng(0)
    facts = attack.learn(original, rng)
    return facts, attack.candidates(published, facts, NOBODY, rng)


def view(network, node, depth):
    """H_depth written out as nested multisets."""
    if depth == 0:
        return ()
    near = [int(v) for v in network.adjacency.indices[slice(*network.adjacency.indptr[node : node + 2])]]
    return tuple(sorted(Counter(view(network, v, depth - 1) for v in near).items()))


@given(st.integers(0, 4), st.integers(0, 500), st.floats(0.05, 0.6))
def test_candidates_are_the_nodes_with_the_same_nested_multiset(depth, seed, share):
    original, published = network_of_share(7, share, seed), network_of_share(9, share, seed + 1)
    _, found = attacked(Refinement(depth=depth, match="exact"), Original(original), published)
    for person in range(7):
        same = [v for v in range(9) if view(published, v, depth) == view(original, person, depth)]
        assert found.of(person).tolist() == same


@pytest.mark.parametrize("depth", [3, "stable"])
def test_planted_identities_are_found_exactly(depth):
    """A random network in which no two nodes are alike, published under other ids."""
    network = network_of_share(PEOPLE, 0.08, 1)
    new = np.random.default_rng(2).permutation(PEOPLE)
    _, found = attacked(Refinement(depth=depth), Original(network), network.renamed(new))
    assert (found.sizes == 1).all()
    assert np.array_equal(found.listed[found.start], new)


def test_null_where_facts_belong_to_others_persons_are_found_by_chance():
    """A random person's facts lead to a person with probability 1 / n: hits are Poisson, error rate 1 in 1000."""
    network, rng = network_of_share(PEOPLE, 0.08, 1), np.random.default_rng(3)
    attack, new, hits = Refinement(depth="stable"), rng.permutation(PEOPLE), 0.0
    facts, runs = attack.learn(Original(network), rng), 60
    published = network.renamed(new)
    for _ in range(runs):
        order = rng.permutation(PEOPLE)
        found = attack.candidates(published, {k: v[order] for k, v in facts.items()}, NOBODY, rng)
        hits += found.probability(np.arange(PEOPLE), new).sum()
    assert poisson.ppf(0.0005, runs) <= hits <= poisson.isf(0.0005, runs)


def test_a_person_may_be_anybody_alike_and_nobody_else():
    """Orbits of the karate club: 27 classes are all that structure tells."""
    network = Network.from_edges(34, *np.array(igraph.Graph.Famous("Zachary").get_edgelist()).T)
    new = np.random.default_rng(0).permutation(34)
    _, found = attacked(Refinement(depth="stable"), Original(network), network.renamed(new))
    assert (found.probability(np.arange(34), new) > 0).all()
    assert (1 / found.sizes).sum() == pytest.approx(27)


def test_deeper_queries_leave_fewer_candidates_of_the_same_network():
    network = network_of_share(PEOPLE, 0.03, 4)
    last = None
    for depth in [0, 1, 2, 3, "stable"]:
        _, found = attacked(Refinement(depth=depth), Original(network), network)
        if last is not None:
            assert all(np.isin(found.of(p), last.of(p)).all() for p in range(PEOPLE))
        last = found
    assert (attacked(Refinement(depth=0), Original(network), network)[1].sizes == PEOPLE).all()


def test_a_regular_network_tells_nothing():
    ring = Network.from_edges(20, np.arange(20), (np.arange(20) + 1) % 20)
    _, found = attacked(Refinement(depth="stable"), Original(ring), ring)
    assert (found.sizes == 20).all()


def test_accounts_of_an_adversary_are_no_persons_but_have_links():
    """Person 0 is known by the link to account 2, which is published too."""
    network = Network.from_edges(3, [0], [2])
    facts, found = attacked(Refinement(depth=1), Original(network, accounts=1), network)
    assert len(facts["colours"]) == len(found.sizes) == len(facts["profiles"]) == 2
    assert found.of(0).tolist() == [0, 2]
    assert found.of(1).tolist() == [1]


def test_a_release_of_numbers_of_edges_leaves_everybody():
    network = network_of_share(30, 0.2, 0)
    told = Network.from_edges(30, [], [], groups=np.zeros(30, dtype=np.int64))
    told = Network(30, told.edges, groups=told.groups, counts=np.array([[0, 0, 0, network.size]]))
    assert (attacked(Refinement(), Original(network), told)[1].sizes == 30).all()


@pytest.mark.parametrize("depth", [-1, 1.5, "stabel", True])
def test_other_depths_are_refused_in_one_line(depth):
    with pytest.raises(
        InputError, match="setting 'depth' of attack 'refinement': expected a whole number from 0 on"
    ):
        Refinement(depth=depth)


@pytest.mark.parametrize(("depth", "word"), [(0, "nothing"), (1, "degree"), (4, "H_4"), ("stable", "refinement")])
def test_it_says_what_it_knows(depth, word):
    assert word in Refinement(depth=depth).knows


def test_who_fits_nobody_exactly_is_looked_for_among_the_nearest():
    """Twenty of 900 edges are gone: the exact query misses more persons than the patient one, and names fewer."""
    network = network_of_share(PEOPLE, 0.08, 1)
    gone = np.random.default_rng(5).permutation(network.size)[:20]
    published = Network.from_edges(PEOPLE, *np.delete(network.edges, gone, axis=1))
    everybody = np.arange(PEOPLE)
    exact, near = (
        attacked(Refinement(match=match), Original(network), published)[1].probability(everybody, everybody)
        for match in ("exact", "nearest")
    )
    assert (near >= exact).all()
    assert near.sum() > exact.sum() + 20
    assert (attacked(Refinement(), Original(network), published)[1].sizes > 0).all()


def test_what_is_true_of_the_published_network_is_learned_there():
    assert Refinement(of="published").of == "published"
    assert Refinement().of == "original"

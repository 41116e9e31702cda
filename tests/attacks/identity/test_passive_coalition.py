"""The passive attack: friends find themselves again, and whom they know."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.stats import poisson

from gaudit.attacks.identity.passive_coalition import PassiveCoalition, coalition
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from gaudit.targets.publishing.planted_accounts import plant
from support.random_networks import random_network, uneven_network
from support.snap import snap

NO_SEEDS = np.empty((2, 0), dtype=np.int64)


BASE = uneven_network(400, 4000, 0)


def mounted(attack: PassiveCoalition, original: Original, published: Network, seed: int, facts=None):
    """The facts, the candidates, and the published node of each person; ids are drawn at random."""
    rng = np.random.default_rng(seed)
    new = rng.permutation(published.nodes)
    known = attack.learn(original, rng) if facts is None else facts
    return known, attack.candidates(published.renamed(new), known, NO_SEEDS, rng), new[: original.people]


@given(st.integers(0, 10**6), st.integers(20, 120), st.integers(2, 8))
def test_a_coalition_is_connected_at_every_step(seed, edges, members):
    network = random_network(25, edges, seed)
    sizes = np.bincount(connected_components(network.adjacency)[1])
    original, rng = Original(network), np.random.default_rng(seed)
    if sizes.max() < members:
        with pytest.raises(InputError, match="set fewer members"):
            coalition(original, members, rng)
        return
    found = coalition(original, members, rng)
    linked = network.adjacency.toarray() > 0
    assert len(set(found.tolist())) == members
    for place in range(1, members):
        before = linked[found[:place]].sum(0)
        before[found[:place]] = 0
        assert before[found[place]] == before.max() > 0  # whoever is linked to the most of those who are in


def test_a_coalition_is_no_account():
    network = plant(BASE, 10, 10, np.random.default_rng(0), (100, 150))
    for seed in range(20):
        assert coalition(Original(network, 10), 8, np.random.default_rng(seed)).max() < 400


def test_planted_in_a_random_network_members_and_those_they_know_are_identified():
    many = 0
    for seed in range(20):
        known, found, image = mounted(PassiveCoalition(members=10), Original(BASE), BASE, seed)
        linked = BASE.adjacency[known["members"]].toarray().T > 0
        linked[known["members"]] = False
        _, group, size = np.unique(linked, axis=0, return_inverse=True, return_counts=True)
        victims = np.flatnonzero(linked.any(1) & (size[group.ravel()] == 1))
        many += len(victims)
        for person in [*victims, *known["members"]]:
            assert found.of(person).tolist() == [image[person]]
    assert many > 100


@pytest.mark.parametrize("name", ["wiki-Vote", "email-Enron"])
def test_planted_in_real_networks_most_coalitions_find_themselves(gaudit_data, name):
    network, alone = snap(gaudit_data, name), 0
    for seed in range(10):
        known, found, image = mounted(PassiveCoalition(), Original(network), network, seed)
        own = [found.of(person).tolist() == [image[person]] for person in known["members"]]
        alone += all(own)
        assert all(image[person] in found.of(person) for person in range(0, network.nodes, 97))
    assert alone >= 6


def test_members_who_look_alike_are_candidates_for_each_other():
    clique = Network.from_edges(8, *np.stack(np.triu_indices(8, 1)))
    known, found, _ = mounted(PassiveCoalition(members=3), Original(clique), clique, 0)
    assert all(found.sizes[known["members"]] == 8)


def test_null_facts_shuffled_between_persons_are_chance():
    hits = tries = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        known = dict(PassiveCoalition().learn(Original(BASE), rng))
        mixed = rng.permutation(400)
        known["links"], known["members"] = known["links"][mixed], np.argsort(mixed)[known["members"]]
        _, found, image = mounted(PassiveCoalition(), Original(BASE), BASE, seed, known)
        alone = np.flatnonzero(found.sizes == 1)
        hits += sum(found.of(person)[0] == image[person] for person in alone)
        tries += len(alone)
    assert tries > 100
    assert hits <= poisson.isf(1e-5, tries / 400)  # each is right once in 400; fails once in 100,000


def test_null_a_release_of_another_network_hides_everybody():
    other = uneven_network(400, 4000, 1)
    for seed in range(10):
        _, found, _ = mounted(PassiveCoalition(), Original(BASE), other, seed)
        assert (found.sizes == 400).all()


def test_one_lost_link_between_members_breaks_the_exact_attack_and_not_the_tolerant_one():
    exact, tolerant, own = PassiveCoalition(), PassiveCoalition(degree_tolerance=1, edge_tolerance=1), []
    for seed in range(12):
        known = exact.learn(Original(BASE), np.random.default_rng(seed))
        lost = (BASE.edges == np.sort(known["members"][:2])[:, None]).all(0)
        assert lost.sum() == 1
        published = Network(400, BASE.edges[:, ~lost])
        _, found, image = mounted(exact, Original(BASE), published, seed, known)
        assert not any(found.of(person).tolist() == [image[person]] for person in known["members"])
        _, found, image = mounted(tolerant, Original(BASE), published, seed, known)
        own.append(np.mean([found.of(person).tolist() == [image[person]] for person in known["members"]]))
    assert np.mean(own) > 0.7, own  # others may look as much like them


def test_a_search_that_does_not_end_decides_nothing():
    _, found, _ = mounted(PassiveCoalition(budget=1), Original(BASE), BASE, 0)
    assert (found.sizes == 400).all()

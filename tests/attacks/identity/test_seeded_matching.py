"""Identities by another network of the same people and a few who are known in both."""

import numpy as np
import pytest
from scipy.stats import poisson

from gaudit.attacks.identity.seeded_matching import SeededMatching
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from gaudit.targets.publishing.planted_accounts import plant
from support.random_networks import random_network

METHODS = pytest.mark.parametrize("method", ["percolation", "propagation"])


BASE = random_network(800, 6000, 0)


def mounted(attack: SeededMatching, published: Network = BASE, seed: int = 0, facts=None, original=None):
    """Candidates, the published node of each person, and who is known; ids are drawn at random."""
    rng, original = np.random.default_rng(seed), original or Original(BASE)
    new, people = rng.permutation(published.nodes), original.people
    known = rng.permutation(people)[: round(attack.knows_people * people)]
    facts = attack.learn(original, rng) if facts is None else facts
    found = attack.candidates(published.renamed(new), facts, np.stack([known, new[known]]), rng)
    return found, new[:people], known


def right(found, image: np.ndarray, persons: np.ndarray) -> int:
    return sum(found.of(person).tolist() == [image[person]] for person in persons)


@METHODS
def test_planted_everybody_is_identified_in_the_same_network(method):
    for seed in range(3):
        found, image, _ = mounted(SeededMatching(method=method, overlap=1.0), seed=seed)
        assert right(found, image, np.arange(800)) == 800


@METHODS
def test_planted_nearly_everybody_is_identified_with_nine_tenths_of_the_edges(method):
    found, image, known = mounted(SeededMatching(method=method))
    assert right(found, image, np.setdiff1d(np.arange(800), known)) > 0.97 * (800 - len(known))


@METHODS
def test_null_an_auxiliary_network_of_shuffled_names_is_chance(method):
    attack, hits, tries = SeededMatching(method=method, overlap=1.0), 0, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        facts = dict(attack.learn(Original(BASE), rng))
        facts["auxiliary"] = rng.permutation(800)[facts["auxiliary"]]
        found, image, known = mounted(attack, seed=seed, facts=facts)
        strangers = np.setdiff1d(np.flatnonzero(found.sizes == 1), known)
        hits, tries = hits + right(found, image, strangers), tries + len(strangers)
    assert tries > 500
    assert hits <= poisson.isf(1e-5, tries / 760)  # each is right once in 760; fails once in 100,000


@METHODS
def test_null_an_empty_release_gives_nobody_away_but_who_is_known(method):
    found, image, known = mounted(SeededMatching(method=method), Network.from_edges(800, [], []))
    assert right(found, image, known) == len(known) == 40
    assert (np.delete(found.sizes, known) == 760).all()


@METHODS
def test_who_is_not_matched_may_be_every_node_that_is_not(method):
    sparse = random_network(800, 900, 1)
    found, image, _ = mounted(SeededMatching(method=method), sparse, original=Original(sparse))
    matched = found.sizes == 1
    assert 40 <= matched.sum() < 700
    free = np.setdiff1d(np.arange(800), [found.of(person)[0] for person in np.flatnonzero(matched)])
    for person in np.flatnonzero(~matched)[::25]:
        assert found.of(person).tolist() == free.tolist()
    assert len(found.listed) <= 800  # one set for all of them
    assert len(image) == len(found.sizes)


def test_nodes_that_are_no_persons_are_candidates_too():
    larger = Network(820, BASE.edges)
    found, image, _ = mounted(SeededMatching(overlap=1.0), larger)
    assert right(found, image, np.arange(800)) == 800


def test_it_knows_a_part_of_the_edges_between_persons_and_no_other():
    original = Original(plant(BASE, 7, 5, np.random.default_rng(0)), 7)
    facts = SeededMatching(overlap=0.75).learn(original, np.random.default_rng(0))
    own = facts["auxiliary"]
    assert own.shape == (2, 4500)
    assert np.isin(own[0] * 800 + own[1], BASE.codes).all()
    assert facts["people"] == [800]


def test_typed_edges_count_once():
    typed = Network.from_edges(800, *np.tile(BASE.edges, 2), types=np.repeat([0, 1], BASE.size))
    found, image, _ = mounted(SeededMatching(overlap=1.0), typed, original=Original(typed))
    assert right(found, image, np.arange(800)) == 800


def test_seeds_are_told_to_the_audit():
    assert SeededMatching().knows_people == 0.05
    assert SeededMatching(known=0.2).knows_people == 0.2


def test_without_any_seed_nobody_is_matched():
    found, _, _ = mounted(SeededMatching(known=0.0))
    assert (found.sizes == 800).all()


@pytest.mark.parametrize("wrong", [{"method": "luck"}, {"known": 1.0}, {"overlap": 0.0}, {"threshold": 0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        SeededMatching(**wrong)

"""The active attack: planted accounts find their targets again, unless the release has changed enough."""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import poisson

from gaudit.attacks.identity.active_walk import ActiveWalk
from gaudit.errors import InputError
from gaudit.graphs.network import Network, Original
from gaudit.targets.publishing.planted_accounts import plant
from support.random_networks import random_network
from support.snap import snap

NO_SEEDS = np.empty((2, 0), dtype=np.int64)
TARGETS = 12


BASE = random_network(600, 2400, 0)


def with_accounts(
    base: Network, seed: int, accounts: int = 10, targets: int = TARGETS
) -> tuple[Original, np.ndarray]:
    """An original, and the targets in it."""
    rng = np.random.default_rng(seed)
    marked = rng.permutation(base.nodes)[:targets]
    return Original(plant(base, accounts, marked, rng), accounts), marked


def switched(network: Network, trials: int, seed: int) -> Network:
    """Pairs of edges that exchange their ends, with all degrees as they were."""
    random.seed(seed)  # igraph's own source of randomness
    graph = network.igraph()
    graph.rewire(n=trials)
    return Network.from_edges(network.nodes, *np.array(graph.get_edgelist()).T)


def edited(network: Network, share: float, seed: int) -> Network:
    """A share of the edges deleted and as many pairs linked, at random."""
    rng = np.random.default_rng(seed)
    count = round(share * network.size)
    low, high = np.sort(rng.integers(network.nodes, size=(2, 3 * count)), axis=0)
    fresh = np.setdiff1d((low * network.nodes + high)[low != high], network.codes)
    coded = np.append(
        np.delete(network.codes, rng.permutation(network.size)[:count]), rng.permutation(fresh)[:count]
    )
    return Network.from_edges(network.nodes, coded // network.nodes, coded % network.nodes)


def mounted(attack: ActiveWalk, original: Original, published: Network, seed: int = 0, facts=None):
    """The candidates of all persons, and the published node of each; ids are drawn at random."""
    rng = np.random.default_rng(seed)
    new = rng.permutation(published.nodes)
    known = attack.learn(original, rng) if facts is None else facts
    return attack.candidates(published.renamed(new), known, NO_SEEDS, rng), new[: original.people]


def identified(found, image: np.ndarray, persons: np.ndarray) -> int:
    """Of some persons those whose only candidate is their own node."""
    return sum(found.of(person).tolist() == [image[person]] for person in persons)


def shares_identified(base: Network, seeds: int, change, *attacks: ActiveWalk) -> np.ndarray:
    """Of the targets of each plant in a changed release the share that each attack identifies, [seeds, a]."""
    shares = np.zeros((seeds, len(attacks)))
    for seed in range(seeds):
        original, marked = with_accounts(base, seed)
        published = change(original.network, seed)
        for column, attack in enumerate(attacks):
            found, image = mounted(attack, original, published, seed)
            shares[seed, column] = identified(found, image, marked) / TARGETS
    return shares


def test_planted_accounts_identify_every_target():
    for seed in range(20):
        original, marked = with_accounts(BASE, seed)
        found, image = mounted(ActiveWalk(), original, original.network, seed)
        assert identified(found, image, marked) == TARGETS


def test_planted_accounts_identify_every_target_among_co_authors(gaudit_data):
    base = snap(gaudit_data, "ca-HepTh")
    for seed in range(20):
        original, marked = with_accounts(base, seed)
        found, image = mounted(ActiveWalk(), original, original.network, seed)
        assert identified(found, image, marked) == TARGETS


def test_candidates_are_who_is_linked_to_the_same_accounts():
    original, _ = with_accounts(BASE, 1)
    found, image = mounted(ActiveWalk(), original, original.network)
    linked = original.network.adjacency[:600, 600:].toarray()
    for person in range(0, 600, 7):
        same = np.flatnonzero((linked == linked[person]).all(1))
        expected = image[same] if linked[person].any() else np.arange(610)
        assert found.of(person).tolist() == np.sort(expected).tolist()


def test_persons_without_a_link_share_one_set():
    original, _ = with_accounts(BASE, 1)
    found, _ = mounted(ActiveWalk(), original, original.network)
    assert len(np.unique(found.start[found.sizes == 610])) == 1
    assert len(found.listed) < 2 * 610


def test_one_lost_link_between_accounts_hides_everybody():
    original, _ = with_accounts(BASE, 2)
    among = np.flatnonzero(original.network.edges[0] >= 600)
    for lost in among[::5]:
        published = replace(original.network, edges=np.delete(original.network.edges, lost, axis=1))
        found, _ = mounted(ActiveWalk(), original, published)
        assert (found.sizes == 610).all()


def test_null_a_thoroughly_switched_release_hides_everybody(gaudit_data):
    base = snap(gaudit_data, "ca-HepTh")
    for seed in range(5):
        original, _ = with_accounts(base, seed)
        published = switched(original.network, original.network.size, seed)
        found, _ = mounted(ActiveWalk(), original, published, seed)
        assert (found.sizes == published.nodes).all()


def test_null_facts_shuffled_between_persons_are_chance():
    hits = tries = 0
    for seed in range(20):
        original, _ = with_accounts(BASE, seed)
        rng = np.random.default_rng(seed)
        known = dict(ActiveWalk().learn(original, rng))
        known["links"] = rng.permutation(known["links"])
        found, image = mounted(ActiveWalk(), original, original.network, seed, known)
        alone = np.flatnonzero(found.sizes == 1)
        hits, tries = hits + identified(found, image, alone), tries + len(alone)
    assert tries > 300
    assert hits <= poisson.isf(1e-5, tries / 600)  # each is right once in 600; fails once in 100,000


def test_null_an_empty_release_hides_everybody():
    original, _ = with_accounts(BASE, 0)
    for nodes in (5, 610):
        found, _ = mounted(ActiveWalk(degree_tolerance=3), original, Network.from_edges(610, [], []))
        assert (found.sizes == 610).all(), nodes


EXACT, OF_LINKS = ActiveWalk(), ActiveWalk(edge_tolerance=6)


def test_a_few_switches_break_the_exact_attack_and_not_the_tolerant_one():
    # degrees stay; of the links among the accounts about a fifth is moved
    exact, tolerant = shares_identified(BASE, 10, lambda g, s: switched(g, g.size // 10, s), EXACT, OF_LINKS).T
    assert exact.mean() < 0.1
    assert tolerant.mean() > 0.5


def test_a_few_switches_break_the_exact_attack_and_not_the_tolerant_one_among_co_authors(gaudit_data):
    base = snap(gaudit_data, "ca-HepTh")
    exact, tolerant = shares_identified(base, 5, lambda g, s: switched(g, g.size // 10, s), EXACT, OF_LINKS).T
    assert exact.max() == 0
    assert tolerant.mean() > 0.5


def test_edges_added_and_deleted_call_for_tolerance_of_degrees(gaudit_data):
    base = snap(gaudit_data, "ca-HepTh")
    attacks = [EXACT, *(ActiveWalk(degree_tolerance=degree, edge_tolerance=2) for degree in (0, 2))]
    exact, of_links, of_both = shares_identified(base, 5, lambda g, s: edited(g, 0.01, s), *attacks).T
    assert max(exact.mean(), of_links.mean()) < 0.5
    assert of_both.mean() > 0.9


def test_where_the_accounts_fit_in_two_places_both_are_candidates():
    original, marked = with_accounts(BASE, 0)
    twice = np.hstack([original.network.edges, original.network.edges + 610])
    found, image = mounted(ActiveWalk(), original, Network.from_edges(1220, *twice))
    for person in marked:
        assert found.sizes[person] == 2
        assert image[person] in found.of(person)


def test_a_search_that_does_not_end_decides_nothing():
    original, _ = with_accounts(BASE, 0)
    found, _ = mounted(ActiveWalk(budget=1), original, original.network)
    assert (found.sizes == 610).all()


def test_without_accounts_it_says_how_to_plant_some():
    with pytest.raises(InputError, match="--set accounts=10"):
        ActiveWalk().learn(Original(BASE), np.random.default_rng(0))

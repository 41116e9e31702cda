"""Identities by another network of the same people, with nobody known beforehand."""

import numpy as np
import pytest
from scipy.stats import poisson

from gaudit.attacks.identity.seedless_matching import SeedlessMatching
from gaudit.graphs.network import Network, Original
from support.random_networks import uneven_network
from support.snap import snap

NO_SEEDS = np.empty((2, 0), dtype=np.int64)


BASE = uneven_network(800, 8000, 0)


def mounted(attack: SeedlessMatching, base: Network = BASE, published=None, seed: int = 0, facts=None):
    """Candidates, and the published node of each person; ids are drawn at random."""
    rng, published = np.random.default_rng(seed), published or base
    new = rng.permutation(published.nodes)
    facts = attack.learn(Original(base), rng) if facts is None else facts
    return attack.candidates(published.renamed(new), facts, NO_SEEDS, rng), new[: base.nodes]


def right(found, image: np.ndarray) -> int:
    return int(((found.sizes == 1) & (found.listed[found.start] == image)).sum())


def test_planted_nearly_everybody_is_identified_in_the_same_network():
    for seed in range(3):
        found, image = mounted(SeedlessMatching(overlap=1.0), seed=seed)
        assert right(found, image) >= 0.99 * 800


def test_planted_most_are_identified_with_nine_tenths_of_the_edges():
    found, image = mounted(SeedlessMatching())
    assert right(found, image) > 0.95 * 800
    assert right(found, image) > 0.99 * (found.sizes == 1).sum()


@pytest.mark.parametrize(("name", "share"), [("wiki-Vote", 0.70), ("ca-HepTh", 0.57), ("email-Enron", 0.40)])
def test_planted_in_real_networks_many_are_identified_and_few_by_mistake(gaudit_data, name, share):
    # undefended and without a seed: figures of the benchmark less a margin
    found, image = mounted(SeedlessMatching(), snap(gaudit_data, name))
    assert right(found, image) > share * len(image)
    assert right(found, image) > 0.95 * (found.sizes == 1).sum()


def test_planted_a_network_that_the_adversary_holds_takes_the_place_of_a_drawn_one():
    others = uneven_network(850, 8000, 1)  # of other edges, and with 50 more people in it
    rng = np.random.default_rng(0)
    own = SeedlessMatching().learn(Original(others, auxiliary=BASE), rng)
    assert (own["auxiliary"] == BASE.edges).all()
    assert SeedlessMatching().says(own) == "the names in another network of the same people, which it holds"
    fewer = SeedlessMatching().learn(Original(BASE, auxiliary=others), rng)["auxiliary"]
    assert fewer.shape[1] == (others.edges[1] < 800).sum() > 0


def test_null_an_auxiliary_network_of_shuffled_names_is_chance():
    attack, hits, tries = SeedlessMatching(overlap=1.0), 0, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        facts = dict(attack.learn(Original(BASE), rng))
        facts["auxiliary"] = rng.permutation(800)[facts["auxiliary"]]
        found, image = mounted(attack, seed=seed, facts=facts)
        hits, tries = hits + right(found, image), tries + (found.sizes == 1).sum()
    assert tries > 500
    assert hits <= poisson.isf(1e-5, tries / 800)  # each is right once in 800; fails once in 100,000


def test_null_a_release_of_another_network_is_chance():
    hits = tries = 0
    for seed in range(6):
        other = uneven_network(800, 8000, seed + 1)
        shuffled = other.renamed(np.random.default_rng(seed).permutation(800))  # low ids are hubs in all of them
        found, image = mounted(SeedlessMatching(), published=shuffled, seed=seed)
        hits, tries = hits + right(found, image), tries + (found.sizes == 1).sum()
    assert hits <= poisson.isf(1e-5, max(tries, 1) / 800)


def test_it_knows_nobody_beforehand():
    assert SeedlessMatching().knows_people == 0.0

"""Who is in a published network, by a matching: the confidence is checked with plain sets, the attack both ways."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from gaudit.attacks.existence.existence_matching import ExistenceMatching, agreement
from gaudit.graphs.network import Network, Original
from support.random_networks import random_network, uneven_network

PEOPLE = 200


@pytest.mark.parametrize("seed", range(6))
def test_agreement_is_the_share_of_links_that_a_match_keeps(seed):
    rng = np.random.default_rng(seed)
    one, other = random_network(15, 40, seed), random_network(12, 30, seed + 100)
    image = np.full(15, -1)
    image[rng.permutation(15)[:9]] = rng.permutation(12)[:9]
    near = [
        [{b for edge in g.edges.T.tolist() if a in edge for b in edge if b != a} for a in range(g.nodes)]
        for g in (one, other)
    ]
    expected = []
    for node, match in enumerate(image.tolist()):
        kept = {image[b] for b in near[0][node]} & near[1][match] if match >= 0 else set()
        size = len(near[0][node]) * len(near[1][match]) if match >= 0 else 0
        expected.append(len(kept) / np.sqrt(size) if size else 0.0)
    assert np.allclose(agreement(one, other, image), expected)


def p_of_telling(known: Network, published: Network, there: np.ndarray, held: bool = True) -> float:
    attack = ExistenceMatching()
    original = Original(known, auxiliary=known if held else None)
    facts = attack.learn(original, np.random.default_rng(0))
    shuffled = published.renamed(np.random.default_rng(1).permutation(published.nodes))
    found = attack.found(shuffled, facts)
    return float(mannwhitneyu(found[there], found[~there], alternative="greater").pvalue)


def test_planted_people_who_are_in_it_are_told_from_those_who_are_left_out():
    network = uneven_network(PEOPLE, 1_200, 0)
    there = np.random.default_rng(3).permutation(PEOPLE) >= 20
    assert p_of_telling(network, network.among(there), there) < 1e-6


def test_null_a_release_that_has_nothing_to_do_with_it_tells_nothing():
    """Whoever is called a member by lot is not told: one of 10,000 such tests would find less than 1e-4."""
    network, release = uneven_network(PEOPLE, 1_200, 0), uneven_network(PEOPLE, 1_200, 7)
    there = np.random.default_rng(2).permutation(PEOPLE) >= 60
    assert p_of_telling(network, release, there) > 1e-4


def test_a_network_that_nobody_brought_has_a_part_of_the_edges():
    network = uneven_network(PEOPLE, 1_200, 0)
    rng = np.random.default_rng(0)
    assert ExistenceMatching(overlap=0.5).learn(Original(network), rng)["auxiliary"].shape[1] == network.size / 2
    held = ExistenceMatching(overlap=0.5).learn(Original(network, auxiliary=network), rng)
    assert held["auxiliary"].shape[1] == network.size

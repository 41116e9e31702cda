"""Who knows another network of the same people, and some of them in both, finds the others."""

import numpy as np
import pytest
from scipy.stats import poisson

from gaudit.attacks.seeded_matching import SeededMatching
from gaudit.targets.network import Network, Original

PERSONS = 600


def random_network(seed: int) -> Network:
    pairs = np.stack(np.triu_indices(PERSONS, 1))
    drawn = np.random.default_rng(seed).choice(pairs.shape[1], 6 * PERSONS, replace=False)
    return Network.of(PERSONS, *pairs[:, drawn])


def mounted(attack: SeededMatching, network: Network, seed: int, facts=None):
    rng = np.random.default_rng(seed)
    new = rng.permutation(PERSONS)
    known = int(attack.knows_people * PERSONS)
    seeds = np.stack([np.arange(known), new[:known]])
    facts = attack.learn(Original(network), rng) if facts is None else facts
    found = attack.candidates(network.renamed(new), facts, seeds, rng)
    return found.probability(np.arange(known, PERSONS), new[known:])


@pytest.mark.parametrize("method", ["percolation", "propagation"])
def test_planted_persons_are_found_from_five_percent(method):
    own = mounted(SeededMatching(method=method), random_network(0), 1)
    assert (own == 1).mean() > 0.9


def test_what_it_knows_is_a_part_of_the_edges_between_persons():
    network = random_network(2)
    facts = SeededMatching(overlap=0.7).learn(Original(network, accounts=50), np.random.default_rng(0))
    inside = network.edges[:, network.edges[1] < PERSONS - 50]
    told = {tuple(e) for e in facts["auxiliary"].T.tolist()}
    assert told <= {tuple(e) for e in inside.T.tolist()}
    assert len(told) == round(0.7 * inside.shape[1])


@pytest.mark.parametrize("method", ["percolation", "propagation"])
def test_null_a_network_of_other_people_leads_to_persons_by_chance(method):
    """Hits in twenty runs are Poisson with mean 20 where everybody is matched; error rate 1 in 1000."""
    hits, attack = 0.0, SeededMatching(method=method)
    for seed in range(20):
        facts = attack.learn(Original(random_network(100 + seed)), np.random.default_rng(seed))
        hits += mounted(attack, random_network(seed), seed, facts).sum()
    assert hits <= poisson.isf(0.001, 20)


def test_less_is_found_with_less_overlap():
    shares = [mounted(SeededMatching(overlap=o), random_network(3), 4).mean() for o in (1.0, 0.8, 0.3)]
    assert shares[0] >= shares[1] > shares[2]

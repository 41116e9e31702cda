"""Who is in a published network, by whether anybody there looks like the person."""

import numpy as np

from gaudit.attacks.existence.existence_refinement import ExistenceRefinement
from gaudit.graphs.network import Network, Original
from support.random_networks import uneven_network


def scores(known: Network, published: Network) -> np.ndarray:
    attack = ExistenceRefinement()
    return attack.found(published, attack.learn(Original(known), np.random.default_rng(0)))


def test_whoever_has_the_same_neighbours_degrees_there_is_at_distance_0():
    network = uneven_network(60, 200, 0)
    assert (scores(network, network.renamed(np.random.default_rng(0).permutation(60))) == 0).all()


def test_a_star_is_not_found_in_a_ring():
    star = Network.from_edges(6, np.zeros(5, dtype=int), np.arange(1, 6))
    ring = Network.from_edges(6, np.arange(6), (np.arange(6) + 1) % 6)
    both = Network(12, np.concatenate([star.edges, 6 + ring.edges], axis=1))
    found = scores(both, ring)
    assert (found[6:] == 0).all()
    assert (found[:6] < 0).all()

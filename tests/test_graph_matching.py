"""Matching two networks of the same people from a few pairs that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.graph_matching import percolation, propagation
from gaudit.targets.network import Network


def random_network(nodes: int, size: int, seed: int) -> Network:
    pairs = np.stack(np.triu_indices(nodes, 1))
    drawn = np.random.default_rng(seed).choice(pairs.shape[1], size, replace=False)
    return Network.of(nodes, *pairs[:, drawn])


def part_of(network: Network, share: float, seed: int) -> Network:
    kept = np.random.default_rng(seed).permutation(network.size)[: round(share * network.size)]
    return Network.of(network.nodes, *network.edges[:, np.sort(kept)])


def seeds_of(new: np.ndarray, count: int) -> np.ndarray:
    return np.stack([np.arange(count), new[:count]])


def test_a_copy_of_a_random_network_is_matched_whole_by_percolation():
    """Mean degree 15, 40 of 1,000 persons known: far above the threshold of percolation."""
    network = random_network(1000, 7500, 0)
    new = np.random.default_rng(1).permutation(1000)
    image = percolation(network, network.renamed(new), seeds_of(new, 40))
    assert (image == new).all()


def test_a_copy_is_matched_by_propagation():
    network = random_network(1000, 7500, 2)
    new = np.random.default_rng(3).permutation(1000)
    image = propagation(network, network.renamed(new), seeds_of(new, 40), np.random.default_rng(0))
    assert (image == new).mean() > 0.98


@given(st.integers(0, 10_000), st.floats(0.6, 1.0))
def test_percolation_matches_no_wrong_pair_where_one_network_is_part_of_the_other(seed, share):
    network = random_network(60, 240, seed)
    new = np.random.default_rng(seed + 1).permutation(60)
    image = percolation(part_of(network, share, seed + 2), network.renamed(new), seeds_of(new, 8))
    found = image >= 0
    assert (image[found] == new[found]).all()
    assert (image[:8] == new[:8]).all()


@pytest.mark.parametrize("method", ["percolation", "propagation"])
def test_nobody_is_matched_twice(method):
    one, other = random_network(200, 900, 4), random_network(230, 900, 5)
    seeds = np.stack([np.arange(20), np.arange(20)])
    if method == "percolation":
        image = percolation(one, other, seeds)
    else:
        image = propagation(one, other, seeds, np.random.default_rng(0))
    found = image[image >= 0]
    assert len(np.unique(found)) == len(found)
    assert found.max() < 230


def test_without_a_seed_percolation_matches_nobody():
    network = random_network(50, 200, 6)
    assert (percolation(network, network, np.empty((2, 0), dtype=np.int64)) < 0).all()

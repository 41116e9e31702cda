"""Profiles of nodes, and who is nearest to whom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.identity.degree_profiles import QUANTILES, backed_by, degree_profiles, nearest
from gaudit.attacks.identity.identity_attack import Candidates
from gaudit.graphs.network import Network


def random_network(nodes: int, size: int, seed: int) -> Network:
    pairs = np.stack(np.triu_indices(nodes, 1))
    drawn = np.random.default_rng(seed).choice(pairs.shape[1], min(size, pairs.shape[1]), replace=False)
    return Network.from_edges(nodes, *pairs[:, drawn])


@given(st.integers(2, 12), st.integers(0, 30), st.integers(0, 1000))
def test_profiles_are_those_of_a_loop_over_nodes(nodes, size, seed):
    network = random_network(nodes, size, seed)
    dense, degrees = network.adjacency.toarray(), network.degrees
    for node, profile in enumerate(degree_profiles(network)):
        near = np.sort(degrees[dense[node] > 0])
        assert profile[0] == pytest.approx(np.log1p(degrees[node]))
        for i, value in enumerate(profile[1:]):
            wanted = np.log1p(near[int((i + 0.5) / QUANTILES * len(near))]) / QUANTILES if len(near) else 0
            assert value == pytest.approx(wanted)


def test_names_do_not_matter():
    network = random_network(30, 60, 0)
    new = np.random.default_rng(1).permutation(30)
    assert np.allclose(degree_profiles(network.renamed(new))[new], degree_profiles(network))


@given(st.integers(0, 1000))
def test_the_nearest_are_those_of_a_loop_over_pairs(seed):
    rng = np.random.default_rng(seed)
    known, seen = rng.integers(0, 4, (6, 3)).astype(float), rng.integers(0, 4, (9, 3)).astype(float)
    found = nearest(known, seen)
    for person in range(6):
        distance = np.abs(seen - known[person]).sum(1)
        own = found.of(person)
        assert (distance[own] == distance.min()).all()  # one of the nearest profiles, and all nodes that have it
        assert (seen[own] == seen[own[0]]).all()
        assert len(own) == (seen == seen[own[0]]).all(1).sum()


def test_a_few_lost_edges_leave_most_nodes_nearest_to_themselves():
    """Five of 4,000 edges are gone: most persons are still the only one with the nearest profile."""
    network = random_network(1000, 4000, 2)
    kept = np.sort(np.random.default_rng(3).permutation(4000)[5:])
    published = Network.from_edges(1000, *network.edges[:, kept])
    found = nearest(degree_profiles(network), degree_profiles(published))
    right = found.probability(np.arange(1000), np.arange(1000))
    assert right.mean() > 0.6


def test_sets_that_are_empty_are_filled_and_others_stay():
    found = backed_by(
        Candidates.of_sets([np.array([4]), np.array([], dtype=np.int64)]),
        Candidates.of_sets([np.array([7]), np.array([8, 9])]),
    )
    assert found.of(0).tolist() == [4]
    assert found.of(1).tolist() == [8, 9]

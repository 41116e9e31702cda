"""Eigenvalues on a grid: sensitivities by brute force, the grid, the noise."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.exact_noise import discrete_laplace
from gaudit.mechanisms.spectrum import (
    MOST_NODES,
    STEPS,
    eigenvalues,
    eigenvalues_sensitivity,
    rounded_eigenvalues,
    rounded_eigenvalues_sensitivity,
    top_eigenvalues,
)
from support import every_network as every

CYCLE = Network.from_edges(5, [0, 1, 2, 3, 4], [1, 2, 3, 4, 0])


def test_sensitivity_holds_on_all_networks_for_every_k():
    """Exact eigenvalues to 1e-9; 1 is reached for k = 1, and 2 for k of 2 nodes and from k = 3 on."""
    for nodes in range(2, 6):
        networks = every.labelled(nodes)
        spectra = np.array([eigenvalues(network, nodes) for network in networks])
        moved = np.array([np.abs(spectra - spectra[other]) for other in every.one_edge_away(len(networks))])
        for k in range(1, nodes + 1):
            most = moved[:, :, :k].sum(axis=2).max()
            assert most <= eigenvalues_sensitivity(k) + 1e-9
            assert most == pytest.approx(eigenvalues_sensitivity(k)) or (k == 2 and nodes > 2)
    for network in every.atlas(6):
        here = eigenvalues(network, 6)
        moved = np.array([np.abs(here - eigenvalues(other, 6)) for other in every.flipped(network)])
        for k in range(1, 7):
            assert moved[:, :k].sum(axis=1).max() <= eigenvalues_sensitivity(k) + 1e-9


def test_what_gets_noise_is_whole_and_keeps_its_sensitivity():
    for nodes in range(2, 6):
        networks = every.labelled(nodes)
        for k in range(1, nodes + 1):
            steps = np.array([rounded_eigenvalues(network, k) for network in networks])
            assert steps.dtype == np.int64
            for other in every.one_edge_away(len(networks)):
                assert np.abs(steps - steps[other]).sum(axis=1).max() <= rounded_eigenvalues_sensitivity(k)


def test_rounding_alone_can_exceed_the_unrounded_sensitivity():
    """Why the sensitivity in steps allows for it: 2.5 steps apart can become 3 and even more after rounding."""
    assert rounded_eigenvalues_sensitivity(1) == STEPS + 2
    assert rounded_eigenvalues_sensitivity(5) == 2 * STEPS + 10


def test_the_release_is_the_rounded_spectrum_and_exact_noise():
    scale = Fraction(rounded_eigenvalues_sensitivity(3)) / Fraction(1, 2)
    noise = discrete_laplace(scale, 3, np.random.default_rng(4))
    released = top_eigenvalues(CYCLE, 0.5, 3, np.random.default_rng(4))
    assert np.array_equal(released.values * STEPS, np.sort(rounded_eigenvalues(CYCLE, 3) + noise)[::-1])
    assert released.sensitivity == 2 + Fraction(6, STEPS)
    assert released.guarantee.unit == "edge"


def test_noise_has_the_scale_of_epsilon():
    """Signs and halves of the noise on the largest eigenvalue, 2: four cells as likely; false alarm 1e-6."""
    rng, draws = np.random.default_rng(0), 2000
    noise = np.array([top_eigenvalues(CYCLE, 1, 1, rng).values[0] - 2 for _ in range(draws)])
    cells = np.histogram(noise, [-np.inf, -np.log(2), 0, np.log(2), np.inf])[0]
    assert chisquare(cells).pvalue > 1e-6


def test_eigenvalues_are_those_of_the_matrix():
    network = every.random_network(np.random.default_rng(0), 30)
    values = np.linalg.eigvalsh(network.adjacency.toarray())[::-1]
    for k in (1, 4, 30):
        assert eigenvalues(network, k) == pytest.approx(values[:k], abs=1e-9)
        assert np.abs(rounded_eigenvalues(network, k) / STEPS - values[:k]).max() <= 0.51 / STEPS


@pytest.mark.parametrize(
    ("network", "epsilon", "k", "said"),
    [
        (CYCLE, 0, 1, "epsilon is 0"),
        (CYCLE, 1, 0, "k is 0: expected a whole number from 1 to 5"),
        (CYCLE, 1, 6, "k is 6: expected a whole number from 1 to 5"),
        (Network.from_edges(1, [], []), 1, 1, "1 nodes"),
        (
            Network.from_edges(MOST_NODES + 1, [], []),
            1,
            1,
            "4,001 nodes: eigenvalues are released for 4,000 at most",
        ),
    ],
)
def test_bad_input_is_one_line(network, epsilon, k, said):
    with pytest.raises(InputError, match=said):
        top_eigenvalues(network, epsilon, k)

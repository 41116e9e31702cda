"""Eigenvectors: the score's sensitivity by brute force, the sampler by quadrature, right angles, the exact loss."""

import itertools

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import chisquare

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.eigenvectors import MOST_NODES, bingham, complement, top_eigenvectors
from support import every_network as every

LEVEL = 1e-4
"""Of each statistical test; the seeds are fixed."""


def test_one_edge_changes_the_score_of_no_direction_by_more_than_1():
    """All networks of up to 5 nodes: the score v'Av changes by v'(A - B)v, whose largest size is an eigenvalue."""
    for nodes in range(2, 6):
        matrices = np.array([network.adjacency.toarray() for network in every.labelled(nodes)], float)
        for other in every.one_edge_away(len(matrices)):
            moved = np.abs(np.linalg.eigvalsh(matrices - matrices[other])).max()
            assert moved == pytest.approx(1)


def test_draws_on_the_circle_have_the_density_of_bingham():
    exponent, rng = np.array([[0.2, 1.5], [1.5, -0.4]]), np.random.default_rng(0)
    drawn = np.array([bingham(exponent, rng) for _ in range(20_000)])
    angle = np.arctan2(drawn[:, 1], drawn[:, 0]) % np.pi

    def density(t):
        v = np.array([np.cos(t), np.sin(t)])
        return np.exp(v @ exponent @ v)

    edges = np.linspace(0, np.pi, 13)
    mass = np.array([quad(density, low, high)[0] for low, high in itertools.pairwise(edges)])
    assert chisquare(np.histogram(angle, edges)[0], len(drawn) * mass / mass.sum()).pvalue > LEVEL
    assert abs((drawn[:, 0] > 0).mean() - 0.5) < 4 / np.sqrt(4 * len(drawn)), "both signs are as likely"


def test_draws_on_the_sphere_have_the_density_of_bingham():
    values, rng = np.array([0.0, 1.0, 4.0]), np.random.default_rng(1)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    drawn = np.array([bingham(turn @ np.diag(values) @ turn.T, rng) for _ in range(20_000)]) @ turn
    height = np.abs(drawn[:, 2])

    def density(angle, z):
        ring = 1 - z**2
        return np.exp(values[1] * ring * np.sin(angle) ** 2 + values[2] * z**2)

    edges = np.linspace(0, 1, 11)
    mass = np.array([dblquad(density, a, b, 0, 2 * np.pi)[0] for a, b in itertools.pairwise(edges)])
    assert chisquare(np.histogram(height, edges)[0], len(drawn) * mass / mass.sum()).pvalue > LEVEL


@pytest.mark.parametrize("size", [2, 3, 40])
def test_the_complement_is_an_orthonormal_basis(size):
    vector = np.random.default_rng(size).standard_normal(size)
    vector /= np.linalg.norm(vector)
    beside = complement(vector)
    assert beside.shape == (size, size - 1)
    assert np.abs(beside.T @ vector).max() < 1e-12
    assert np.allclose(beside.T @ beside, np.eye(size - 1))


def test_vectors_are_unit_at_right_angles_and_near_the_true_ones_at_a_large_epsilon():
    rng = np.random.default_rng(2)
    dense = rng.random((60, 60)) < np.where(np.add.outer(np.arange(60) < 30, np.arange(60) < 30) != 1, 0.6, 0.05)
    network = Network.from_edges(60, *np.argwhere(np.triu(dense, 1)).T.tolist())
    found = top_eigenvectors(network, 2000.0, 2, rng).values
    assert np.allclose(found.T @ found, np.eye(2))
    _, true = np.linalg.eigh(network.adjacency.toarray().astype(float))
    assert np.linalg.norm(true[:, -2:].T @ found, axis=0).min() > 0.98
    blind = top_eigenvectors(network, 1e-6, 2, rng).values
    assert np.linalg.norm(true[:, -2:].T @ blind, axis=0).max() < 0.6


def test_guarantee_exact_loss_of_two_linked_nodes_is_below_epsilon():
    """On two nodes the density is exp(epsilon v1 v2) over its integral: all losses by quadrature."""
    for epsilon in (0.5, 2.0, 6.0):
        total = quad(lambda t, e=epsilon: np.exp(e * np.cos(t) * np.sin(t)), 0, 2 * np.pi)[0] / (2 * np.pi)
        most = max(epsilon / 2 - np.log(total), epsilon / 2 + np.log(total))
        assert most < epsilon


def test_it_says_what_it_promises_and_refuses_what_it_cannot_do():
    network = Network.from_edges(3, [0], [1])
    released = top_eigenvectors(network, 1.5, 2, np.random.default_rng(0))
    assert (released.guarantee.unit, float(released.guarantee.epsilon)) == ("edge", 1.5)
    with pytest.raises(InputError, match="k"):
        top_eigenvectors(network, 1.0, 3)
    with pytest.raises(InputError, match=f"for {MOST_NODES:,} at most"):
        top_eigenvectors(Network.from_edges(MOST_NODES + 1, [0], [1]), 1.0, 1)

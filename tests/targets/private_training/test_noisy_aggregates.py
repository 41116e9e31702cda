"""Sums under noise: exact sums, the promised noise, and what one unit moves."""

import math
from itertools import pairwise

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from gaudit.targets.private_training.noisy_aggregates import GRID, noisy_hops, noisy_sums, unit_rows

NOTHING = 1e-9


def sums(rows, edges, deviation=NOTHING, seed=0):
    return noisy_sums(rows, edges, deviation, np.random.default_rng(seed))


def drawn(nodes, width, seed):
    generator = torch.Generator().manual_seed(seed)
    rows = unit_rows(torch.randn(nodes, width, generator=generator))
    links = (torch.rand(nodes, nodes, generator=generator) < 0.4).triu(1)
    return rows, (links | links.t()).nonzero().t()


@given(nodes=st.integers(2, 8), width=st.integers(1, 6), seed=st.integers(0, 999))
def test_without_noise_sums_are_those_of_the_neighbours(nodes, width, seed):
    rows, edges = drawn(nodes, width, seed)
    exact = torch.zeros(nodes, nodes).index_put_((edges[1], edges[0]), torch.tensor(1.0)) @ rows
    assert torch.allclose(sums(rows, edges), exact, atol=nodes * 1.1 / GRID)


@given(nodes=st.integers(2, 8), width=st.integers(1, 6), seed=st.integers(0, 999))
def test_one_edge_moves_sums_by_at_most_sqrt_two_and_a_node_those_of_others_by_sqrt_of_its_degree(
    nodes, width, seed
):
    """Brute force over every edge and every node."""
    rows, edges = drawn(nodes, width, seed)
    whole = sums(rows, edges)
    for one, other in edges[:, edges[0] < edges[1]].t().tolist():
        gone = ((edges[0] == one) & (edges[1] == other)) | ((edges[0] == other) & (edges[1] == one))
        assert float((sums(rows, edges[:, ~gone]) - whole).norm()) <= math.sqrt(2) + 1e-6
    for node in range(nodes):
        gone = (edges == node).any(0)
        moved = sums(rows, edges[:, ~gone]) - whole
        moved[node] = 0
        assert float(moved.norm()) <= math.sqrt(int((edges[0] == node).sum())) + 1e-6


def test_noise_has_the_deviation_that_was_asked_for():
    """A chi-square test of 40,000 numbers that fails once in a million times."""
    found = sums(torch.zeros(4000, 10), torch.empty((2, 0), dtype=torch.long), deviation=3.0)
    total = float((found.double() / 3.0).square().sum())
    low, high = chi2.ppf([5e-7, 1 - 5e-7], found.numel())
    assert low < total < high
    assert torch.allclose(found * GRID, (found * GRID).round(), atol=1e-2)


def test_every_hop_reads_the_one_before_and_has_noise_of_its_own():
    rows, edges = drawn(8, 4, 0)
    quiet = noisy_hops(rows, edges, 3, NOTHING, np.random.default_rng(0))
    assert len(quiet) == 4
    for before, after in pairwise(quiet):
        assert torch.allclose(after, unit_rows(sums(before, edges)), atol=1e-5)
    loud = noisy_hops(rows, edges, 2, 2.0, np.random.default_rng(0))
    assert torch.equal(loud[0], quiet[0])
    assert all(not torch.allclose(a, b, atol=0.1) for a, b in zip(loud[1:], quiet[1:], strict=False))
    assert all(float(hop.norm(dim=1).max()) <= 1 + 1e-5 for hop in loud)


def test_rows_of_zeros_stay_zeros():
    assert torch.equal(unit_rows(torch.zeros(2, 3)), torch.zeros(2, 3))

"""The sums that labels enter through: how far one label moves them, and what noise is added."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from gaudit.targets.federated.label_statistic import GRID, Noise, label_sums, noise_of_share

CLASSES = 3


def sums(rows, labels, labelled):
    return label_sums(rows, labels, labelled, CLASSES).astype(object)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 6))
def test_sensitivity_no_label_moves_the_sums_by_more(seed, width, nodes):
    """All neighbours of small inputs, in whole numbers: 1 without a label, sqrt(2) with another one."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(nodes, width, generator=generator, dtype=torch.double)
    rows = torch.nn.functional.normalize(rows, dim=1)
    labels = torch.randint(CLASSES, (nodes,), generator=generator)
    everybody = torch.ones(nodes, dtype=torch.bool)
    whole = sums(rows, labels, everybody)
    for node in range(nodes):
        fewer = everybody.clone()
        fewer[node] = False
        assert ((whole - sums(rows, labels, fewer)) ** 2).sum() <= GRID**2
        for label in range(CLASSES):
            other = labels.clone()
            other[node] = label
            assert ((whole - sums(rows, other, everybody)) ** 2).sum() <= 2 * GRID**2


def test_sensitivity_is_reached():
    """A row of length 1 moves the sums by nearly all of it: no noise is wasted."""
    row, label, there = (
        torch.tensor([[1.0, 0.0]]),
        torch.zeros(1, dtype=torch.long),
        torch.ones(1, dtype=torch.bool),
    )
    moved = sums(row, label, there) - sums(row, label, ~there)
    assert GRID - 2 <= math.sqrt((moved**2).sum()) <= GRID


@pytest.mark.parametrize(
    ("clients", "curious", "honest"), [(10, 0, 10), (10, 1, 9), (10, 3, 7), (1, 1, 1), (2, 5, 1)]
)
def test_honest_shares_together_are_all_of_the_noise(clients, curious, honest):
    noise = Noise(2.0, curious=curious)
    assert honest * noise.share(clients) ** 2 == pytest.approx(4.0)
    assert clients * noise.share(clients) ** 2 == pytest.approx(noise.total(clients) ** 2)


def test_shares_add_up_to_discrete_gaussian_noise_of_the_whole_variance():
    """Chi-square tests at 0.1 %: the variance of sums of nine shares, and their agreement with a normal law."""
    noise, draws = Noise(1.5), 1500
    share = noise.share(10)
    drawn = noise_of_share(share, 9 * draws, np.random.default_rng(0))
    assert drawn.dtype == np.int64
    total = drawn.reshape(9, draws).sum(0) / (GRID * noise.deviation)
    low, high = chi2.ppf([5e-4, 1 - 5e-4], draws)
    assert low < float(np.square(total).sum()) < high
    cells = np.bincount(np.clip(np.floor(total).astype(int) + 3, 0, 5), minlength=6)
    inside = np.array([0.02275, 0.13591, 0.34134, 0.34134, 0.13591, 0.02275]) * draws
    assert float(((cells - inside) ** 2 / inside).sum()) < chi2.ppf(0.999, 5)


def test_fresh_noise_comes_from_the_operating_system():
    one, other = noise_of_share(1.0, 20), noise_of_share(1.0, 20)
    assert not np.array_equal(one, other)

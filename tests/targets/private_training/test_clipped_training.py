"""Training with clipped gradients: each record's part by hand, noise as promised, and no record beyond the clip."""

import warnings

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from scipy.stats import chi2
from torch import nn
from torch.nn import functional as F

from gaudit.targets.private_training.clipped_training import NoisySteps, clipped_sum, train_noisily

STILL = NoisySteps(rate=1.0, steps=1, clip=0.5, multiplier=1.0, lr=1e-9, at_once=3)


def model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))


def data(count=10, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(count, 5, generator=draw), torch.randint(3, (count,), generator=draw)


def by_hand(network, rows, labels, clip):
    """One record after the other, by autograd."""
    total = [torch.zeros_like(p) for p in network.parameters()]
    for row, label in zip(rows, labels, strict=True):
        loss = F.cross_entropy(network(row[None]), label[None])
        found = torch.autograd.grad(loss, list(network.parameters()))
        norm = torch.cat([g.flatten() for g in found]).norm()
        for into, part in zip(total, found, strict=True):
            into.add_(part * min(1.0, clip / float(norm)))
    return total


@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_the_sum_is_that_of_records_clipped_one_by_one(at_once):
    (rows, labels), network = data(), model()
    how = NoisySteps(1.0, 1, 0.5, 0.0, 1e-9, at_once)
    watched = GradSampleModule(network, loss_reduction="sum")
    found = clipped_sum(watched, lambda some: (rows[some],), labels, torch.arange(10), how)
    expected = by_hand(model(), rows, labels, 0.5)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_data_that_want_no_gradient_are_no_reason_for_a_warning():
    (rows, labels), watched = data(), GradSampleModule(model(), loss_reduction="sum")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped_sum(watched, lambda some: (rows[some],), labels, torch.arange(10), STILL)


def test_no_record_moves_the_sum_by_more_than_the_clip():
    """Brute force: every record away once."""
    (rows, labels), everybody = data(), torch.arange(10)
    watched = GradSampleModule(model(), loss_reduction="sum")

    def total(records):
        parts = clipped_sum(watched, lambda some: (rows[some],), labels, records, STILL)
        return torch.cat([part.flatten() for part in parts])

    whole = total(everybody)
    for gone in range(10):
        assert float((whole - total(everybody[everybody != gone])).norm()) <= STILL.clip + 1e-5


def test_noise_on_the_sum_has_the_deviation_that_the_accountant_was_told():
    """300 steps without any record: a chi-square test that fails once in a million times."""
    network, seen = model(), []
    how = NoisySteps(rate=1.0, steps=300, clip=0.5, multiplier=3.0, lr=1e-9, at_once=3)

    def look(step):
        seen.append(torch.cat([p.grad.flatten() for p in network.parameters()]))

    nobody = torch.arange(0)
    train_noisily(
        network, lambda some: (torch.zeros(len(some), 5),), nobody, nobody, how, np.random.default_rng(0), look
    )
    scaled = torch.stack(seen).double() / (how.multiplier * how.clip)
    low, high = chi2.ppf([5e-7, 1 - 5e-7], scaled.numel())
    assert low < float(scaled.square().sum()) < high


def test_each_record_is_drawn_alone_with_the_rate():
    """Shares of records drawn over 400 steps: normal, and five deviations are passed once in a million times."""
    network, drawn = model(), []
    rows, labels = data(10)

    def inputs(some):
        drawn.extend(some.tolist())
        return (rows[some],)

    how = NoisySteps(rate=0.3, steps=400, clip=1.0, multiplier=1.0, lr=1e-9, at_once=100)
    train_noisily(network, inputs, labels, torch.arange(10), how, np.random.default_rng(0))
    shares = np.bincount(drawn, minlength=10) / 400
    assert abs(shares.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 4000)
    assert (np.abs(shares - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 400)).all()


def test_without_noise_it_learns():
    (rows, _), network = data(200), model()
    labels = (rows[:, 0] > 0).long()
    how = NoisySteps(rate=1.0, steps=150, clip=10.0, multiplier=0.0, lr=0.05, at_once=64)
    train_noisily(network, lambda some: (rows[some],), labels, torch.arange(200), how, np.random.default_rng(0))
    assert float((network(rows).argmax(1) == labels).float().mean()) > 0.95


def test_a_record_whose_gradient_overflows_counts_as_none():
    """No clip bounds what is no number; the others' parts stay as they are."""
    (rows, labels), network = data(), model()
    rows[3] = 3e38
    watched = GradSampleModule(network, loss_reduction="sum")
    others = torch.arange(10)[torch.arange(10) != 3]
    whole, without = (
        clipped_sum(watched, lambda some: (rows[some],), labels, who, STILL) for who in (torch.arange(10), others)
    )
    for one, other in zip(whole, without, strict=True):
        assert one.isfinite().all()
        assert torch.allclose(one, other, atol=1e-5)

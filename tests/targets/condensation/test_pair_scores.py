"""Scores of pairs in blocks are those of all pairs at once, and so are their derivatives."""

import pytest
import torch
from torch import nn

from gaudit.targets.condensation import pair_scores
from gaudit.targets.condensation.pair_scores import PAIRS, PairScores, normalised_sums

HIDDEN = 6


def arguments(nodes, hidden=HIDDEN):
    draw = torch.Generator().manual_seed(nodes)
    shapes = [(nodes, hidden), (nodes, hidden), (hidden, hidden), (hidden,), (hidden,), (hidden,)]
    return [torch.randn(*shape, generator=draw, dtype=torch.double).requires_grad_() for shape in shapes]


def at_once(left, right, middle, out, weight, bias, eps):
    """The same by modules on n^2 rows."""
    pairs = (left[:, None] + right[None]).reshape(-1, left.shape[1])
    norm = nn.functional.batch_norm(
        torch.relu(pairs) @ middle.t(), None, None, weight, bias, training=True, eps=eps
    )
    return (torch.relu(norm) @ out).reshape(len(left), len(left))


@pytest.mark.parametrize("pairs", [1, 30, PAIRS])
@pytest.mark.parametrize("nodes", [2, 7, 40])
def test_blocks_change_nothing(nodes, pairs, monkeypatch):
    """One row for each block, several with a rest, all in one."""
    monkeypatch.setattr(pair_scores, "PAIRS", pairs)
    given = arguments(nodes)
    scores, expected = PairScores.apply(*given, 1e-5), at_once(*given, 1e-5)
    assert torch.allclose(scores, expected, rtol=1e-10)
    into = torch.randn(nodes, nodes, dtype=torch.double)
    for one, other in zip(
        torch.autograd.grad(scores, given, into), torch.autograd.grad(expected, given, into), strict=True
    ):
        assert torch.allclose(one, other, rtol=1e-8, atol=1e-10)


def test_derivatives_are_the_same_when_the_middle_layer_rests():
    given = arguments(40)
    given[2].requires_grad_(False)
    wanted = [g for g in given if g.requires_grad]
    for one, other in zip(
        torch.autograd.grad(PairScores.apply(*given, 1e-5).sum(), wanted),
        torch.autograd.grad(at_once(*given, 1e-5).sum(), wanted),
        strict=True,
    ):
        assert torch.allclose(one, other, rtol=1e-8, atol=1e-10)


def test_variance_of_units_far_from_zero():
    """In single precision the mean square less the squared mean would have nothing left."""
    single = [g.detach().float() for g in arguments(40)]
    single[0], single[1] = 10 + 1e-2 * single[0], 1e-2 * single[1]  # nearly the same for all pairs
    double = [g.double() for g in single]
    assert torch.allclose(PairScores.apply(*single, 1e-12).double(), at_once(*double, 1e-12), atol=0.01)


def test_normalised_sums_are_the_normalised_pairs():
    left, right, _, _, weight, bias = arguments(9)
    one, two = normalised_sums(left, right, weight, bias, 1e-5)
    pairs = (left[:, None] + right[None]).reshape(-1, HIDDEN)
    expected = nn.functional.batch_norm(pairs, None, None, weight, bias, training=True)
    assert torch.allclose((one[:, None] + two[None]).reshape(-1, HIDDEN), expected, rtol=1e-10)

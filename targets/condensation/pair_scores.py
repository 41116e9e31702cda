"""Scores of all ordered pairs of nodes by a network with batch normalisation, in blocks that stay in the cache.

Three linear layers on ``[x_i; x_j]`` with normalisation over all pairs between them (Jin et al. 2022b, Eq. 7) are
what condensation spends its time on. As modules they write a dozen arrays of n^2 rows to memory in each direction;
here one is kept, and everything else happens to a thousand pairs at a time.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

PAIRS = 1024
"""Pairs in a block on a processor: an array of their hidden units fits into a core's own cache."""


def normalised_sums(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Batch normalisation of ``left_i + right_j`` over all pairs i, j, as two summands again.

    Over a full grid mean and variance of the sum are the sums of means and of variances, so no pair is formed.

    Args:
        left, right: summands [n, h].
        weight, bias: of the normalisation, [h].
        eps: added to the variance.
    """
    scale = weight * (left.var(0, unbiased=False) + right.var(0, unbiased=False) + eps).rsqrt()
    return (left - left.mean(0)) * scale, (right - right.mean(0)) * scale + bias


class PairScores(torch.autograd.Function):
    """``out . relu(norm(middle . relu(left_i + right_j)))`` for all pairs i, j: scores [n, n].

    Arguments of ``apply``: left [n, h], right [n, h], the middle layer's weights [h, h] (its bias would cancel in
    the normalisation), weights of the last layer [h], weight and bias of the normalisation [h], and its eps.
    """

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        left: Tensor,
        right: Tensor,
        middle: Tensor,
        out: Tensor,
        weight: Tensor,
        bias: Tensor,
        eps: float,
    ) -> Tensor:
        """The scores, [n, n]."""
        n = len(left)
        second, means, squares = left.new_empty(n * n, len(middle)), [], []
        work = _room(left, middle)
        for rows, pairs in _blocks(left):
            first, z = work[: pairs.stop - pairs.start], second[pairs]
            torch.mm(_sums(left[rows], right, first).relu_(), middle.t(), out=z)
            means.append(z.mean(0))
            squares.append(torch.sub(z, means[-1], out=first).square_().sum(0))
        sizes = left.new_tensor([p.stop - p.start for _, p in _blocks(left)])[:, None] / n**2
        mean = (sizes * torch.stack(means)).sum(0)
        between = (sizes * (torch.stack(means) - mean).square()).sum(0)  # of blocks (Chan et al. 1983)
        inverse = (torch.stack(squares).sum(0) / n**2 + between + eps).rsqrt()
        scale = weight * inverse
        shift = bias - mean * scale
        scores = left.new_empty(n * n)
        for _, pairs in _blocks(left):
            active = torch.addcmul(shift, second[pairs], scale, out=work[: pairs.stop - pairs.start]).relu_()
            torch.mv(active, out, out=scores[pairs])
        ctx.save_for_backward(left, right, middle, out, second, mean, inverse, scale, shift)
        return scores.reshape(n, n)

    @staticmethod
    @once_differentiable  # type: ignore[no-untyped-call, untyped-decorator]
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor | None, ...]:
        """Derivatives by all arguments but eps, that by the middle layer only if it is wanted."""
        left, right, middle, out, second, mean, inverse, scale, shift = ctx.saved_tensors
        n, by_score = len(left), given.reshape(-1)
        work, other = _room(left, middle), _room(left, middle)

        def switched_on(pairs: slice) -> Tensor:
            """Which hidden units are active, as ones and zeros."""
            units = torch.addcmul(shift, second[pairs], scale, out=work[: pairs.stop - pairs.start])
            return torch.gt(units, 0, out=units)

        plain, by_unit = torch.zeros_like(out), torch.zeros_like(out)
        for _, pairs in _blocks(left):
            on = switched_on(pairs)
            plain += on.t() @ by_score[pairs]
            by_unit += on.mul_(second[pairs]).t() @ by_score[pairs]
        by_bias = out * plain
        by_weight = inverse * (out * by_unit - mean * by_bias)
        slope = -scale * inverse * by_weight / n**2  # through the variance
        level = -scale * by_bias / n**2 - slope * mean  # and through the mean
        by_left, by_right = torch.empty_like(left), torch.zeros_like(right)
        by_middle = torch.zeros_like(middle) if ctx.needs_input_grad[2] else None
        for rows, pairs in _blocks(left):
            on = switched_on(pairs).mul_(by_score[pairs, None])
            by_second = torch.addcmul(level, second[pairs], slope, out=other[: len(on)]).addcmul_(on, out * scale)
            by_first = torch.mm(by_second, middle) if by_middle is not None else torch.mm(by_second, middle, out=on)
            if by_middle is not None:
                by_middle.addmm_(by_second.t(), _sums(left[rows], right, on).relu_())
            reached = _sums(left[rows], right, by_second).gt_(0)
            by_pair = by_first.mul_(reached).reshape(-1, n, by_first.shape[1])
            by_left[rows] = by_pair.sum(1)
            by_right += by_pair.sum(0)
        by_out = scale * by_unit + shift * plain
        return by_left, by_right, by_middle, by_out, by_weight, by_bias, None


def _blocks(left: Tensor) -> Iterator[tuple[slice, slice]]:
    """Rows i of a block, and its pairs; off the processor there is one block."""
    n = len(left)
    step = max(PAIRS // n, 1) if left.device.type == "cpu" else n
    for start in range(0, n, step):
        stop = min(start + step, n)
        yield slice(start, stop), slice(start * n, stop * n)


def _room(left: Tensor, middle: Tensor) -> Tensor:
    """Memory for the hidden units of a block."""
    rows, _ = next(_blocks(left))
    return left.new_empty((rows.stop - rows.start) * len(left), len(middle))


def _sums(left: Tensor, right: Tensor, into: Tensor) -> Tensor:
    """``left_i + right_j`` for the rows of a block, written to ``into`` [pairs, h]."""
    torch.add(left[:, None], right[None], out=into.view(len(left), len(right), -1))
    return into

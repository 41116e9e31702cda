"""Training with clipped gradients of single records and Gaussian noise (Abadi et al. 2016), on any device."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Inputs = Callable[[Tensor], tuple[Tensor, ...]]
"""What a model reads of some records, given their ids [b]: tensors whose first length is b."""
TINY = 1e-12
FINEST = 2.0**-25
"""Half a step of the coins' numbers, so that none comes up more often than is accounted for."""


@dataclass(frozen=True)
class NoisySteps:
    """How it is trained.

    Attributes:
        rate: with which each record is drawn, alone, in each step.
        steps: how many.
        clip: to which the gradient of a record is shortened, over all weights together.
        multiplier: deviation of the noise, in clips.
        lr: of Adam, which sees noisy gradients alone.
        at_once: records whose gradients are held at a time: the memory is this many times the model.
    """

    rate: float
    steps: int
    clip: float
    multiplier: float
    lr: float
    at_once: int


def train_noisily(
    model: nn.Module,
    inputs: Inputs,
    labels: Tensor,
    records: Tensor,
    how: NoisySteps,
    generator: torch.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Trains a model in place; gradients of single records are Opacus', the noise is drawn in floating point.

    Args:
        model: layers that Opacus knows, none of which mixes records.
        inputs: what it reads of some records.
        labels: of all ids.
        records: ids of those that are trained on; their number is public.
        how: rate, steps, clip, noise.
        generator: on the model's device.
        progress: called with the steps done.
    """
    from opacus import GradSampleModule

    watched = GradSampleModule(model, loss_reduction="sum", strict=False)
    adam = torch.optim.Adam(model.parameters(), lr=how.lr)
    expected = max(how.rate * len(records), 1.0)
    for step in range(how.steps):
        drawn = torch.rand(len(records), generator=generator, device=records.device) < how.rate - FINEST
        total = clipped_sum(watched, inputs, labels, records[drawn], how)
        for weight, found in zip(model.parameters(), total, strict=True):
            noise = torch.randn(found.shape, generator=generator, device=found.device)
            weight.grad = (found + how.multiplier * how.clip * noise) / expected
        adam.step()
        progress(step + 1)
    watched.to_standard_module()


def clipped_sum(
    watched: nn.Module, inputs: Inputs, labels: Tensor, records: Tensor, how: NoisySteps
) -> list[Tensor]:
    """The sum of clipped gradients of some records by each weight.

    Args:
        watched: a model in Opacus' `GradSampleModule`, with sums as its loss.
        inputs: what it reads of some records.
        labels: of all ids.
        records: ids.
        how: clip, and how many at once.
    """
    weights = list(watched.parameters())
    total = [torch.zeros_like(weight) for weight in weights]
    for part in records.split(how.at_once) if len(records) else ():
        watched.zero_grad(set_to_none=True)
        loss = F.cross_entropy(watched(*inputs(part)), labels[part], reduction="sum")
        loss.backward()  # type: ignore[no-untyped-call]
        samples: list[Tensor] = [weight.grad_sample for weight in weights]  # type: ignore[attr-defined]
        squares = torch.stack([sample.flatten(1).square().sum(1) for sample in samples])
        length = squares.sum(0).sqrt()
        finite = length.isfinite()  # what overflows counts as none: no clip would bound it
        share = torch.where(finite, (how.clip / length.clamp(min=TINY)).clamp(max=1.0), 0.0)
        for into, sample in zip(total, samples, strict=True):
            known = sample if bool(finite.all()) else torch.nan_to_num(sample, posinf=0.0, neginf=0.0)
            into.add_(torch.einsum("b,b...->...", share, known))
    watched.zero_grad(set_to_none=True)
    return total

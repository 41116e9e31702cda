"""Training with clipped gradients of single records and Gaussian noise (Abadi et al. 2016), on any device."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...mechanisms.clipping import clipped_samples
from ...mechanisms.float_noise import normal

Inputs = Callable[[Tensor], tuple[Tensor, ...]]
"""What a model reads of some records, given their ids [b]: tensors whose first length is b."""


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
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Trains a model in place; gradients of single records are Opacus', the noise is drawn in floating point.

    Args:
        model: layers that Opacus knows, none of which mixes records.
        inputs: what it reads of some records.
        labels: of all ids.
        records: ids of those that are trained on; their number is public.
        how: rate, steps, clip, noise.
        rng: of coins and noise.
        progress: called with the steps done.
    """
    from opacus import GradSampleModule

    watched = GradSampleModule(model, loss_reduction="sum", strict=False)
    adam = torch.optim.Adam(model.parameters(), lr=how.lr)
    expected = max(how.rate * len(records), 1.0)
    for step in range(how.steps):
        drawn = torch.from_numpy(rng.random(len(records)) < how.rate).to(records.device)
        total = clipped_sum(watched, inputs, labels, records[drawn], how)
        for weight, found in zip(model.parameters(), total, strict=True):
            weight.grad = (found + how.multiplier * how.clip * normal(found, rng)) / expected
        adam.step()
        progress(step + 1)
    watched.to_standard_module()


def draw_first_weights(model: nn.Module, rng: np.random.Generator) -> None:
    """First weights of linear layers, uniform within 1 / sqrt(fan in) as torch draws them, from a generator."""
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                for weight in layer.parameters():
                    drawn = rng.uniform(-1, 1, weight.shape) / layer.in_features**0.5
                    weight.copy_(torch.from_numpy(drawn))


def _backward(loss: Tensor) -> None:
    """Opacus hooks modules; torch warns where data enter one, as data want no gradient: it would not be used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Full backward hook is firing when gradients are computed", UserWarning)
        loss.backward()  # type: ignore[no-untyped-call]


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
        _backward(loss)
        samples: list[Tensor] = [weight.grad_sample for weight in weights]  # type: ignore[attr-defined]
        for into, found in zip(total, clipped_samples(samples, how.clip), strict=True):
            into.add_(found)
    watched.zero_grad(set_to_none=True)
    return total

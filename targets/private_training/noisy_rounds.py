"""What a server does with clipped changes of its clients' weights: a noisy sum (McMahan et al. 2018)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...mechanisms.clipping import clipped
from ...mechanisms.float_noise import normal

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class NoisyRound:
    """How changes become a step; nothing of it depends on who takes part.

    Attributes:
        clip: L2 norm to which a change is shortened.
        multiplier: deviation of the noise, in clips.
        expected: clients of a round on average, which the noisy sum is divided by.
    """

    clip: float
    multiplier: float
    expected: float

    @property
    def deviation(self) -> float:
        """Of the noise in each weight of a step."""
        return self.multiplier * self.clip / self.expected


def difference(one: Weights, other: Weights) -> dict[str, Tensor]:
    """What ``one`` has more than ``other``, in double precision."""
    return {name: one[name].double() - weight.double() for name, weight in other.items()}


def noisy_step(
    changes: Sequence[Weights], like: Weights, how: NoisyRound, rng: np.random.Generator
) -> dict[str, Tensor]:
    """(sum of clipped changes + noise) / expected number of clients, in double precision.

    One client more or less moves the sum by at most the clip. The divisor is fixed, since a mean over those who
    came would tell how many there were. Changes are clipped here, whatever clients say that they did; the noise is
    drawn in floating point.

    Args:
        changes: of those who take part, by name; there may be none.
        like: weights of the same names and shapes.
        how: clip, noise, divisor.
        rng: of the noise.

    Source: McMahan, Ramage, Talwar and Zhang 2018, "Learning differentially private recurrent language models",
    algorithm 1, with the estimator of fixed denominator and one clip for all layers.
    """
    total = {name: torch.zeros_like(weight, dtype=torch.double) for name, weight in like.items()}
    for change in changes:
        for name, part in clipped(change, how.clip).items():
            total[name] += part
    return {name: part / how.expected + how.deviation * normal(part, rng) for name, part in total.items()}

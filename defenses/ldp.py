"""Laplace noise on uploaded gradients, as papers on federated learning use it (FedGC, baseline 'LDP')."""

from collections.abc import Callable

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ..targets.channel import on_kinds
from ..targets.defense import Defense
from ..targets.randomness import integer
from ..targets.settings import Settings
from ..targets.transcript import Message

GRADIENT_KINDS = ("class-gradients", "self-training-gradients")


class LaplaceSettings(Settings):
    """Settings of `LaplaceLDP`. The clip of 0.1 is the released code's, epsilon 1 the paper's."""

    epsilon: float = Field(1.0, gt=0, description="per coordinate and upload")
    clip: float = Field(0.1, gt=0, description="each coordinate is clipped to [-clip, clip]")

    @property
    def scale(self) -> float:
        """Laplace scale: a coordinate moves by at most 2 clip."""
        return 2 * self.clip / self.epsilon


class LaplaceLDP(Defense):
    """Clips every coordinate of an uploaded gradient and adds Laplace noise of scale 2 clip / epsilon.

    The epsilon holds for one coordinate of one upload. A gradient of 10^5 coordinates sent 500 times
    composes to a number that protects nobody, and the noise is drawn in floating point: no guarantee for a
    node follows, and none is claimed. It is here because papers compare with it.
    """

    name = "ldp"
    phrase = "with Laplace noise on gradients"
    strength = "epsilon"
    sweep = (10.0, 1.0, 0.1)
    alternative = "fewer-labels"
    acts_on = GRADIENT_KINDS
    guarantee = "epsilon per coordinate of one upload (not per node, not per run; float sampler)"
    Settings = LaplaceSettings
    settings: LaplaceSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        generators: dict[torch.device, torch.Generator] = {}

        def noisy(tensor: Tensor) -> Tensor:
            if tensor.device not in generators:
                generators[tensor.device] = torch.Generator(tensor.device).manual_seed(integer(seed))
            noise = laplace(tensor, self.settings.scale, generators[tensor.device])
            return noise.add_(tensor.clamp(-self.settings.clip, self.settings.clip))

        return on_kinds(GRADIENT_KINDS, noisy)


def laplace(like: Tensor, scale: float, generator: torch.Generator) -> Tensor:
    """Laplace(0, scale) of the shape of ``like``, by inversion of one uniform draw.

    Five times as fast as the difference of two exponentials; a draw of 24 bits cannot exceed 16.6 scales.
    """
    centred = torch.rand(like.shape, dtype=like.dtype, device=like.device, generator=generator).sub_(0.5)
    sign = centred.sign()
    size = torch.log1p(centred.abs_().mul_(-2).clamp_(min=-1 + 2**-24)).neg_()
    return sign.mul_(size).mul_(scale)

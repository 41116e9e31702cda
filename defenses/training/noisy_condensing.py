"""Laplace noise while a graph is condensed: the 'privacy scale' of FedC4 (CIKM 2025, section 5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...mechanisms.float_noise import Generators, laplace
from ...settings import Settings
from ...targets.defense import Defense, GradientChange
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor


class NoisyCondensingSettings(Settings):
    """Settings of `NoisyCondensing`."""

    scale: float = Field(
        1.0, gt=0, description="Laplace scale, as a share of the gradients' root mean square over all coordinates"
    )


class NoisyCondensing(Defense):
    """Adds Laplace noise to the real gradients that a condensed graph is fitted to.

    FedC4 adds "varying levels of Laplace noise during the condensation process" and says neither to what nor how
    much; here it is every coordinate of every class gradient, afresh whenever gradients are taken, in proportion to
    their root mean square, so that one scale means the same to all targets and rounds. Nothing is clipped and the
    scale follows the data: nothing is promised, it is there to be measured. Rows that a condensed graph starts from
    are untouched by it. Where gradients are sent to a server (FedGC, FedGM), it gets the noisy ones.
    """

    name = "noisy-condensing"
    phrase = "with Laplace noise while condensing"
    strength = "scale"
    sweep = (0.3, 1.0, 3.0, 10.0)
    alternative = "fewer-labels"
    Settings = NoisyCondensingSettings
    settings: NoisyCondensingSettings

    def on_gradients(self, client: Client, seed: np.random.SeedSequence) -> GradientChange | None:
        generators = Generators(seed)

        def noisy(gradients: dict[str, Tensor]) -> dict[str, Tensor]:
            scale = self.settings.scale * root_mean_square(gradients)
            return {
                name: laplace(value, scale, generators.on(value.device)).add_(value)
                for name, value in gradients.items()
            }

        return noisy


def root_mean_square(tensors: dict[str, Tensor]) -> float:
    """Of all coordinates of all tensors together."""
    import torch

    squares = sum(float(value.square().sum(dtype=torch.double)) for value in tensors.values())
    return float((squares / max(sum(value.numel() for value in tensors.values()), 1)) ** 0.5)

"""Uploads made small: few levels, or few coordinates. Saving bytes is no promise, but it takes detail away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from ...mechanisms.float_noise import Generators
from ...settings import Settings
from ...targets.channel import Mod
from ...targets.defense import Defense
from .upload_changes import UPLOADS, Change, on_uploads

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class QuantisationSettings(Settings):
    """Settings of `QuantisedUploads`."""

    bits: int = Field(4, ge=1, le=16, description="per coordinate: 2^bits levels")
    rounding: Literal["stochastic", "nearest"] = Field("stochastic", description="stochastic: right on average")


class QuantisedUploads(Defense):
    """Rounds each uploaded tensor to 2^bits evenly spaced levels from its smallest to its largest value.

    Probabilistic quantisation (Konecny et al. 2016, section 4; with one bit: the ends alone): a value goes to
    one of the two levels beside it so that its mean is right, or, on demand, to the nearer one. The change is
    rounded: a gradient, or the difference of uploaded weights to the global ones (see `on_uploads`).
    """

    name = "quantised-uploads"
    phrase = "with quantised uploads"
    strength = "bits"
    sweep = (8, 4, 2, 1)
    alternative = "noise-instead"
    acts_on = UPLOADS
    Settings = QuantisationSettings
    settings: QuantisationSettings

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        generators, settings = Generators(seed), self.settings

        def rounded(change: Change, sender: str) -> Change:
            return {
                name: quantised(
                    tensor,
                    2**settings.bits,
                    generators.on(tensor.device) if settings.rounding == "stochastic" else None,
                )
                for name, tensor in change.items()
            }

        return on_uploads(rounded)


def quantised(values: Tensor, levels: int, generator: torch.Generator | None) -> Tensor:
    """Values on one of ``levels`` evenly spaced ones of their own range; to the nearest without a generator."""
    import torch

    if not values.numel():
        return values
    low, high = values.min(), values.max()
    step = (high - low) / (levels - 1)
    if not bool(step > 0):
        return values
    place = (values - low) / step
    if generator is None:
        place = place.round()
    else:
        coin = torch.rand(values.shape, dtype=values.dtype, device=values.device, generator=generator)
        place = (place + coin).floor()
    return (low + place.clamp(0, levels - 1) * step).clamp(low, high)


class TopKSettings(Settings):
    """Settings of `TopKUploads`."""

    share: float = Field(0.1, gt=0, le=1, description="of an upload's coordinates that are sent")


class TopKUploads(Defense):
    """Uploads the largest coordinates of a change by absolute value and zeros in place of the others.

    Gradient sparsification (Aji and Heafield 2017) over all tensors of an upload together. What is left out
    is not made up for in later rounds. The change is a gradient, or the difference of uploaded weights to the
    global ones (see `on_uploads`).
    """

    name = "top-k-uploads"
    phrase = "with the largest coordinates of uploads alone"
    strength = "share"
    sweep = (0.5, 0.1, 0.01)
    alternative = "noise-instead"
    acts_on = UPLOADS
    Settings = TopKSettings
    settings: TopKSettings

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        return on_uploads(lambda change, sender: largest(change, self.settings.share))


def largest(change: Change, share: float) -> Change:
    """The largest ``share`` of all coordinates, one at least, the others zero; the first of those alike."""
    import torch

    if not change:
        return change
    flat = torch.cat([tensor.flatten() for tensor in change.values()])
    kept = torch.zeros_like(flat)
    places = flat.abs().argsort(descending=True, stable=True)[: max(1, round(share * len(flat)))]
    kept[places] = flat[places]
    parts = kept.split([tensor.numel() for tensor in change.values()])
    return {name: part.view(change[name].shape) for name, part in zip(change, parts, strict=True)}

"""Laplace noise on what clients upload, as papers on federated learning use it (FedGC, baseline 'LDP'; SOS)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from ...graphs.network import Floats, Ints
from ...mechanisms.clipping import clipped
from ...mechanisms.exact_noise import WIDEST, discrete_laplace
from ...mechanisms.float_noise import Generators, Streams, laplace
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, laplace_scale
from ...settings import Settings
from ...targets.channel import Mod
from ...targets.defense import Defense
from .upload_changes import UPLOADS, Change, of_one_upload, on_uploads

GRID = 2**30
"""Steps from 0 to the clip, where noise is exact."""


class LaplaceSettings(Settings):
    """Settings of `LaplaceLDP`. The clip of 0.1 is FedGC's released code's, epsilon 1 its and SOS's paper's."""

    epsilon: float = Field(1.0, gt=0, description="per coordinate and upload, or per upload (norm l1)")
    clip: float | None = Field(
        0.1, gt=0, description="bound of what is uploaded; None: no clipping and scale 1 / epsilon, as in SOS"
    )
    norm: Literal["coordinate", "l1"] = Field(
        "coordinate", description="what is bounded by clip: each coordinate, or the L1 norm of the whole upload"
    )

    @model_validator(mode="after")
    def _noise_can_be_drawn(self) -> LaplaceSettings:
        if self.norm == "l1" and self.clip is not None and self.epsilon * WIDEST < 2 * GRID:
            raise ValueError(f"epsilon is {self.epsilon:g}: with norm l1 no noise can be drawn below 2^-24")
        return self

    @property
    def scale(self) -> float:
        """Laplace scale: what is bounded moves by at most 2 clip; SOS takes a sensitivity of 1 for granted."""
        return (1.0 if self.clip is None else 2 * self.clip) / self.epsilon


class LaplaceLDP(Defense):
    """Clips an uploaded change and adds Laplace noise of scale 2 clip / epsilon to every coordinate.

    The change is the gradient itself, or the difference of uploaded weights to the global ones that the client
    was sent (see `on_uploads`). As FedGC's code does it, every coordinate is clipped, and the epsilon holds for
    one coordinate of one upload: a gradient of 10^5 coordinates sent 500 times composes to a number that
    protects nobody. With ``norm="l1"`` the whole upload is clipped to an L1 norm, and the epsilon is that of
    local differential privacy of one upload's values, whatever data they come from; rounds still add up, and
    names and shapes (which classes a client has) stay in the clear. Without a clip (SOS, section 5.4: Lap(0,
    s / epsilon) with s = 1 "as a matter of experience") nothing bounds the sensitivity and nothing is promised.
    It is here because papers compare with it.

    Where something is promised (norm l1) values are whole numbers of clip / 2^30, towards zero, and get exact
    discrete Laplace noise (`exact_noise`); elsewhere the noise is drawn in floating point, of 24 bits.
    """

    name = "ldp"
    phrase = "with Laplace noise on uploads"
    strength = "epsilon"
    sweep = (10.0, 1.0, 0.1)
    alternative = "fewer-labels"
    acts_on = UPLOADS
    guarantee = (
        "epsilon for one whole upload with the norm l1 (exact sampler), else for one coordinate of one upload, and "
        "without a clip for nothing; never for a node or a whole run"
    )
    Settings = LaplaceSettings
    settings: LaplaceSettings

    def promise(self) -> Guarantee | None:
        """Of one upload where its L1 norm is clipped; for a coordinate there is no unit that anybody has."""
        if self.settings.norm != "l1" or self.settings.clip is None:
            return None
        noise = (
            "discrete Laplace noise of scale 2 clip / epsilon on a change of L1 norm at most clip; exact sampler"
        )
        return of_one_upload(self.settings.epsilon, 0.0, noise)

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        s = self.settings
        if s.norm == "l1" and s.clip is not None:
            streams, clip = Streams(seed), s.clip
            return on_uploads(lambda change, sender: exactly_noised(change, clip, s.epsilon, streams.of(sender)))
        generators = Generators(seed)

        def noisy(change: Change, sender: str) -> Change:
            return {
                name: laplace(tensor, self.settings.scale, generators.on(tensor.device)).add_(tensor)
                for name, tensor in self._bounded(change).items()
            }

        return on_uploads(noisy)

    def _bounded(self, change: Change) -> Change:
        clip = self.settings.clip
        return change if clip is None else {name: tensor.clamp(-clip, clip) for name, tensor in change.items()}


def exactly_noised(change: Change, clip: float, epsilon: float, rng: np.random.Generator) -> Change:
    """The change, clipped to an L1 norm, with exact noise that hides which change of such a norm it is."""
    import torch

    values = [tensor.reshape(-1).double().cpu() for tensor in clipped(change, clip, 1).values()]
    whole = on_grid(torch.cat(values).numpy() / clip) if values else np.empty(0, dtype=np.int64)
    scale = laplace_scale(2 * GRID, drawable_epsilon(epsilon))
    noisy = torch.from_numpy((whole + discrete_laplace(scale, len(whole), rng)) * (clip / GRID))
    parts = noisy.split([len(part) for part in values])
    return {name: part.view(t.shape).to(t) for (name, t), part in zip(change.items(), parts, strict=True)}


def on_grid(values: Floats) -> Ints:
    """Values whose sizes add up to 1, or hardly more, as whole numbers of 1 / GRID that add up to GRID at most.

    Rounding is towards zero, which makes no sum larger, and what is no number counts as 0.
    """
    whole = np.trunc(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0) * GRID).astype(np.int64)
    total = int(np.abs(whole).sum())
    if total > GRID:  # by the rounding of what clipped them
        whole = np.sign(whole) * (np.abs(whole) * GRID // total)
    return whole

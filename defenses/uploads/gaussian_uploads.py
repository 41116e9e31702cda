"""Gaussian noise on what clients upload, and the control that uploads nothing else."""

import numpy as np
from pydantic import Field

from ...mechanisms.clipping import clipped, norm_of
from ...mechanisms.float_noise import Generators, Streams, normal, quick_normal
from ...mechanisms.gaussian import epsilon_of
from ...mechanisms.guarantee import Guarantee
from ...settings import Settings
from ...targets.channel import Mod
from ...targets.defense import Defense
from .upload_changes import UPLOADS, Change, of_one_upload, on_uploads

ACCOUNTANT = "Gaussian noise on a change of L2 norm at most clip (Balle and Wang 2018); float sampler"


class GaussianSettings(Settings):
    """Settings of `GaussianUploads`."""

    multiplier: float = Field(1.0, gt=0, description="deviation of the noise in units of the clip")
    clip: float | None = Field(
        1.0, gt=0, description="largest L2 norm of an uploaded change; None: no clipping, deviation = multiplier"
    )

    @property
    def deviation(self) -> float:
        """Of the noise on each coordinate."""
        return self.multiplier * (1.0 if self.clip is None else self.clip)


TOLD_AT = 1e-5
"""Delta at which Gaussian noise is told in epsilons; the noise does not depend on it."""


class GaussianUploads(Defense):
    """Clips the L2 norm of a whole uploaded change and adds Gaussian noise of deviation multiplier x clip.

    The change is a gradient, or the difference of uploaded weights to the global ones (see `on_uploads`).
    Two clipped changes are at most 2 clip apart, so telling one upload from any other is as hard as telling
    N(0, 1) from N(2 / multiplier, 1): 2 / multiplier-GDP (Dong, Roth and Su 2022) against the server, locally.
    T uploads of one client compose to sqrt(T) times that, which is not reckoned here; names and shapes stay
    in the clear; without a clip nothing is promised. (In DP-SGD a multiplier of 1 means more: there, one
    record moves a sum by one clip, and the server is trusted.) The noise is drawn in floating point, for each
    client from a stream of its own.
    """

    name = "gaussian-uploads"
    phrase = "with Gaussian noise on uploads"
    strength = "multiplier"
    sweep = (0.01, 0.1, 1.0)
    alternative = "noise-instead"
    acts_on = UPLOADS
    guarantee = (
        "2 / multiplier-GDP of one client's upload where clip is set, else none "
        "(not per node, not per run; float sampler)"
    )
    Settings = GaussianSettings
    settings: GaussianSettings

    def promise(self) -> Guarantee | None:
        """Of one upload, at the delta that is told, where the change is clipped."""
        if self.settings.clip is None:
            return None
        return of_one_upload(
            epsilon_of(2 / self.settings.multiplier, TOLD_AT),
            TOLD_AT,
            ACCOUNTANT,
        )

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        streams, settings = Streams(seed), self.settings

        def noisy(change: Change, sender: str) -> Change:
            bounded = change if settings.clip is None else clipped(change, settings.clip, 2)
            rng = streams.of(sender)
            return {name: tensor + settings.deviation * normal(tensor, rng) for name, tensor in bounded.items()}

        return on_uploads(noisy)


class NoiseInstead(Defense):
    """Uploads a random direction with the norm of the change in its place.

    The end of every scale of noise, as a control: one number of each upload is the client's own, its L2 norm,
    beside names and shapes. What an attack on uploads finds here it did not find in the uploads, and a
    defense that costs as much accuracy as this one could as well upload nothing.
    """

    name = "noise-instead"
    phrase = "with noise in place of uploads"
    trivial = True
    acts_on = UPLOADS
    guarantee = "nothing of one upload but its norm, names and shapes (not per run)"

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        generators = Generators(seed)

        def replaced(change: Change, sender: str) -> Change:
            noise = quick_normal(change, generators)
            drawn = norm_of(noise, 2)
            scale = norm_of(change, 2) / drawn if drawn else 0.0
            return {name: tensor * scale for name, tensor in noise.items()}

        return on_uploads(replaced)

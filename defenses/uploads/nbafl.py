"""NbAFL: noise before aggregation, and on what the server sends out again (Wei et al., TIFS 2020)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import Field

from ...mechanisms.float_noise import Streams, normal
from ...randomness import branch
from ...targets.channel import Mod
from ...targets.messages import KINDS
from ...targets.mixing import CHOICES
from ...targets.transcript import Message
from .gaussian_uploads import GaussianSettings, GaussianUploads


class NbAFLSettings(GaussianSettings):
    """Settings of `NbAFL`: those of `gaussian-uploads`, and the noise on the way down."""

    down: float = Field(
        1.0,
        ge=0,
        description="deviation of the noise on what the server sends, in units of that on uploads; the authors' is "
        "sqrt(T^2 - L^2 N) / (L N), for T rounds, N clients, and L times that an upload is seen (0 where T is at "
        "most L sqrt(N))",
    )


class NbAFL(GaussianUploads):
    """Clips and adds Gaussian noise to uploads, and adds noise again to the weights that the server sends.

    On the way up it is `gaussian-uploads`. On the way down the server adds Gaussian noise to the common weights
    that clients begin a round with, once for all who are sent them together (Wei et al. 2020, Algorithm 1). How
    much follows there from the numbers of rounds and clients (Theorem 1), which a defense is not told: ``down``
    sets it. Fifty rounds of four clients, whose uploads are seen once each, take 12.5 times as much down as up. The
    authors clip weights, and here the change is clipped.

    The promise is the one without the way down: common weights follow from noisy uploads, and the noise down is the
    server's answer to all rounds of them, which the promise of one upload does not reckon with. A model that the
    server publishes is the mean of noisy uploads without further noise; clients answer with what they received.
    """

    name = "nbafl"
    phrase = "with noise on uploads and on what comes back"
    Settings = NbAFLSettings
    settings: NbAFLSettings

    @classmethod
    def changes(cls, kind: str) -> bool:
        return super().changes(kind) or _is_begun_with(kind)

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        up, streams = super().on_message(seed), Streams(branch(seed, "down"))
        deviation = self.settings.deviation * self.settings.down
        assert up is not None

        def mod(message: Message) -> Message:
            if deviation and message.sender == "server" and _is_begun_with(message.kind):
                rng = streams.of(message.receiver)
                noisy = {name: tensor + deviation * normal(tensor, rng) for name, tensor in message.tensors.items()}
                message = replace(message, tensors=noisy)
            return up(message)

        return mod


def _is_begun_with(kind: str) -> bool:
    """Whether clients begin a round with such weights: an update is what became of them."""
    return CHOICES.covers(kind) or any(declared.since == kind for declared in KINDS.values())

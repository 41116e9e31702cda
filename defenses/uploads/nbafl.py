"""NbAFL: noise before aggregation, and on what the server sends out again (Wei et al., TIFS 2020)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from pydantic import Field

from ...mechanisms.float_noise import Streams, normal
from ...randomness import branch
from ...targets.channel import Mod
from ...targets.messages import KINDS, Carries, Carrying
from ...targets.transcript import Message
from .gaussian_uploads import GaussianSettings, GaussianUploads

CHANGED = Carrying.any_of(Carries.GRADIENT, Carries.UPDATE, Carries.WEIGHTS)


class NbAFLSettings(GaussianSettings):
    """Settings of `NbAFL`: those of `gaussian-uploads`, and what the noise on the way down is reckoned from."""

    rounds: int = Field(50, ge=1, description="T: rounds of the target, each of which sends common weights out")
    clients: int = Field(4, ge=1, description="N: clients of the target")
    exposures: int = Field(1, ge=1, description="L: how often a client's upload is seen by whom it is hidden from")

    @property
    def downward(self) -> float:
        """The deviation of the noise on each coordinate of what the server sends."""
        return self.deviation * down_by_up(self.rounds, self.exposures, self.clients)


def down_by_up(rounds: int, exposures: int, clients: int) -> float:
    """The deviation on the way down for each unit of that on the way up: sqrt(T^2 - L^2 N) / (L N), or 0.

    Wei et al. 2020, Theorem 1, where the deviation up is c L (2 C / m) / epsilon.
    """
    left = rounds**2 - exposures**2 * clients
    return math.sqrt(left) / (exposures * clients) if left > 0 else 0.0


class NbAFL(GaussianUploads):
    """Clips and adds Gaussian noise to uploads, and adds noise again to the weights that the server sends.

    On the way up it is `gaussian-uploads`. On the way down the server adds to the common weights of each round,
    before anybody sees them, Gaussian noise of sqrt(T^2 - L^2 N) / (L N) times the deviation on the way up, where
    T > L sqrt(N) (Wei et al. 2020, Theorem 1 and Algorithm 1): fifty rounds of four clients, whose uploads are seen
    once each, take 12.5 times as much down as up. The authors clip weights, and here the change is clipped.

    The promise is the one without the way down: common weights follow from noisy uploads, and the noise down is the
    server's answer to T rounds of them, which the promise of one upload does not reckon with. The published model,
    if there is one, is the mean of noisy uploads without further noise.
    """

    name = "nbafl"
    phrase = "with noise on uploads and on what comes back"
    acts_on = CHANGED
    Settings = NbAFLSettings
    settings: NbAFLSettings

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        up, deviation, streams = super().on_message(seed), self.settings.downward, Streams(branch(seed, "down"))
        assert up is not None

        def mod(message: Message) -> Message:
            if deviation and _is_start(message):
                rng = streams.of(message.receiver)
                noisy = {name: tensor + deviation * normal(tensor, rng) for name, tensor in message.tensors.items()}
                message = replace(message, tensors=noisy)
            return up(message)

        return mod


def _is_start(message: Message) -> bool:
    """Whether a message holds weights that the server sends and clients begin a round with."""
    kind = KINDS.get(message.kind)
    down = kind is not None and Carries.WEIGHTS in kind.carries
    return down and message.sender == "server" and message.receiver != "public"

"""Secure aggregation of uploads: the server gets their sum, and with noise a sum that is noisy."""

from dataclasses import replace

import numpy as np

from ...targets.channel import Mod
from ...targets.defense import Defense
from ...targets.transcript import Message
from .gaussian_uploads import GaussianUploads
from .upload_changes import UPLOADS

SEALED_FROM = ("server",)


class SealedUploads(Defense):
    """Gradients and updates reach the server in a secure sum alone (Bonawitz et al. 2017), which is modelled.

    The server adds and relays what it cannot read, as in FedGC's exchange of neighbour sums; the weighted mean that
    it takes is what it reads. Clients weight what they send themselves, so numbers of labels are told as before, in
    the clear. Accuracy stays the same to the last bit. What is hidden is whose part of the sum is whose: not what
    the sum tells, which is also the next common model where that is averaged. Who colludes with a client that lends
    the clients' common key reads all.
    """

    name = "sealed-uploads"
    phrase = "with uploads in a secure sum"
    alternative = "noise-instead"
    acts_on = UPLOADS
    guarantee = "the server sees uploads added up over clients alone (nothing about what the sum tells)"

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        return sealed


class SealedNoise(GaussianUploads):
    """Clips each upload and adds Gaussian noise to it, as `gaussian-uploads`, and then lets the sum out alone.

    Every client adds noise of deviation multiplier x clip to its own upload before it is sealed. In a mean of M
    uploads of the same weight the deviation is that over sqrt(M). One client's upload moves this mean by at most
    2 clip / M, so that the server alone gets 2 / (multiplier sqrt(M))-GDP of it. What is promised is what holds
    whoever joins the server, all other clients included: the 2 / multiplier of `gaussian-uploads`.
    """

    name = "sealed-noise"
    phrase = "with Gaussian noise on uploads in a secure sum"

    def on_message(self, seed: np.random.SeedSequence) -> Mod | None:
        noisy = super().on_message(seed)
        return None if noisy is None else lambda message: sealed(noisy(message))


def sealed(message: Message) -> Message:
    """An upload as the server relays it; other messages as they are."""
    if not UPLOADS.covers(message.kind) or message.receiver != "server":
        return message
    return replace(message, sealed_from=SEALED_FROM)

"""Federated rounds that hide a client, as a mechanism whose claim is checked."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ...graphs.network import Floats
from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ...targets.private_training.noisy_rounds import NoisyRound, Weights, noisy_step
from .training_claims import GaussianClaim

ROUNDS, CLIENTS, CLIP = 4, 10, 1.0
CANARY = {"w1": torch.tensor([[3.0, 0.0], [0.0, 0.0]]), "b1": torch.tensor([0.0, 4.0])}
"""A change of two tensors of norm 5, so that a clip of each alone would show."""


class FederatedRounds(GaussianClaim):
    """Rounds of the target `dp-fedavg` at rate 1: an adversary knows all other clients' changes.

    Each round adds the canary's clipped change or not, to noise that is the same for both: what is released is
    Gaussian around one of two points, and its inner product with their difference is all that there is to see.
    """

    name = "dp-fedavg"
    differ_in = "client"
    differ_by = "zero-out"

    def divergence(self, noise: float) -> Floats:
        return accounting.sampled(noise, 1.0, ROUNDS)

    @property
    def guarantee(self) -> Guarantee:
        known = ("the number of clients", "the partition of nodes among them")
        return self.promised("client", f"RDP of {ROUNDS} noisy rounds; float sampler", known)

    def inputs(self) -> tuple[Sequence[Weights], Sequence[Weights]]:
        """Nobody, and one client whose change is longer than the clip, in every round."""
        return (), (CANARY,)

    def release(self, data: Sequence[Weights], rng: np.random.Generator) -> list[dict[str, Tensor]]:
        """The steps of all rounds, as everybody sees them in the common weights."""
        how = NoisyRound(CLIP, self.noise, CLIENTS)
        return [noisy_step(data, CANARY, how, rng) for _ in range(ROUNDS)]

    def score(self, released: list[dict[str, Tensor]]) -> float:
        return sum(float((step[name] * part).sum()) for step in released for name, part in CANARY.items())

"""Federated rounds that hide a client, as a mechanism whose claim is checked."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ..mechanisms.mechanism import Mechanism
from ..targets.guarantee import Guarantee
from ..targets.randomness import integer
from . import accounting
from .claimed import TrainingSettings
from .noisy_rounds import NoisyRound, Weights, noisy_step

ROUNDS, CLIENTS, CLIP = 4, 10, 1.0
CANARY = {"w1": torch.tensor([[3.0, 0.0], [0.0, 0.0]]), "b1": torch.tensor([0.0, 4.0])}
"""A change of two tensors of norm 5, so that a clip of each alone would show."""


class FederatedRounds(Mechanism):
    """Rounds of the target `dp-fedavg` at rate 1: an adversary knows all other clients' changes.

    Each round adds the canary's clipped change or not, to noise that is the same for both: what is released is
    Gaussian around one of two points, and its inner product with their difference is all that there is to see.
    """

    name = "dp-fedavg"
    differ_in = "client"
    gaussian = True
    Settings = TrainingSettings
    settings: TrainingSettings

    @cached_property
    def how(self) -> NoisyRound:
        """Clip, noise and divisor."""
        s = self.settings
        noise = accounting.least_noise(s.epsilon, s.delta, lambda z: accounting.sampled(z, 1.0, ROUNDS))
        return NoisyRound(CLIP, noise, CLIENTS)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "client",
            "add/remove",
            "central",
            self.settings.epsilon,
            self.settings.delta,
            accountant=f"RDP of {ROUNDS} noisy rounds; float sampler",
            public=("the number of clients", "the partition of nodes among them"),
        )

    def inputs(self) -> tuple[Sequence[Weights], Sequence[Weights]]:
        """Nobody, and one client whose change is longer than the clip, in every round."""
        return (), (CANARY,)

    def release(self, data: Sequence[Weights], rng: np.random.Generator) -> list[dict[str, Tensor]]:
        """The steps of all rounds, as everybody sees them in the common weights."""
        seed = integer(np.random.SeedSequence(rng.integers(2**63, size=2).tolist()))
        generator = torch.Generator().manual_seed(seed)
        return [noisy_step(data, CANARY, self.how, generator) for _ in range(ROUNDS)]

    def score(self, released: list[dict[str, Tensor]]) -> float:
        return sum(float((step[name] * part).sum()) for step in released for name, part in CANARY.items())

"""Noisy sums by label, the defense `private-teacher`, as a mechanism whose claim is checked."""

from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from ...defenses.training.private_teacher import PrivateTeacher
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism, MechanismSettings
from ...targets.federated.label_statistic import GRID, label_sums, noise_of_share

Steps = NDArray[np.int64]


class LabelSumsSettings(MechanismSettings):
    """Settings of `LabelSums`."""

    delta: float = Field(1e-5, gt=0, lt=1)
    clients: int = Field(10, ge=1, description="who add shares of the noise")
    neighbours: Literal["zero-out"] = "zero-out"


class LabelSums(Mechanism):
    """The statistic through which labels enter with a private teacher, of clients of whom one is curious.

    That client has taken its own share of the noise off the sum, which is the most that anybody sees. Only the rows
    of the node in question are kept: the others are the same in both inputs and public.
    """

    name = "private-teacher"
    differ_in = "node-label"
    differ_by = "zero-out"
    gaussian = True
    Settings = LabelSumsSettings
    settings: LabelSumsSettings

    @property
    def defense(self) -> PrivateTeacher:
        s = self.settings
        return PrivateTeacher(epsilon=s.epsilon, delta=s.delta, neighbours=s.neighbours)

    @property
    def guarantee(self) -> Guarantee:
        return self.defense.promise()

    def inputs(self) -> tuple[Steps, Steps]:
        """Sums of two classes in steps of the grid: of nobody, and of one node with a row of length 1."""
        row, label = torch.tensor([[0.6, -0.8]], dtype=torch.double), torch.zeros(1, dtype=torch.long)
        there = torch.ones(1, dtype=torch.bool)
        return label_sums(row, label, ~there, 2), label_sums(row, label, there, 2)

    def release(self, data: Steps, rng: np.random.Generator) -> Steps:
        clients, noise = self.settings.clients, self.defense.noise
        honest = max(clients - noise.curious, 1)
        shares = noise_of_share(noise.share(clients), honest * data.size, rng)
        found: Steps = data + shares.reshape(honest, *data.shape).sum(0)
        return found

    def score(self, released: Steps) -> float:
        """The likelihood ratio of normal noise: the length along the row."""
        return float(0.6 * released[0, 0] - 0.8 * released[0, 1]) / GRID

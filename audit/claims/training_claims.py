"""Private trainings as mechanisms whose claims are checked: an adversary who sees every noisy sum.

All parts of what is released are Gaussian around what the adversary can compute for both inputs, so the likelihood
ratio is a sum of inner products, and normal under both.
"""

import copy
import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ...graphs.network import Floats
from ...mechanisms import accounting
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism, MechanismSettings
from ...targets.private_training.bounded_neighbours import bounded
from ...targets.private_training.clipped_training import NoisySteps, clipped_sum, train_noisily
from ...targets.private_training.dp_gnn import Reading
from ...targets.private_training.noisy_aggregates import noisy_sums, unit_rows

STEPS, HOPS, DEGREE = 2, 2, 4
FAR = 1e3
"""Features of a canary: its gradient is longer than any clip."""


class TrainingSettings(MechanismSettings):
    """Settings of claims with a delta."""

    delta: float = Field(1e-5, gt=0, lt=1)


@dataclass(frozen=True)
class Records:
    """What a training reads, by id.

    Attributes:
        rows: [n, 2].
        train: ids.
    """

    rows: Tensor
    train: Tensor

    def of(self, some: Tensor) -> tuple[Tensor]:
        return (self.rows[some],)


class GaussianClaim(Mechanism):
    """Base: noise for an epsilon, and a score that is a log likelihood ratio, up to a constant."""

    gaussian: ClassVar[bool] = True
    Settings = TrainingSettings
    settings: TrainingSettings

    @cached_property
    def noise(self) -> float:
        """Deviation of all noise, in what one unit changes."""
        return accounting.least_noise(self.settings.epsilon, self.settings.delta, self.divergence)

    def another(self) -> Self:
        """It keeps nothing but its noise, which takes long to compute and follows from the settings."""
        assert self.noise > 0
        return copy.copy(self)

    @abstractmethod
    def divergence(self, noise: float) -> Floats:
        """Of all that is released."""

    def score(self, released: Any) -> float:
        return float(released)

    def promised(self, unit: Any, accountant: str, public: tuple[str, ...]) -> Guarantee:
        """Its guarantee by that accountant."""
        s = self.settings
        return Guarantee(unit, self.differ_by, "central", s.epsilon, s.delta, accountant=accountant, public=public)


class NoisyTraining(GaussianClaim):
    """Base of trainings: both inputs are known, and which one it was is to be told from the noisy gradients."""

    differ_in = "node"
    differ_by = "zero-out"

    @property
    def guarantee(self) -> Guarantee:
        return self.promised("node", f"RDP of {STEPS} noisy steps; float sampler", ("which nodes are trained on",))

    @cached_property
    def moved(self) -> Tensor:
        """What the second input's gradients have more than the first's."""
        without, inside = self.inputs()
        return _expected(inside) - _expected(without)

    def another(self) -> Self:
        assert self.moved.any()
        return super().another()

    def release(self, data: Records, rng: np.random.Generator) -> float:
        """Trains, and adds up how much each noisy gradient is like what the node would have added."""
        return told_by_training(data, self.moved, self.noise, rng)


class DPSGD(NoisyTraining):
    """DP-SGD on rows that know nothing of each other, as in the targets `dp-mlp` and `gap-ndp`."""

    name = "dp-mlp"

    def divergence(self, noise: float) -> Floats:
        return accounting.sampled(noise, 1.0, STEPS)

    def inputs(self) -> tuple[Records, Records]:
        """Nobody, and one node."""
        return _nobody_and_one()


class NeighbourhoodSGD(NoisyTraining):
    """DP-SGD on means over bounded neighbourhoods, as in the target `dp-gnn` with one layer."""

    name = "dp-gnn"

    def divergence(self, noise: float) -> Floats:
        return accounting.sampled_terms(noise, 1.0, STEPS, 1 + DEGREE)

    def inputs(self) -> tuple[Records, Records]:
        """Nodes that read one neighbour each, and the same with another one that outweighs it."""
        return _star(False), _star(True)


class NoisySums(GaussianClaim):
    """Base of sums over neighbours: the same nodes, with some edges more."""

    most: ClassVar[float]

    def release(self, data: Tensor, rng: np.random.Generator) -> float:
        """Sums, hop after hop, and adds up how much they are like those that the further edges would add."""
        deviation, told = self.noise * self.most, 0.0
        without, inside = self.inputs()
        rows = unit_rows(torch.ones(DEGREE + 2, 4))
        for _ in range(HOPS):
            sums = noisy_sums(rows, data, deviation, rng)
            told += float((sums * (_exact(rows, inside) - _exact(rows, without))).sum()) / deviation**2
            rows = unit_rows(sums)
        return told


class EdgeSums(NoisySums):
    """Noisy sums that hide an edge, as in the target `gap-edp`."""

    name = "gap-edp"
    differ_in = "edge"
    most = math.sqrt(2)

    def divergence(self, noise: float) -> Floats:
        return accounting.whole(noise, HOPS)

    @property
    def guarantee(self) -> Guarantee:
        return self.promised("edge", f"RDP of {HOPS} hops under exact discrete Gaussian noise", ("features",))

    def inputs(self) -> tuple[Tensor, Tensor]:
        """No edge, and one, in both directions."""
        return torch.empty((2, 0), dtype=torch.long), torch.tensor([[0, 1], [1, 0]])


class NodeSums(NoisySums):
    """Noisy sums that hide a node from all others, and a training, as in the target `gap-ndp`."""

    name = "gap-ndp"
    differ_in = "node"
    differ_by = "zero-out"
    most = math.sqrt(DEGREE)

    def divergence(self, noise: float) -> Floats:
        return accounting.whole(noise, HOPS) + accounting.sampled(noise, 1.0, STEPS)

    @property
    def guarantee(self) -> Guarantee:
        known = ("which nodes are trained on", f"that no node has more than {DEGREE} neighbours")
        return self.promised("node", f"RDP of {HOPS} noisy hops and {STEPS} noisy steps; float sampler", known)

    def inputs(self) -> tuple[Tensor, Tensor]:
        """A node without neighbours, which is as good as none to the others, and one with as many as it may have.

        Its own sum is not part of what is promised: edges lead away from it only.
        """
        leaves = torch.arange(1, 1 + DEGREE)
        return torch.empty((2, 0), dtype=torch.long), torch.stack([torch.zeros_like(leaves), leaves])

    def release(self, data: Tensor, rng: np.random.Generator) -> float:
        nobody, one = _nobody_and_one()
        told = told_by_training(one if data.shape[1] else nobody, _expected(one), self.noise, rng)
        return super().release(data, rng) + told


def told_by_training(data: Records, moved: Tensor, noise: float, rng: np.random.Generator) -> float:
    """Log likelihood ratio, up to a constant, of all noisy gradients of a training: moved so, or not.

    The model is a layer of zeros that hardly moves: the gradients that an adversary expects are the same at every
    step, and those of rows that are opposite are opposite.
    """
    model, told, expected = _zeros(), 0.0, max(float(len(data.train)), 1.0)

    def look(step: int) -> None:
        nonlocal told
        assert model.weight.grad is not None
        told += float((expected * model.weight.grad * moved).sum()) / noise**2

    labels = torch.zeros(len(data.rows), dtype=torch.long)
    train_noisily(model, data.of, labels, data.train, _how(noise), rng, look)
    return told


def _expected(data: Records) -> Tensor:
    """The clipped gradients' sum at the zeros."""
    from opacus import GradSampleModule

    labels = torch.zeros(len(data.rows), dtype=torch.long)
    watched = GradSampleModule(_zeros(), loss_reduction="sum")
    return clipped_sum(watched, data.of, labels, data.train, _how(1.0))[0]


def _how(noise: float) -> NoisySteps:
    return NoisySteps(rate=1.0, steps=STEPS, clip=1.0, multiplier=noise, lr=1e-12, at_once=64)


def _zeros() -> nn.Linear:
    model = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(model.weight)
    return model


def _nobody_and_one() -> tuple[Records, Records]:
    rows = torch.tensor([[FAR, 0.0]])
    return Records(rows, torch.arange(0)), Records(rows, torch.arange(1))


def _star(inside: bool) -> Records:
    """Means over neighbours of `DEGREE` leaves that all read node 0, and node 1 with opposite features, if it is
    there."""
    leaves = torch.arange(2, 2 + DEGREE)
    hubs = torch.arange(2) if inside else torch.arange(1)
    edges = torch.stack([hubs.repeat_interleave(DEGREE), leaves.repeat(len(hubs))])
    x = torch.zeros(2 + DEGREE, 2)
    x[0, 0], x[1, 0] = -FAR, 3 * FAR
    reading = Reading(x, bounded(torch.cat([edges, edges.flip(0)], 1), len(x), DEGREE), DEGREE, 1)
    return Records(reading.means, torch.cat([hubs, leaves]))


def _exact(rows: Tensor, edges: Tensor) -> Tensor:
    return torch.zeros_like(rows).index_add_(0, edges[1], rows[edges[0]])

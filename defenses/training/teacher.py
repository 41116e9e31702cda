"""Labels for all nodes from noisy sums by label: everything here is post-processing of one private statistic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...targets.federated.label_statistic import Summing

if TYPE_CHECKING:
    from torch import Tensor

KAPPA = 40.0
"""Concentration of classes around their mean directions."""
CYCLES = 5
"""Of expectation and maximisation."""
STEPS = 30
"""Of the classifier's fit."""
CLEAR = 4.0
"""Squared signal to noise from which on the sums can bear a classifier: the error is half of the signal then."""
TINY = 1e-12
LEAST = 0.2
"""Share of the mean class that every class is taken to have labels of, at least."""


@dataclass(frozen=True)
class Statistic:
    """The noisy sums, and how large their noise is.

    Attributes:
        sums: T, [C, p].
        deviation: of the noise on each number.
    """

    sums: Tensor
    deviation: float

    def signal(self) -> float:
        """Squared length of what is not noise, in squared lengths of the noise: an unbiased estimate, from 0."""
        noise = self.sums.numel() * self.deviation**2
        return max(float(self.sums.square().sum()) / noise - 1, 0.0)


@dataclass(frozen=True)
class Teacher:
    """What the parties make of the statistic.

    Attributes:
        weights: of a linear classifier of the features, [C, p].
        bias: its constants, [C].
        labels: how many labels of each class there seem to be, [C].
        how: which rule made it.
    """

    weights: Tensor
    bias: Tensor
    labels: Tensor
    how: str

    def posteriors(self, features: Tensor) -> Tensor:
        """Of nodes with features [n, p], [n, C]."""
        return (features @ self.weights.t() + self.bias).softmax(1)


def teacher_of(statistic: Statistic, features: Sequence[Tensor], sums: Summing) -> Teacher:
    """The teacher that the statistic can bear: cluster means where it is mostly noise, else a classifier.

    Which one follows from the statistic alone.

    Args:
        statistic: what is told of labels.
        features: phi of each party's nodes, [n_j, p].
        sums: how the parties add up.
    """
    means = clustered(statistic, features, sums)
    return fitted(statistic, means, features, sums) if statistic.signal() >= CLEAR else means


def clustered(statistic: Statistic, features: Sequence[Tensor], sums: Summing) -> Teacher:
    """Expectation and maximisation around the class means (von Mises and Fisher), held by the sums.

    A class's direction is that of its noisy sum and of the mean of the nodes near it, brought to one length: that
    of the sums without their noise. The sums weigh as much as the share of their squared length that is no noise
    (as James and Stein shrink), so that clusters, which need not be classes, count for less the more is told.
    """
    from torch.nn import functional as F

    noisy, signal = statistic.sums, statistic.signal()
    trust = signal / (1 + signal)
    prior, direction = math.sqrt(trust) * noisy / noisy.norm(), F.normalize(noisy, dim=1)
    for _ in range(CYCLES):
        told = sums.told(directions=direction)["directions"]
        near = sums.total([(KAPPA * rows @ told.t()).softmax(1).t() @ rows for rows in features])
        direction = F.normalize((1 - trust) * near / near.norm().clamp(min=TINY) + prior, dim=1)
    told = sums.told(directions=direction)["directions"]
    weights = KAPPA * told
    held = sums.total([_cluster_sums((rows @ weights.t()).softmax(1), rows) for rows in features])
    means = held[:, :-1] / held[:, -1:].clamp(min=TINY)
    labels = (noisy * means).sum(1) / means.square().sum(1).clamp(min=TINY)
    labels = labels.clamp(min=max(1.0, LEAST * float(labels.clamp(min=0).mean())))
    return Teacher(weights, weights.new_zeros(len(weights)), labels, "clusters")


def _cluster_sums(posteriors: Tensor, rows: Tensor) -> Tensor:
    """Sums of rows by class, and their weights, [C, p + 1]."""
    return posteriors.t() @ _with_one(rows)


def _with_one(rows: Tensor) -> Tensor:
    import torch

    return torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)


def fitted(statistic: Statistic, first: Teacher, features: Sequence[Tensor], sums: Summing) -> Teacher:
    """Logistic regression from the sums alone (own derivation).

    Its likelihood needs labels only through T and the numbers of labels by class; the sum of log-partition
    functions over labelled nodes is taken over all nodes instead, each with the number of labels that a node like
    it has by a first teacher. What is fitted are the moments: the posteriors' sums of features equal T. A normal
    prior on the weights is as strong as the noise is. The curvature is at most that of Boehning (1992),
    so steps with this bound as the Hessian climb without a search.

    Args:
        statistic: what is told of labels.
        first: says how many labels there are, and where.
        features: phi of each party's nodes.
        sums: how the parties add up.
    """
    import torch

    noisy, labels = statistic.sums, first.labels
    told = [first.posteriors(rows) for rows in features]
    share = labels / sums.total([p.sum(0) for p in told]).clamp(min=TINY)
    weight = [p @ share for p in told]
    wanted = torch.cat([noisy, labels[:, None]], dim=1)
    rows = [_with_one(phi) for phi in features]
    spread = sums.total([(r * w[:, None]).t() @ r for r, w in zip(rows, weight, strict=True)])
    prior = torch.full_like(spread[0], 1 + statistic.deviation**2)
    prior[-1] = 1e-3 * float(labels.sum())
    step = torch.linalg.inv(spread / 2 + prior.diag())
    found = torch.zeros_like(wanted)
    for _ in range(STEPS):
        now = sums.told(classifier=found)["classifier"]
        answered = [(r @ now.t()).softmax(1) for r in rows]
        reached = sums.total([(p * w[:, None]).t() @ r for p, w, r in zip(answered, weight, rows, strict=True)])
        found = found + (wanted - reached - prior * found) @ step
    found = sums.told(classifier=found)["classifier"]
    return Teacher(found[:, :-1], found[:, -1] - share.log(), labels, "classifier")

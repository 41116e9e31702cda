"""Noise that each node adds to its own features: local differential privacy of all that is computed on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from math import tanh
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ...graphs.network import Floats, Ints
from ...mechanisms.guarantee import Guarantee
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor

AT_ONCE = 4_000_000
"""Features for which noise is drawn at a time: bounds the memory beyond features and answers."""


class FeatureResponseSettings(Settings):
    """Settings of defenses that randomise features."""

    epsilon: float = Field(6.0, ge=1e-6, description="per node, for all of its features and the whole run")
    low: float = Field(0.0, description="least that a feature can be; public, never read off the features")
    high: float = Field(
        1.0, description="most that a feature can be; what lies outside becomes the nearer of the two"
    )
    reports: int | None = Field(
        None, ge=1, description="features that each node reports of, drawn at random; None: how many err least"
    )

    @model_validator(mode="after")
    def _range_is_one(self) -> FeatureResponseSettings:
        if not self.low < self.high:
            raise ValueError(f"low is {self.low:g} and high {self.high:g}: expected high to be larger")
        return self


class FeatureResponse(Defense):
    """Base of defenses in which each node reports of some of its features, with noise, before anything else.

    A node draws ``reports`` of its d features, without looking at them, and reports of each with an equal part of
    epsilon; the others are taken to be the middle of the range. Reports are multiplied by d / reports, so that the
    mean of what is used for a feature is the feature. Drawn once per run: epsilon does not grow with rounds.
    Features are first brought into a public range: a value outside becomes the nearer end, one that is no number
    the lower.

    Neighbours differ in one node's features. Edges, labels and the number of nodes are public, that is, not
    protected; nor is anything that a pipeline computes on features as they were (`classifier` publishes
    answers on these, and so do `fedavg` and its kin unless ``answer_with`` is ``defended``). Noise is drawn in
    floating point.

    With hundreds of features and a usual epsilon, a node reports of one or two: its row is mostly made of noise,
    and learning has to live on means over many nodes.

    Attributes:
        worth: epsilon that one report should have; as many are made as there are such parts.
    """

    node_wise = True
    strength = "epsilon"
    sweep = (16.0, 8.0, 4.0, 1.0)
    alternative = "no-features"
    guarantee = (
        "epsilon-local differential privacy of one node's features, for the whole run: other features in their "
        "place (edges and labels are public; not of answers computed on the true features; float sampler)"
    )
    Settings = FeatureResponseSettings
    settings: FeatureResponseSettings
    worth: ClassVar[float]

    @abstractmethod
    def answered(self, place: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
        """Reports of places between -1 and 1, with a mean that is the place."""

    def promise(self) -> Guarantee:
        """The guarantee with its epsilon; it does not depend on the features."""
        return Guarantee(
            "node-features",
            "replace",
            "local",
            self.settings.epsilon,
            accountant=f"{self.name} on some of a node's features, each with an equal part; pure; float sampler",
            public=(
                "edges",
                "labels",
                "the number of nodes",
                f"that features range from {self.settings.low:g} to {self.settings.high:g}",
            ),
            composes="once for the whole run; epsilons of further runs on the same features add up",
            covers="what is computed on the noisy features",
        )

    def reports(self, features: int) -> int:
        """Of how many features each node reports."""
        wanted = self.settings.reports or int(min(self.settings.epsilon / self.worth, features))
        return max(1, min(features, wanted))

    def randomised(self, x: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Noisy features [n, d] of features [n, d], of the same kind of numbers."""
        low, high = self.settings.low, self.settings.high
        middle, half = (low + high) / 2, (high - low) / 2
        nodes, features = x.shape
        found, many = np.full(x.shape, middle, dtype=x.dtype), self.reports(features)
        step = max(1, AT_ONCE // max(features, 1))
        for begin in range(0, nodes if features else 0, step):
            chosen = _drawn(min(step, nodes - begin), features, many, rng)
            rows = begin + np.arange(len(chosen))[:, None]
            known = x[rows, chosen].astype(np.float64)
            known = np.nan_to_num(known, nan=low, posinf=high, neginf=low)
            place = ((known - middle) / half).clip(-1, 1)
            told = self.answered(place, self.settings.epsilon / many, rng)
            found[rows, chosen] = middle + half * features / many * told
        return found

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        import torch

        found = self.randomised(client.x.cpu().float().numpy(), np.random.default_rng(seed))
        return replace(client, x=torch.from_numpy(found).to(device=client.x.device, dtype=client.x.dtype))


class OneBitFeatures(FeatureResponse):
    """Each node reports one noisy bit for each of some of its features.

    The one-bit mechanism of Ding, Kulkarni and Yekhanin (NeurIPS 2017) for means, on features drawn at random as
    in the multi-bit encoder of Sajadmanesh and Gatica-Perez (CCS 2021), with its estimator that has
    no bias. A report costs 2.18 of epsilon there, and so it does here. A feature that is at an
    end of the range, as in a bag of words, comes back with little noise at a large epsilon; others stay bits.
    """

    name = "one-bit-features"
    phrase = "with one noisy bit for some features"
    worth = 2.18

    def answered(self, place: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(place.shape) < bit_chance(place, epsilon), 1.0, -1.0) / tanh(epsilon / 2)


class PiecewiseFeatures(FeatureResponse):
    """Each node reports some of its features by the piecewise mechanism.

    Wang et al. (ICDE 2019, "Collecting and analyzing multidimensional data with local differential privacy",
    algorithms 2 and 4): a number is likely near the feature, and has no bias. A report costs 2.5 of epsilon there.
    At a large epsilon the features come back.
    """

    name = "piecewise-features"
    phrase = "with piecewise noise on some features"
    worth = 2.5

    def answered(self, place: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
        return piecewise(place, epsilon, rng)


def bit_chance(place: Floats, epsilon: float) -> Floats:
    """Probability that the bit of a place between -1 and 1 is up.

    e^epsilon / (1 + e^epsilon) at 1, one less that at -1, and on a line between them.
    """
    found: Floats = (1 + place * tanh(epsilon / 2)) / 2
    return found


def piecewise_law(place: Floats, epsilon: float) -> tuple[Floats, Floats, float, float]:
    """Between which two numbers a report is likely, how large it can be either way, and the chance of the first.

    A report is uniform between the two, or uniform on the rest of -most .. most. The density is e^epsilon times as
    large between them.
    """
    most = 1 / tanh(epsilon / 4)
    left = (most + 1) / 2 * place - (most - 1) / 2
    return left, left + most - 1, most, 1 / (1 + float(np.exp(-epsilon / 2)))


def piecewise(place: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
    """Reports of places between -1 and 1 by the piecewise mechanism (Wang et al. 2019, algorithm 2)."""
    left, right, most, chance = piecewise_law(place, epsilon)
    near, where = rng.random(place.shape) < chance, rng.random(place.shape)
    # the rest is as long as most + 1, whatever the place: what is beyond its left part lies right of the middle
    away = -most + where * (most + 1)
    away = np.where(away < left, away, away + (right - left))
    found: Floats = np.where(near, left + where * (right - left), away)
    return found


def _drawn(nodes: int, features: int, many: int, rng: np.random.Generator) -> Ints:
    """For each node, so many different features, [n, m]."""
    if many == features:
        return np.tile(np.arange(features), (nodes, 1))
    return np.argpartition(rng.random((nodes, features)), many, axis=1)[:, :many]

"""Defenses of features that promise differential privacy, as mechanisms whose claims are checked."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from ...defenses.local_privacy.feature_response import FeatureResponse, OneBitFeatures, PiecewiseFeatures
from ...graphs.network import Floats
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism

FEATURES = 3


class RandomisedFeatures(Mechanism):
    """Base of them: one node whose features are all at the lower end of the range, or all at the upper.

    What is released of the features that were drawn is as likely for either as it is extreme, or not at all.
    """

    differ_in = "node-features"
    differ_by = "replace"
    defense: ClassVar[type[FeatureResponse]]

    def made(self) -> FeatureResponse:
        """The defense with the epsilon of the claim."""
        return self.defense(epsilon=self.settings.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        return self.made().promise()

    def inputs(self) -> tuple[Floats, Floats]:
        """Features at the least and at the most of the range, [1, d]."""
        low, high = self.made().settings.low, self.made().settings.high
        return np.full((1, FEATURES), low), np.full((1, FEATURES), high)

    def release(self, data: Floats, rng: np.random.Generator) -> Floats:
        return self.made().randomised(data, rng)

    def score(self, released: Floats) -> float:
        """Reports that only the upper end makes likely, less those that only the lower does."""
        defense = self.made()
        low, high = defense.settings.low, defense.settings.high
        share = defense.reports(FEATURES) / FEATURES
        told = (2 * released - high - low) / (high - low) * share
        return float((told >= self.extreme()).sum() - (told <= -self.extreme()).sum())

    @abstractmethod
    def extreme(self) -> float:
        """From which report on it speaks for an end, between -1 and 1 as reports are before they are scaled."""


class OneBit(RandomisedFeatures):
    """One noisy bit for some features, the defense `one-bit-features`."""

    name = "one-bit-features"
    defense = OneBitFeatures

    def extreme(self) -> float:
        return 0.5  # reports are 1 or more, or -1 or less; features that were not drawn are 0


class Piecewise(RandomisedFeatures):
    """Piecewise noise on some features, the defense `piecewise-features`."""

    name = "piecewise-features"
    defense = PiecewiseFeatures

    def extreme(self) -> float:
        return 1.0  # in between a report is as likely for either

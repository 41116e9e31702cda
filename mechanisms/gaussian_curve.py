"""The whole promise of Gaussian noise, of which an epsilon at a delta is one point (Dong, Roth and Su 2022)."""

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from .gaussian import delta_of, epsilon_of


@dataclass(frozen=True)
class GaussianCurve:
    """Telling two neighbouring inputs apart is at least as hard as telling N(0, 1) from N(distance, 1).

    Attributes:
        distance: mu of mu-GDP: the L2 sensitivity in deviations of the noise.
    """

    distance: float

    def delta(self, epsilon: float) -> float:
        """The smallest delta at an epsilon."""
        return delta_of(self.distance, epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at a delta."""
        return epsilon_of(self.distance, delta)

    def most_tpr(self, fpr: float) -> float:
        """The largest true-positive rate of any test at a false-positive rate (their Eq. 6)."""
        return float(ndtr(ndtri(fpr) + self.distance))

    def most_auc(self) -> float:
        """The largest AUC of any score of one unit in releases with it and in independent ones without it.

        Phi(mu / sqrt 2): the ROC curve of two unit normals that are mu apart. An attack on one release ranks its
        units against each other: see `most_auc_of_swaps` for what holds then.
        """
        return float(ndtr(self.distance / math.sqrt(2)))

    def most_auc_of_swaps(self, apart: float) -> float:
        """The largest chance that a member is ranked above a non-member of the same release.

        If a member and a non-member are as likely the other way round, that chance is the accuracy of a test
        between the two worlds, whose noiseless statistics are ``apart`` sensitivities apart (own derivation): sqrt
        2 if the two units' contributions are orthogonal, which gives `most_auc`; less if they are alike; 2 at most.
        """
        return float(ndtr(apart * self.distance / 2))

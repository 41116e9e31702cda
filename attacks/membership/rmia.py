"""Robust membership inference by pairwise likelihood ratios (Zarifzadeh, Liu and Shokri, ICML 2024)."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from .base_membership import log_mean
from .calibrated import Calibrated, Evidence
from .query_attack import ShadowModelAttackSettings
from .shadow_models import best_setting

GRID = tuple(np.linspace(0, 1, 11).tolist())


class RMIASettings(ShadowModelAttackSettings):
    """Settings of `RMIA`."""

    gamma: float = Field(1.0, gt=0, description="how many times a node must beat a population node")
    a: float | None = Field(
        None,
        ge=0,
        le=1,
        description="offline: P(IN) = a P(OUT) + 1 - a; null: tuned on models that play the target",
    )


class RMIA(Calibrated):
    """The share of population nodes z that a node x beats by gamma in p / mean p over the shadow models.

    The population is never a member of anything. The share has as many steps as there are population nodes; within
    a step nodes are ordered by their own ratio, which only breaks ties. With one population for all, the order of
    the scores is that of the ratio: online, RMIA ranks exactly as BASE with alpha 1. Without a population that the
    target can be asked about, the score is the ratio.
    """

    name = "rmia"
    ranks_as: ClassVar[str | None] = "base"
    Settings = RMIASettings
    settings: RMIASettings

    def judge(self, evidence: Evidence) -> np.ndarray:
        from scipy.stats import rankdata

        a = self._a(evidence)
        ratio = self._ratio(*evidence.subjects.log_confidences(), evidence.subjects.inside, a)
        if evidence.population is None:
            return ratio
        others = self._ratio(*evidence.population.log_confidences(), evidence.population.inside, a)
        beaten = np.searchsorted(np.sort(others), ratio - np.log(self.settings.gamma), side="right")
        within = (rankdata(ratio) - 1) / len(ratio)
        share: np.ndarray = (beaten + within) / (len(others) + 1)
        return share

    def _a(self, evidence: Evidence) -> float:
        if not self.offline:
            return 1.0
        if self.settings.a is not None:
            return self.settings.a
        pool = evidence.pool()
        return best_setting(pool.log_confidences()[1], pool.inside, evidence.rounds, self._ratio, GRID)

    def _ratio(self, target: np.ndarray, shadow: np.ndarray, inside: np.ndarray, a: float) -> np.ndarray:
        if not self.offline:
            return np.asarray(target - log_mean(shadow, np.ones_like(inside)))
        outside = np.exp(log_mean(shadow, ~inside))
        ratio: np.ndarray = target - np.log(((1 + a) * outside + 1 - a) / 2)
        return ratio


class OfflineRMIA(RMIA):
    """The same with models that never saw the node alone: mean p = [(1 + a) OUT + 1 - a] / 2."""

    name = "rmia-offline"
    ranks_as: ClassVar[str | None] = None
    offline = True

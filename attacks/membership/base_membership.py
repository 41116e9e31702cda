"""Bayes-optimal membership inference from mean confidences (Lassila et al., NeurIPS 2025)."""

import numpy as np
from pydantic import Field
from scipy.special import logsumexp

from .calibrated import Calibrated, Evidence
from .query_attack import ShadowModelAttackSettings
from .shadow_models import best_setting

GRID = tuple(np.linspace(0, 1, 21).tolist())


class BASESettings(ShadowModelAttackSettings):
    """Settings of `BASE`."""

    alpha: float | None = Field(
        1.0, ge=0, le=1, description="weight of the shadows; null: tuned on shadow models that play the target"
    )


class OfflineBASESettings(BASESettings):
    """Settings of `OfflineBASE`."""

    alpha: float | None = Field(
        None, ge=0, le=1, description="weight of the shadows; null: tuned on shadow models that play the target"
    )


class BASE(Calibrated):
    """log p(y | target) - alpha log mean over all shadow models of p(y), online."""

    name = "base"
    Settings = BASESettings
    settings: BASESettings

    def judge(self, evidence: Evidence) -> np.ndarray:
        target, shadow = evidence.subjects.log_confidences()
        alpha = self.settings.alpha
        if alpha is None:
            pool = evidence.pool()
            alpha = best_setting(pool.log_confidences()[1], pool.inside, evidence.rounds, self._score, GRID)
        return self._score(target, shadow, evidence.subjects.inside, alpha)

    def _score(self, target: np.ndarray, shadow: np.ndarray, inside: np.ndarray, alpha: float) -> np.ndarray:
        used = ~inside if self.offline else np.ones_like(inside)
        return target - alpha * log_mean(shadow, used)


class OfflineBASE(BASE):
    """The same with models that never saw the node alone; alpha makes up for the half that is missing."""

    name = "base-offline"
    dear = ""
    offline = True
    Settings = OfflineBASESettings


def log_mean(log_p: np.ndarray, used: np.ndarray) -> np.ndarray:
    """log of the mean of exp(log_p) [K, s] over the models that are used; over all where none is."""
    used = np.where(used.any(0), used, True)
    total = logsumexp(np.where(used, log_p, -np.inf), axis=0)
    mean: np.ndarray = total - np.log(used.sum(0))
    return mean

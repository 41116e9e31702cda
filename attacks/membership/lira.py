"""Likelihood-ratio membership inference (Carlini et al., S&P 2022)."""

from typing import Literal

import numpy as np
from pydantic import Field

from .calibrated import Calibrated, Evidence
from .query_attack import ShadowModelAttackSettings

SMALLEST_SPREAD = 1e-3


class LiRASettings(ShadowModelAttackSettings):
    """Settings of `LiRA`."""

    variance: Literal["shrunk", "pooled", "record"] = Field(
        "shrunk",
        description="per node and shrunk to the pooled one (any number of shadows), one for all, or per node alone",
    )
    prior: float = Field(4, gt=0, description="models that the pooled variance counts as, where it is shrunk to")


class LiRA(Calibrated):
    """Online likelihood-ratio attack: log N(phi; IN) - log N(phi; OUT) with a node's own Gaussians.

    phi is the margin of logits. The papers' per-node variance needs some 64 models; with few, four numbers would
    make a Gaussian. By default it is shrunk to the pooled one, s_i^2 = (v s^2 + SS_i) / (v + n_i - 1) with v = 4
    (the posterior mean under a conjugate prior), centred per node, IN and OUT apart. A node that no model is IN
    (or OUT) for takes the mean shift of the others.
    """

    name = "lira"
    Settings = LiRASettings
    settings: LiRASettings

    def judge(self, evidence: Evidence) -> np.ndarray:
        from scipy.stats import norm

        target, shadow = evidence.subjects.margins()
        inside = evidence.subjects.inside
        mean_in, mean_out = means(shadow, inside)
        spread_in = self._spread(shadow, inside)
        spread_out = self._spread(shadow, ~inside)
        inside_more = norm.logpdf(target, mean_in, spread_in) - norm.logpdf(target, mean_out, spread_out)
        return np.asarray(inside_more)

    def _spread(self, values: np.ndarray, of: np.ndarray) -> np.ndarray:
        return spread(values, of, self.settings.variance, self.settings.prior)


class OfflineLiRA(LiRA):
    """Offline likelihood-ratio attack: how far phi lies above what models that never saw the node say.

    One-sided, Pr[Z <= phi] for Z ~ N(OUT), as in the paper (equation 4); a density would call a node that is
    surprisingly badly fitted a member. The score is the normal deviate itself, which does not saturate.
    """

    name = "lira-offline"
    offline = True

    def judge(self, evidence: Evidence) -> np.ndarray:
        target, shadow = evidence.subjects.margins()
        outside = ~evidence.subjects.inside
        _, mean = means(shadow, ~outside)
        deviate: np.ndarray = (target - mean) / self._spread(shadow, outside)
        return deviate


def means(values: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each node's mean over models that trained on it and over the others, [s] each.

    Where there is no model of one kind, the other kind's mean is shifted by what the two differ on average.
    """
    count_in, count_out = inside.sum(0), (~inside).sum(0)
    mean_in = np.where(inside, values, 0).sum(0) / np.maximum(count_in, 1)
    mean_out = np.where(inside, 0, values).sum(0) / np.maximum(count_out, 1)
    both = (count_in > 0) & (count_out > 0)
    shift = float((mean_in - mean_out)[both].mean()) if both.any() else 0.0
    return np.where(count_in > 0, mean_in, mean_out + shift), np.where(count_out > 0, mean_out, mean_in - shift)


def spread(values: np.ndarray, of: np.ndarray, variance: str, prior: float) -> np.ndarray:
    """Standard deviation per node [s] over the models ``of`` [K, s], around the node's own mean."""
    count = of.sum(0)
    centre = np.where(of, values, 0).sum(0) / np.maximum(count, 1)
    squares = (np.where(of, values - centre, 0) ** 2).sum(0)
    free = np.maximum(count - 1, 0)
    pooled = squares.sum() / max(free.sum(), 1) if free.sum() else values.var(0).mean()
    if variance == "pooled":
        found = np.full(values.shape[1], float(pooled))
    elif variance == "record":
        found = np.where(free > 0, squares / np.maximum(free, 1), pooled)
    else:
        found = (prior * pooled + squares) / (prior + free)
    deviation: np.ndarray = np.maximum(np.sqrt(found), SMALLEST_SPREAD)
    return deviation

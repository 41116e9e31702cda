"""The sparse vector technique: which queries lie above a threshold (Lyu, Su and Li 2017)."""

import math

import numpy as np

from ...graphs.network import Floats
from .claim_statement import Noise

RUNS = 2.0 ** np.arange(0, 31, 2)
"""Numbers of queries below the threshold, before one is above, that are tried."""
POINTS = 20_001


def sparse_vector_epsilon(noise: Noise, many: int = 1) -> float | None:
    """Epsilon with delta 0; infinite where nothing bounds it, None where a fact is missing.

    Lyu, Su and Li 2017, Theorems 2 to 5: sensitivity times 1 / threshold's scale, and for each answer above
    2 / queries' scale (1 if all queries move the same way) and 1 / values' scale. If the threshold's noise is drawn
    anew after each answer above, it counts for each of them. Without noise on the queries, without a last answer,
    or with the tested value told, there is no epsilon at all (their Algorithms 3, 5 and 6).
    """
    threshold, query, above, answers = noise.threshold_scale, noise.query_scale, noise.positives, noise.answers
    if threshold is None or query is None or above is None or answers is None or noise.sensitivity is None:
        return None
    if not threshold or not query or isinstance(above, str) or answers == "tested value":
        return math.inf
    rounds, sides = above if noise.refreshed else 1, 1 if noise.monotone else 2
    cost = rounds / threshold + above * sides / query
    if answers == "new value":
        if noise.value_scale is None:
            return None
        cost += above / noise.value_scale
    return many * noise.sensitivity * cost


def sparse_vector_least(noise: Noise, many: int, delta: float) -> float:
    """An epsilon that is too small at a delta above 0, if it is any smaller: many answers below, then those above.

    Queries below rise by the sensitivity, and those above fall by it (or stay, if all move the same way).
    """
    threshold, query, above = noise.threshold_scale, noise.query_scale, noise.positives
    if not threshold or not query or above is None or isinstance(above, str):
        return math.inf
    moved, rounds = many * (noise.sensitivity or 0.0), above if noise.refreshed else 1
    reach = 40 * threshold + moved
    if 2 * reach / POINTS > min(threshold, query) / 20:
        return 0.0  # too coarse to tell
    at = np.linspace(-reach, reach, POINTS)
    weight = np.exp(-np.abs(at) / threshold)
    weight /= weight.sum()
    each = above // rounds

    def chance(raised: float, lowered: float) -> Floats:
        passed = np.exp(-np.abs(at + lowered) / query) / 2
        passed = np.where(at + lowered > 0, passed, 1 - passed)
        stopped = -np.abs(at - raised) / query - math.log(2)
        stopped = np.where(at > raised, np.log1p(-np.exp(stopped)), stopped)
        return np.array([float((weight * np.exp(run * stopped) * passed**each).sum()) for run in RUNS]) ** rounds

    here, there = chance(0.0, 0.0), chance(moved, 0.0 if noise.monotone else moved)
    told = 0.0
    if noise.answers == "new value" and noise.value_scale:
        here, there, told = here / 2.0**above, there / 2.0**above, above * moved / noise.value_scale
    likely = (here > delta) & (there > 0)
    if not likely.any():
        return 0.0
    return max(0.0, float((np.log(here[likely] - delta) - np.log(there[likely])).max()) + told)

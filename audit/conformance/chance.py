"""An exact test of whether scores know a truth that was drawn at random."""

import numpy as np

from ..statistics.scored_subjects import ScoredSubjects

SEED = 0
ERROR = 1e-4
"""How often a null test may call sound scores wrong."""
DRAWS = 19_999
"""Permutations of which an exact test of that level is made: (1 + as far off) / (1 + DRAWS)."""


def chance_of(judged: ScoredSubjects) -> float:
    """How likely an AUC as far from 0.5 is if the truth is a random permutation: exact for any number of draws.

    Draws stop early where many were as far off already (Besag and Clifford 1991), which leaves the test exact.
    """
    ranks, rng = _centred_ranks(judged.score), np.random.default_rng(SEED)
    seen, fewer = abs(float(ranks[judged.truth].sum())), min(int(judged.truth.sum()), int((~judged.truth).sum()))
    further = 0
    for draw in range(1, DRAWS + 1):
        drawn = rng.choice(len(ranks), fewer, replace=False, shuffle=False)
        further += abs(float(ranks[drawn].sum())) >= seen - 1e-6
        if further == 20:
            return further / draw
    return (1 + further) / (1 + DRAWS)


def _centred_ranks(score: np.ndarray) -> np.ndarray:
    """Midranks less their mean: members' sum, and others' sum turned, is the AUC less 0.5, times a constant."""
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    centred: np.ndarray = (last - (counts - 1) / 2)[place] - (len(score) + 1) / 2
    return centred

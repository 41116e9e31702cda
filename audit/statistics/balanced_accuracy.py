"""Balanced accuracy and advantage, at a threshold that is never chosen on the subjects that it is measured on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .finding import Finding
from .metrics import auc_finding
from .scored_subjects import Floats, ScoredSubjects, checked_runs, columns_of, counts_of
from .variation import share_interval

FEW_FLAGS = 10  # fewer flagged (or not flagged) members or non-members than this: no normal approximation


def balanced_accuracy_finding(
    runs: Sequence[ScoredSubjects], threshold: float | None = None, level: float = 0.95, seed: int = 0
) -> Finding:
    """Mean over seeds of (TPR + TNR) / 2, when scores >= threshold are flagged; 0.5 is chance.

    A ``threshold`` that was fixed on other data is used as it is. Without one, the subjects are split at random
    into halves (the same for all runs); the best threshold of each half is measured on the other, and the two
    are averaged. The target is the population's balanced accuracy at the thresholds used, which lies below the
    maximum over thresholds: whoever has only half of the truth cannot do better. The balanced accuracy is the
    AUC of the 0-1 guesses, and has its interval; where fewer than ten members or non-members are flagged, or are
    not, the interval also includes the one made of both rates' Clopper-Pearson intervals in one run (Newcombe,
    Statistics in Medicine 1998, method 10, with these in the place of Wilson's).
    """
    runs = checked_runs(runs)
    guesses = guessed(runs, threshold, seed)
    if guesses is None:
        note = "not measurable, needs members and non-members in either half of the subjects"
        counts = counts_of([runs])
        return Finding("balanced accuracy", None, None, None, level, "none", "indicative", note, *counts)
    found = _widened(auc_finding(guesses, level), guesses)
    chosen = "from the other half of the subjects" if threshold is None else "set beforehand"
    return replace(found, metric="balanced accuracy", method=f"threshold {chosen}; {found.method}")


def guessed(
    runs: Sequence[ScoredSubjects], threshold: float | None = None, seed: int = 0
) -> list[ScoredSubjects] | None:
    """Runs with guesses, 0 or 1, in the place of scores: the balanced accuracy is their AUC.

    See `balanced_accuracy_finding` for arguments. None where a half of the subjects lacks members or non-members.
    """
    set_before = None if threshold is None else [np.full(len(run.truth), threshold) for run in runs]
    thresholds = set_before or crossed_thresholds(runs, seed)
    if thresholds is None:
        return None
    return [
        replace(run, score=(run.score >= cut).astype(float), strata=None)
        for run, cut in zip(runs, thresholds, strict=True)
    ]


def advantage_finding(
    runs: Sequence[ScoredSubjects], threshold: float | None = None, level: float = 0.95, seed: int = 0
) -> Finding:
    """Mean over seeds of TPR - FPR (Yeom et al., CSF 2018, definition 4), when scores >= threshold are flagged.

    2 * balanced accuracy - 1, with its choice of thresholds; 0 is chance. It is not the maximum over thresholds.
    """
    found = balanced_accuracy_finding(runs, threshold, level, seed)
    estimate, low, high = (None if x is None else 2 * x - 1 for x in (found.estimate, found.low, found.high))
    return replace(found, metric="advantage", estimate=estimate, low=low, high=high)


def crossed_thresholds(runs: Sequence[ScoredSubjects], seed: int = 0) -> list[Floats] | None:
    """For each row of each run [s] the best threshold of the half of the subjects that the row is not in.

    None where a half of a run lacks members or non-members.
    """
    out = []
    for run, half in zip(runs, halves(runs, seed), strict=True):
        cut = np.empty(len(half))
        for chosen_on in (half, ~half):
            truth = run.truth[chosen_on]
            if truth.all() or not truth.any():
                return None
            cut[~chosen_on] = _best_threshold(truth, run.score[chosen_on])
        out.append(cut)
    return out


def halves(runs: Sequence[ScoredSubjects], seed: int) -> list[NDArray[np.bool_]]:
    """A random half of the subjects, as one mask [s] per run; all rows of a subject are on one side.

    Subjects that are members where they first appear are halved, and so are the others.
    """
    columns = columns_of([run.subjects for run in runs])
    first = np.unique(np.concatenate(columns), return_index=True)[1]
    truth = np.concatenate([run.truth for run in runs])[first]
    order = np.random.default_rng(seed).permutation(len(first))
    order = order[np.argsort(truth[order], kind="stable")]  # in random order within each class
    side = np.empty(len(first), dtype=bool)
    side[order] = np.arange(len(first)) % 2 == 0
    return [side[column] for column in columns]


def _widened(found: Finding, guesses: Sequence[ScoredSubjects]) -> Finding:
    """Balanced accuracy with a wider interval where too few guesses are right, or wrong, to be called normal."""
    sides, few = [], False
    for kind in (True, False):
        right = [(run.score == run.truth)[run.truth == kind] for run in guesses]
        rate, trials = float(np.mean([part.mean() for part in right])), min(map(len, right))
        low, high = share_interval(rate, 0.0, trials, found.level)
        sides.append((rate - low, high - rate))
        few |= min(rate, 1 - rate) * trials < FEW_FLAGS
    if not few or found.estimate is None or found.low is None or found.high is None:
        return found
    down, up = (float(np.hypot(*side)) / 2 for side in zip(*sides, strict=True))
    return replace(found, low=min(found.low, found.estimate - down), high=max(found.high, found.estimate + up))


def _best_threshold(truth: NDArray[np.bool_], score: Floats) -> float:
    """The score from which on TPR - FPR is largest; the highest of several, NaN (nobody) if nothing is gained."""
    levels, level = np.unique(-score, return_inverse=True)
    rates = [np.cumsum(np.bincount(level[c], minlength=len(levels))) / c.sum() for c in (truth, ~truth)]
    gain = np.append(0.0, rates[0] - rates[1])
    return float(np.append(np.nan, -levels)[np.argmax(gain)])

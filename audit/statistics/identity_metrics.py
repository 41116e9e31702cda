"""What an attack on identity achieves, read off the probability that it gives each person's own node.

The probability is 1 / k where the person's node is one of k candidates, and 0 where it is none of them: the mean
over persons is the chance of naming a person's node by lot among its candidates (Hay et al. 2008, section 2.2).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .finding import Finding
from .metrics import accuracy_finding
from .scored_subjects import Floats, ScoredSubjects, checked_runs, counts_of

NAMED = "re-identified"
"""The finding that tells how many persons are named."""
NONE = 1e-12
ALONE = "one candidate"
CROWDS = {
    ALONE: (1, 1),
    "2 to 4 candidates": (2, 4),
    "5 to 10 candidates": (5, 10),
    "11 to 20 candidates": (11, 20),
    "over 20 candidates": (21, np.inf),
}
"""Sizes of candidate sets as Hay et al. (2008, figure 2) draw them."""


def identity_findings(runs: Sequence[ScoredSubjects]) -> dict[str, Finding]:
    """Re-identification, sizes of the candidate sets that hold the person's node, those that miss it, entropy.

    Shares of persons have the interval of an accuracy on as many persons; entropy, in bits, has none.
    """
    runs = checked_runs(runs)
    found = {NAMED: _share("re-identification probability", runs, lambda p: p)}
    for name, (least, most) in CROWDS.items():
        found[name] = _share(name, runs, _of_size(least, most))
    found["missed"] = _share("candidate set without the person", runs, lambda p: (p < NONE).astype(float))
    found["entropy"] = _entropy(runs)
    return found


def _of_size(least: float, most: float) -> Callable[[Floats], Floats]:
    def share(p: Floats) -> Floats:
        size = np.rint(1 / np.maximum(p, NONE))
        return ((p >= NONE) & (size >= least) & (size <= most)).astype(float)

    return share


def _share(metric: str, runs: Sequence[ScoredSubjects], value: Callable[[Floats], Floats]) -> Finding:
    """Mean over persons of a value in [0, 1], of which the variance is that of a share at most."""
    values = [float(value(run.score[run.truth]).mean()) for run in runs]
    persons = min(int(run.truth.sum()) for run in runs)
    counts = counts_of([runs])
    found = accuracy_finding(values, persons)
    return replace(found, metric=metric, validity="heuristic", members=counts[0], non_members=counts[1])


def _entropy(runs: Sequence[ScoredSubjects]) -> Finding:
    """Mean over persons and seeds of the bits that are left where the candidate set holds the person."""
    bits = [-np.log2(p[p >= NONE]) for p in (run.score[run.truth] for run in runs)]
    every = np.concatenate(bits)
    note = "bits left to guess, of persons in their candidate set"
    if not len(every):
        return Finding("entropy", None, None, None, 0.95, "none", "indicative", "no candidate set holds its person")
    return Finding("entropy", float(every.mean()), None, None, 0.95, "none", "indicative", note, seeds=len(runs))

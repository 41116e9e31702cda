"""Subjects under numbers that follow from their scores alone, not from how anybody called or listed them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...graphs.pair_codes import codes, ends
from ..running.trial import Attacked
from ..statistics.scored_subjects import ScoredSubjects

Renamed = Callable[[ScoredSubjects], ScoredSubjects]


def by_score(by_seed: Mapping[int, Attacked]) -> dict[int, Attacked]:
    """The same attack over the seeds, in their order; whoever scores lowest in the first is subject 0, and so on.

    Halves and weights that are drawn for subjects then do not depend on their names: the same scores give the same
    numbers to the last digit, whoever exported them. Where subjects are pairs the nodes are numbered so.
    """
    ordered = {index: _ordered(by_seed[index]) for index in sorted(by_seed)}
    runs = [run for a in ordered.values() for run in (a.judged, *a.samples.values())]
    renamed = _by_appearance(np.concatenate([run.subjects for run in runs]), runs[0].nodes)
    return {index: _all(attacked, renamed) for index, attacked in ordered.items()}


def _ordered(attacked: Attacked) -> Attacked:
    """Rows from the lowest score up; of equal ones non-members first, then by stratum and by blind score."""
    judged = attacked.judged
    order = np.lexsort((attacked.blind.score, judged.labels, judged.truth, judged.score))
    moved = replace(
        attacked,
        groups={name: mask[order] for name, mask in attacked.groups.items()},
        attributes={name: told[order] for name, told in attacked.attributes.items()},
        samples={name: run.where(np.lexsort((run.truth, run.score))) for name, run in attacked.samples.items()},
    )
    return _beside(moved, lambda run: run.where(order))


def _by_appearance(subjects: NDArray[np.generic], nodes: int | None) -> Renamed:
    """Numbers subjects, or the nodes whose pairs they are, as they first appear.

    Of two nodes that first appear as a pair the one comes first whose other pairs do.
    """
    listed = subjects if nodes is None else np.concatenate(ends(subjects.astype(np.int64), nodes))
    row = np.arange(len(listed)) % len(subjects)
    known, place = np.unique(listed, return_inverse=True)
    first, later = np.full(len(known), len(listed)), np.bincount(place, row)
    np.minimum.at(first, place, row)
    number = np.empty(len(known), dtype=np.int64)
    number[np.lexsort((later, first))] = np.arange(len(known))

    def renamed(run: ScoredSubjects) -> ScoredSubjects:
        if nodes is None:
            return replace(run, subjects=number[np.searchsorted(known, run.subjects)])
        low, high = (number[np.searchsorted(known, end)] for end in ends(run.subjects.astype(np.int64), nodes))
        return replace(run, subjects=codes(low, high, nodes))

    return renamed


def _all(attacked: Attacked, change: Renamed) -> Attacked:
    samples = {name: change(run) for name, run in attacked.samples.items()}
    return _beside(replace(attacked, samples=samples), change)


def _beside(attacked: Attacked, change: Renamed) -> Attacked:
    """Changes all guesses about the subjects in question, whose rows stand beside each other."""
    return replace(
        attacked,
        judged=change(attacked.judged),
        blind=change(attacked.blind),
        baselines={name: change(baseline) for name, baseline in attacked.baselines.items()},
    )

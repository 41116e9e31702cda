"""Subjects under numbers that follow from their scores alone, not from how anybody called or listed them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Ints
from ...graphs.pair_codes import codes, ends
from ..running.trial import Attacked
from ..statistics.scored_subjects import ScoredSubjects

Renamed = Callable[[ScoredSubjects], ScoredSubjects]
Keys = tuple[NDArray[np.generic], ...]
"""What rows are put in order by, the last one first."""


def by_score(by_seed: Mapping[int, Attacked]) -> dict[int, Attacked]:
    """The same attack over the seeds, in their order; whoever scores lowest in the first is subject 0, and so on.

    Halves and weights that are drawn for subjects then do not depend on their names: the same scores give the same
    numbers to the last digit, whoever exported them. Where subjects are pairs the nodes are numbered so.
    """
    ordered = {index: by_seed[index] for index in sorted(by_seed)}
    runs = [run for a in ordered.values() for run in (a.judged, *a.samples.values())]
    keys = [key for a in ordered.values() for key in (_keys(a), *map(_own_keys, a.samples.values()))]
    renamed = _by_appearance(np.concatenate([run.subjects for run in runs]), _ranks(keys), runs[0].nodes)
    return {index: _ordered(_all(attacked, renamed)) for index, attacked in ordered.items()}


def _own_keys(run: ScoredSubjects) -> Keys:
    return run.truth, run.score


def _keys(attacked: Attacked) -> Keys:
    """From the lowest score up; of equal ones non-members first, then by stratum and by blind score."""
    return attacked.blind.score, attacked.judged.labels, *_own_keys(attacked.judged)


def _ranks(keys: Sequence[Keys]) -> Ints:
    """The place of each row in the order of its run, equal rows at one place, later runs behind earlier ones."""
    ranks: list[Ints] = []
    for columns in keys:
        order = np.lexsort(columns)
        differs = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.concatenate([[0], np.cumsum(differs)])[: len(order)]
        ranks.append(rank + (1 + max(int(r.max(initial=-1)) for r in ranks) if ranks else 0))
    return np.concatenate(ranks)


def _by_appearance(subjects: NDArray[np.generic], rank: Ints, nodes: int | None) -> Renamed:
    """Numbers subjects, or the nodes whose pairs they are, as they first appear.

    Of those that first appear together a number drawn for each place decides, summed over where each appears.
    """
    listed = subjects if nodes is None else np.concatenate(ends(subjects.astype(np.int64), nodes))
    place = np.resize(rank, len(listed))
    known, which = np.unique(listed, return_inverse=True)
    first = np.full(len(known), len(listed))
    np.minimum.at(first, which, place)
    in_order = np.argsort(place, kind="stable")  # so that sums are the same to the last digit
    drawn = np.random.default_rng(0).random(int(place.max(initial=0)) + 1)[place]
    number = np.empty(len(known), dtype=np.int64)
    number[np.lexsort((np.bincount(which[in_order], drawn[in_order]), first))] = np.arange(len(known))

    def renamed(run: ScoredSubjects) -> ScoredSubjects:
        if nodes is None:
            return replace(run, subjects=number[np.searchsorted(known, run.subjects)])
        low, high = (number[np.searchsorted(known, end)] for end in ends(run.subjects.astype(np.int64), nodes))
        return replace(run, subjects=codes(low, high, nodes))

    return renamed


def _ordered(attacked: Attacked) -> Attacked:
    """Rows in the order of their keys, those with equal ones in that of their subjects."""
    order = np.lexsort((attacked.judged.subjects, *_keys(attacked)))
    moved = replace(
        attacked,
        groups={name: mask[order] for name, mask in attacked.groups.items()},
        attributes={name: told[order] for name, told in attacked.attributes.items()},
        samples={
            name: run.where(np.lexsort((run.subjects, *_own_keys(run)))) for name, run in attacked.samples.items()
        },
    )
    return _beside(moved, lambda run: run.where(order))


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

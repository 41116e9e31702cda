"""Guesses of one attack with the truth beside them: who is compared with whom, and who come together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts: TypeAlias = tuple[int, int, int]  # distinct members, distinct non-members, seeds
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScoredSubjects:
    """One attack's guesses of one run with the truth beside them.

    ``subjects`` holds ids [s], equal ids in different runs being the same subject; ``score`` is float64 [s],
    higher = likelier a member; ``truth`` is bool [s]. Raises ValueError where the shapes differ. Where subjects are
    pairs of nodes, ``nodes`` is N and an id is ``low * N + high``; ``sampling_weight`` tells how many non-members
    each one here was drawn from. ``strata`` [s] are whole numbers: subjects are compared with those of their own
    number only. ``clusters`` [s] are whole numbers too: subjects of one number are not independent of each other.
    """

    subjects: NDArray[np.generic]
    score: Floats
    truth: NDArray[np.bool_]
    nodes: int | None = None
    sampling_weight: float = 1.0
    strata: Ints | None = None
    clusters: Ints | None = None

    def __post_init__(self) -> None:
        shapes = {np.shape(self.subjects), np.shape(self.score), np.shape(self.truth)}
        shapes |= {np.shape(part) for part in (self.strata, self.clusters) if part is not None}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ValueError(
                f"subjects, score, truth, strata and clusters must be vectors of one length, not {sorted(shapes)}"
            )

    @property
    def units(self) -> NDArray[np.generic]:
        """What is independent of each other, [s]: clusters where there are any, else the subjects."""
        return self.subjects if self.clusters is None else self.clusters

    @property
    def labels(self) -> Ints:
        """The stratum of each subject, [s]; one for all where there are none."""
        return np.zeros(len(self.score), dtype=np.int64) if self.strata is None else self.strata

    def where(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> "ScoredSubjects":
        """The rows that a mask or an index array [k] keeps."""
        return replace(
            self,
            subjects=self.subjects[keep],
            score=self.score[keep],
            truth=self.truth[keep],
            strata=None if self.strata is None else self.strata[keep],
            clusters=None if self.clusters is None else self.clusters[keep],
        )

    def scrambled(self, rng: np.random.Generator) -> "ScoredSubjects":
        """The null control: the same guesses with the truth permuted, within strata where there are any."""
        if self.strata is None:
            return replace(self, truth=rng.permutation(self.truth))
        truth = self.truth.copy()
        for rows in rows_of(self.strata):
            truth[rows] = rng.permutation(truth[rows])
        return replace(self, truth=truth)

    def compared(self) -> "ScoredSubjects":
        """The rows whose stratum has members and non-members: the others are compared with nobody."""
        if self.strata is None:
            return self
        parts = [r for r in rows_of(self.strata) if self.truth[r].any() and not self.truth[r].all()]
        return self.where(np.sort(np.concatenate([np.empty(0, dtype=np.intp), *parts])))

    def plainly(self) -> "ScoredSubjects":
        """The same with everybody compared with everybody."""
        return replace(self, strata=None)

    def standardised(self) -> "ScoredSubjects":
        """One scale for all strata: a score is minus the share of non-members of its stratum that score higher.

        Ties count half, and nobody ranks above the stratum's best non-member: with few of these, being the first
        is no rare thing. Whoever is not compared with anybody is left out. A threshold on this scale is one of its
        own in each stratum (Janes and Pepe 2009: the covariate-adjusted ROC curve).
        """
        if self.strata is None:
            return self
        kept = self.compared()
        assert kept.strata is not None
        score = np.empty(len(kept.score))
        for rows in rows_of(kept.strata):
            others = np.sort(-kept.score[rows][~kept.truth[rows]])
            above = np.searchsorted(others, -kept.score[rows], side="left")
            tied = np.searchsorted(others, -kept.score[rows], side="right") - above
            score[rows] = -np.maximum(above + tied / 2, 0.5) / len(others)
        return replace(kept, score=score, strata=None)


def rows_of(labels: Ints) -> list[NDArray[np.intp]]:
    """The rows of each label, in the order of the labels."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def middle_ranks(score: Floats) -> Floats:
    """The rank of each score [s], from 1; those that tie share the middle of their ranks."""
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    up_to = np.cumsum(count)
    return np.asarray(0.5 * (2 * up_to - count + 1), dtype=np.float64)[place]


def checked(truth: ArrayLike, score: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Truth as bool and scores as float64; ValueError for NaN, other shapes, or one class only."""
    labels, values = np.asarray(truth), np.asarray(score, dtype=np.float64)
    if labels.ndim != 1 or labels.shape != values.shape:
        raise ValueError(f"truth and score must be vectors of one length, not {labels.shape}, {values.shape}")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("truth must hold only True and False (or 1 and 0)")
    labels = labels.astype(bool)
    if np.isnan(values).any():
        raise ValueError(f"{int(np.isnan(values).sum())} of {len(values)} scores are NaN")
    if labels.all() or not labels.any():
        raise ValueError(f"members and non-members are both needed, not {int(labels.sum())} of {len(labels)}")
    return labels, values


def checked_runs(runs: Sequence[ScoredSubjects]) -> list[ScoredSubjects]:
    """Every run `checked`; ValueError if there is none."""
    if not len(runs):
        raise ValueError("at least one run is needed")
    parts = [checked(run.truth, run.score) for run in runs]
    return [
        replace(run, subjects=np.asarray(run.subjects), score=score, truth=truth)
        for run, (truth, score) in zip(runs, parts, strict=True)
    ]


def columns_of(ids: Iterable[NDArray[np.generic]]) -> list[NDArray[np.intp]]:
    """The column of every subject of every run; equal ids share a column."""
    parts = list(ids)
    inverse = np.unique(np.concatenate(parts), return_inverse=True)[1]
    return np.split(inverse, np.cumsum([len(part) for part in parts])[:-1])


def counts_of(sides: Sequence[Sequence[ScoredSubjects]]) -> Counts:
    """Distinct members and distinct non-members of all runs, and the number of seeds."""
    runs = [run for side in sides for run in side]
    members = np.unique(np.concatenate([run.subjects[run.truth] for run in runs]))
    others = np.unique(np.concatenate([run.subjects[~run.truth] for run in runs]))
    return len(members), len(others), len(sides[0])

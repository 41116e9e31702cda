"""Whether members stand at the very top of a ranking: a leak of few people, which an AUC hardly sees.

Who ranks among the first few is fixed by the scores alone. Where they say nothing of membership, members are as
common there as everywhere else, and permuting the truth gives the exact distribution of their number. Where
subjects are compared within strata of what is public, each stratum has its own top, and its truth is permuted for
itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .scored_subjects import Floats, ScoredSubjects, checked_runs, middle_ranks, rows_of

TOP_LEVEL = (
    0.025  # an AUC shown above 0.5 has as much (one end of a 95 % interval): together 5 % of innocent audits
)
FEWEST_PEOPLE = 10  # at the top of any ranking
PERMUTATIONS = 1999
SAME = 1e-9


@dataclass(frozen=True)
class TopRanks:
    """Members among the first of a ranking.

    Attributes:
        people: how many are looked at in each run.
        members: how many of these are members, mean over runs.
        expected: how many would be by chance.
        p: one-sided, of so many by chance.
        beyond_blind: one-sided p of being no more than the same attack finds there without the release.
    """

    people: int
    members: float
    expected: float
    p: float
    beyond_blind: float = 1.0

    @property
    def found(self) -> bool:
        """Whether there are more than chance puts there."""
        return self.p <= TOP_LEVEL

    def as_dict(self) -> dict[str, int | float]:
        """Plain JSON types."""
        return {name: round(value, 6) if isinstance(value, float) else value for name, value in vars(self).items()}


def top_ranks(runs: Sequence[ScoredSubjects], blind: Sequence[ScoredSubjects], share: float) -> TopRanks:
    """Members among the highest-ranked ``share`` of everybody asked (ten people at least), against permuted truth.

    A subject that is a member in all runs, or in none, is permuted as one; where membership is drawn anew in each
    run, each row is. People tied across the border are counted in part.
    """
    compared = _on_one_scale(runs)
    if not all(len(run.score) for run in compared):
        return TopRanks(0, 0.0, 0.0, 1.0)
    people = [_people(run, share) for run in compared]
    inside = [float(_at_top(run, k)[run.truth].sum()) for run, k in zip(compared, people, strict=True)]
    chance = [k * float(run.truth.mean()) for run, k in zip(compared, people, strict=True)]
    p = _p_value(*_by_unit([compared], share))
    return TopRanks(people[0], float(np.mean(inside)), float(np.mean(chance)), p, beyond_at_top(runs, blind, share))


def beyond_at_top(runs: Sequence[ScoredSubjects], others: Sequence[ScoredSubjects], share: float) -> float:
    """One-sided p of ``runs`` having no more members at the top than ``others``, run by run.

    Those that both put there cancel. Among the rest the truth is permuted: with one run and no ties this is
    Fisher's exact test of whether those whom only the one puts there are members as often as those whom only the
    other does.
    """
    sides = [_on_one_scale(runs), _on_one_scale(others)]
    if not all(len(run.score) for side in sides for run in side):  # nobody has anybody to be compared with
        return 1.0
    weights, truth, strata = _by_unit(sides, share)
    apart = np.abs(weights) > SAME
    return _p_value(weights[apart], truth[apart], strata[apart])


def _on_one_scale(runs: Sequence[ScoredSubjects]) -> list[ScoredSubjects]:
    """Runs whose scores are ranks within their strata; the truth has no part in them, and may be permuted."""
    return [run if run.strata is None else _ranked(run.compared()) for run in checked_runs(runs)]


def _ranked(run: ScoredSubjects) -> ScoredSubjects:
    """Each score's middle rank in its stratum as a share of the stratum, in (0, 1)."""
    score = np.empty(len(run.score))
    for rows in rows_of(run.labels):
        score[rows] = (middle_ranks(run.score[rows]) - 0.5) / len(rows)
    return replace(run, score=score)


def _people(run: ScoredSubjects, share: float) -> int:
    size = len(run.truth)
    return min(max(FEWEST_PEOPLE, int(np.ceil(share * size - SAME))), max(size // 2, 1))


def _at_top(run: ScoredSubjects, people: int) -> Floats:
    """1 for those among the first ``people``, a part of 1 for those tied at the border, else 0; [s]."""
    border = np.partition(run.score, -people)[-people]
    above, tied = run.score > border, run.score == border
    top: Floats = above + tied * ((people - above.sum()) / tied.sum())
    return top


def _by_unit(
    sides: Sequence[Sequence[ScoredSubjects]], share: float
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]:
    """How often each unit is at the top, first side minus second, its truth, and its stratum."""
    rows = [(k, run, sign) for sign, side in zip((1.0, -1.0), sides, strict=False) for k, run in enumerate(side)]
    subjects = np.unique(np.concatenate([run.subjects for _, run, _ in rows]), return_inverse=True)[1]
    truth = np.concatenate([run.truth for _, run, _ in rows])
    weights = np.concatenate([sign * _at_top(run, _people(run, share)) for _, run, sign in rows])
    size = int(subjects.max()) + 1
    member, other = (np.bincount(subjects[side], minlength=size) > 0 for side in (truth, ~truth))
    if (member & other).any():
        subjects = subjects + size * np.concatenate([np.full(len(run.truth), k) for k, run, _ in rows])
    _, first, unit = np.unique(subjects, return_index=True, return_inverse=True)
    strata = np.concatenate([run.labels for _, run, _ in rows])
    total: Floats = np.bincount(unit, weights).astype(np.float64)
    return total, truth[first], strata[first].astype(np.int64)


def _p_value(weights: Floats, truth: NDArray[np.bool_], strata: NDArray[np.int64]) -> float:
    """P(as much weight on members, if the truth is permuted within strata), by drawing permutations."""
    if not truth.any() or truth.all():
        return 1.0
    rng, drawn = np.random.default_rng(0), np.zeros(PERMUTATIONS)
    for rows in rows_of(strata):
        values, counts = np.unique(np.round(weights[rows], 9), return_counts=True)
        members = int(truth[rows].sum())
        drawn += rng.multivariate_hypergeometric(counts, members, PERMUTATIONS, method="marginals") @ values
    as_much = drawn >= np.round(weights, 9)[truth].sum() - SAME
    return float((1 + as_much.sum()) / (1 + PERMUTATIONS))

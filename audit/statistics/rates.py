"""True positives at a low false positive rate.

Rates are fractions, not percents. No threshold is interpolated, and a score tied with the threshold is not
flagged. A false positive rate is measured only where at least ten false positives make it up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from .finding import Finding
from .scored_subjects import Floats, ScoredSubjects, checked, checked_runs, columns_of, counts_of
from .variation import NOTHING, freedom_of, reach_of, share_interval, with_interval

FALSE_POSITIVES = 10  # fewer than these do not measure a rate
REPETITIONS = 5  # fewer than these are not pooled: their spread would be a guess
DRAWS = 20_000_000  # bootstrap weights drawn for one interval; of very many subjects fewer resamples
FEWEST_RESAMPLES = 200  # the spread of an estimate is known to 5 % then
CELLS = 2_000_000  # bootstrap weights held in memory at once
TIED = "tied scores"
BY_LOT = "equal scores put in a random order"
ROUNDING = 1e-9  # 0.07 * 100 non-members are 7, whatever the last bit says


def tpr_at_fpr(truth: ArrayLike, score: ArrayLike, fpr: float) -> float | None:
    """The share of members above the threshold of the largest achievable FPR <= ``fpr``.

    Nothing is interpolated, and a score tied with the threshold is not flagged: a member counts when at most
    a share ``fpr`` of the non-members scores as high. None when fpr * non-members < 10.
    """
    truth, score = checked(truth, score)
    return _flagged_share(truth, score, fpr) if _resolves(int((~truth).sum()), fpr) else None


def tpr_at_fpr_finding(
    runs: Sequence[ScoredSubjects], fpr: float, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Finding:
    """TPR@FPR over all runs. The target is the population TPR at the population threshold.

    Where each run has 10 / fpr non-members, it is the mean of the runs' own TPR@FPR. Where only all runs
    together have as many, and there are at least five, one threshold is taken over the non-members of all runs
    (the note says so: this threshold does not follow a run whose scores lie higher); each run then counts with
    its jackknife pseudo-value (the delete-a-group jackknife; Shao and Tu 1995, chapter 2). Otherwise the
    finding is not measurable.

    Interval: Bayesian bootstrap (Rubin 1981) with one exponential weight per subject, shared by all rows of the
    subject, weights normalised within members and within non-members, and the threshold chosen anew each time.
    Its covariance between runs enters the variance over seeds and subjects of `metrics` (so runs are clusters,
    and subjects that all runs share are not taken for new ones). A threshold that rests on some ten false positives
    is skewed, so each end is stretched to where the bootstrap's own quantile lies (`_stretch`). The interval is
    Clopper-Pearson's for the effective number of members (Korn and Graubard 1998), which is at most that of
    different ones: seeds with the same members all lack the few whom a release exposes, if these were not drawn.
    Each end holds at (1 + level) / 2 by itself. Heuristic: its coverage is measured by simulation
    (benchmarks/interval_coverage.py).
    """
    runs = checked_runs(runs)
    metric, counts = f"tpr@fpr={fpr:g}", counts_of([runs])
    numbers = [int((~run.truth).sum()) for run in runs]
    apart, together = _resolved(numbers, fpr)
    if not apart and not together:
        return Finding(metric, None, None, None, level, "none", "indicative", _needed(numbers, fpr), *counts)
    rng = np.random.default_rng(seed)
    mean, values, covariance, draws = (_one_by_one if apart else _together)(runs, fpr, resamples, rng)
    stretch, freedom = _stretch(draws, mean, level), freedom_of(runs)
    if runs[0].clusters is not None:  # quantiles of so few units are too near
        few = 1 + 1 / freedom  # so few units also hold too little of the spread, and of the false positives
        stretch = max(stretch[0], 1.0) * few, max(stretch[1], 1.0) * few
    reaches = [reach_of(values, covariance * s**2, freedom, level) for s in stretch]
    fewest = min(int(run.truth.sum()) for run in runs)
    low, high = (share_interval(mean, reach, fewest, level, counts[0]) for reach in reaches)
    interval = low[0], max(high[1], mean + reaches[1] * (mean == 0))
    method = "Bayesian bootstrap of subjects, runs by t, effective Clopper-Pearson"
    method += "" if apart else "; one threshold for all runs, jackknife by run"
    found = with_interval(metric, mean, interval, level=level, method=method, counts=counts)
    notes = (found.note, "" if apart else "scores pooled over runs", _tied(runs if apart else [pooled(runs)], fpr))
    return replace(found, validity="heuristic", note="; ".join(filter(None, notes)))


def rate_finding(runs: Sequence[ScoredSubjects], fpr: float, level: float = 0.95, resamples: int = 1000) -> Finding:
    """TPR@FPR as `tpr_at_fpr_finding` has it, or at random where ties leave no threshold near the FPR.

    With few different scores the largest FPR that can be had may be far below the one in question, or 0, and
    nobody flagged. That does not mean that the leak is small: an adversary may flag some of those with equal scores
    by lot, which gives every FPR. Here equal scores of all runs are put in one random order (the note says so).
    """
    runs = checked_runs(runs)
    numbers = [int((~run.truth).sum()) for run in runs]
    apart, together = _resolved(numbers, fpr)
    if not (apart or together) or not _tied(runs if apart else [pooled(runs)], fpr):
        return tpr_at_fpr_finding(runs, fpr, level, resamples)
    by_lot = tpr_at_fpr_finding(_by_lot(runs), fpr, level, resamples)
    return replace(by_lot, note="; ".join(filter(None, (by_lot.note, BY_LOT))))


def rate_of_run(run: ScoredSubjects, fpr: float) -> float | None:
    """`tpr_at_fpr` of one run, by lot where ties leave no threshold near the FPR."""
    if _resolves(int((~run.truth).sum()), fpr) and _tied([run], fpr):
        (run,) = _by_lot([run])
    return tpr_at_fpr(run.truth, run.score, fpr)


def _by_lot(runs: Sequence[ScoredSubjects]) -> list[ScoredSubjects]:
    """The runs with ranks in place of scores, equal ones in a random order that does not depend on the truth."""
    pool = np.concatenate([run.score for run in runs])
    rank = np.empty(len(pool))
    rank[np.lexsort((np.random.default_rng(0).permutation(len(pool)), pool))] = np.arange(len(pool))
    parts = np.split(rank, np.cumsum([len(run.score) for run in runs])[:-1])
    return [replace(run, score=part) for run, part in zip(runs, parts, strict=True)]


def _resolved(non_members: Sequence[int], fpr: float) -> tuple[bool, bool]:
    """Whether each run has enough non-members, and whether all runs together have."""
    together = _resolves(sum(non_members), fpr) and len(non_members) >= REPETITIONS
    return _resolves(min(non_members), fpr), together


def _resolves(non_members: int, fpr: float) -> bool:
    if not 0 < fpr < 1:
        raise ValueError(f"a false positive rate is a fraction between 0 and 1, not {fpr:g}")
    return fpr * non_members + ROUNDING >= FALSE_POSITIVES


def _needed(non_members: Sequence[int], fpr: float) -> str:
    needed, runs = int(np.ceil(FALSE_POSITIVES / fpr - 1e-6)), len(non_members)
    return (
        f"not measurable: it needs at least {needed} non-members in each run, or in {REPETITIONS} runs together, "
        f"and has {sum(non_members)} in {runs} run{'s' if runs > 1 else ''}"
    )


def pooled(runs: Sequence[ScoredSubjects]) -> ScoredSubjects:
    """Rows of all runs as those of one."""
    return replace(
        runs[0],
        subjects=np.concatenate([run.subjects for run in runs]),
        score=np.concatenate([run.score for run in runs]),
        truth=np.concatenate([run.truth for run in runs]),
        strata=None,
        clusters=None if runs[0].clusters is None else np.concatenate([run.units for run in runs]).astype(np.int64),
    )


def _one_by_one(
    runs: Sequence[ScoredSubjects], fpr: float, resamples: int, rng: np.random.Generator
) -> tuple[float, Floats, Floats, Floats]:
    """Mean TPR@FPR, that of each run, their covariance through their subjects, and draws [2, .] of the mean."""
    values = np.array([_flagged_share(run.truth, run.score, fpr) for run in runs])
    return float(values.mean()), values, *_covariance(runs, fpr, resamples, rng)


def _covariance(
    runs: Sequence[ScoredSubjects], fpr: float, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Covariance of the runs' TPR@FPR through their subjects, and draws of its mean, as `_reweighted_tpr` has them.

    Pairs of nodes are reweighted by the product of their ends' weights, which counts what each pair has of its
    own three times (a product of exponential weights has variance 3): twice that is taken off again.
    """
    drawn = _reweighted_tpr(runs, fpr, resamples, rng)
    alone, mean = np.atleast_2d(np.cov(drawn[1])), drawn.mean(1)
    if runs[0].nodes is None:
        return alone, mean
    shared = np.atleast_2d(np.cov(_reweighted_tpr(runs, fpr, resamples, rng, runs[0].nodes)[1])) - 2 * alone
    return shared if np.trace(shared) > np.trace(alone) else alone, mean


def _stretch(draws: Floats, mean: float, level: float) -> tuple[float, float]:
    """How far below and above the mean the quantiles of its ``draws`` lie, in units of a normal distribution's.

    The threshold lies between two non-members. The lower end (the first row) takes it at the upper one of them, the
    higher end at the lower one, as Clopper and Pearson do with a count.
    """
    unit = float(ndtri((1 + level) / 2) * draws[1].std(ddof=1))
    if unit < NOTHING:
        return 1.0, 1.0
    ends = mean - np.quantile(draws[0], (1 - level) / 2), np.quantile(draws[1], (1 + level) / 2) - mean
    below, above = (max(float(end), 0.0) / unit for end in ends)
    return below, above


def _together(
    runs: Sequence[ScoredSubjects], fpr: float, resamples: int, rng: np.random.Generator
) -> tuple[float, Floats, Floats, Floats]:
    """TPR at the FPR of all runs, pseudo-values of the runs, their covariance through their subjects, and draws.

    What runs share is what the variance of the pooled TPR has beyond that of subjects which are new in each
    run. (Bootstrapping the pseudo-values would magnify the jumps of the threshold by the number of runs.)
    """
    pool, count = pooled(runs), len(runs)
    left = (pooled([*runs[:k], *runs[k + 1 :]]) for k in range(count))  # one at a time: each is nearly all rows
    total, *without = (_flagged_share(part.truth, part.score, fpr) for part in chain((pool,), left))
    values = count * total - (count - 1) * np.array(without)
    columns = columns_of([run.units for run in runs])
    new = np.concatenate([column * count + k for k, column in enumerate(columns)])
    (together, draws), (single, _) = (
        _covariance([replace(pool, subjects=ids, nodes=nodes, clusters=None)], fpr, resamples, rng)
        for ids, nodes in ((pool.units, pool.nodes), (new, None))
    )
    shared, apart = float(together[0, 0]), float(single[0, 0])
    covariance = np.full((count, count), (shared - apart) * count / (count - 1))
    np.fill_diagonal(covariance, count * apart)
    return total, values, covariance, draws


def _flagged_share(truth: NDArray[np.bool_], score: Floats, fpr: float) -> float:
    rank, order = _above(truth, score)
    return float((rank <= fpr * len(order) + ROUNDING).mean())


def _above(truth: NDArray[np.bool_], score: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each member the number of non-members that score as high, and the non-members from the top down."""
    others = score[~truth]
    order = np.argsort(-others, kind="stable")
    return np.searchsorted(-others[order], -score[truth], side="right"), order


def _tied(runs: Sequence[ScoredSubjects], fpr: float) -> str:
    """What ties have done to the flags."""
    if all((run.score == run.score[0]).all() for run in runs):
        return f"{TIED}: all scores equal, nobody is flagged"
    achieved = float(np.mean([_achieved_fpr(run, fpr) for run in runs]))
    return f"{TIED}: achieved FPR only {achieved:.4g}" if achieved < 0.9 * fpr else ""


def _achieved_fpr(run: ScoredSubjects, fpr: float) -> float:
    """The largest achievable FPR <= ``fpr``: thresholds are the non-members' own scores."""
    others = np.sort(-run.score[~run.truth])
    above = np.searchsorted(others, others, side="left")
    return float(above[above <= fpr * len(others) + ROUNDING].max() / len(others))


def _reweighted_tpr(
    runs: Sequence[ScoredSubjects], fpr: float, resamples: int, rng: np.random.Generator, nodes: int | None = None
) -> Floats:
    """TPR@FPR [2, runs, resamples] under exponential weights of the subjects, or of ``nodes`` whose pairs they are.

    First with the threshold at the next non-member above it, then as it is.
    """
    where = columns_of([run.units for run in runs])
    subjects = 1 + max(int(p.max()) for p in where)
    resamples = min(resamples, max(FEWEST_RESAMPLES, DRAWS // subjects))
    out = np.empty((2, len(runs), resamples))
    step = max(1, CELLS // max(len(column) for column in where))
    pairs = np.unique(np.concatenate([run.subjects for run in runs])) if nodes is not None else np.empty(0)
    for start in range(0, resamples, step):
        weights = rng.standard_exponential((min(step, resamples - start), nodes or subjects))
        if nodes is not None:
            first, second = np.divmod(pairs, nodes)  # take is three times as fast as [:, .]
            weights = np.take(weights, first, axis=1) * np.take(weights, second, axis=1)
        for seed, (run, columns) in enumerate(zip(runs, where, strict=True)):
            out[:, seed, start : start + len(weights)] = _flagged_mass(run, columns, weights, fpr)
    return out


def _flagged_mass(run: ScoredSubjects, columns: NDArray[np.intp], weights: Floats, fpr: float) -> Floats:
    """The weighted share of members above the weighted threshold [2, w], for each row of ``weights`` [w, subjects].

    Above the next non-member from the threshold up, and above the threshold itself. Only the highest non-members
    are looked at, as many as hold more than ``fpr`` of the weight in every row.
    """
    rank, order = _above(run.truth, run.score)
    inside, outside = columns[run.truth], columns[~run.truth][order]
    total_in, total_out = (weights @ np.bincount(c, minlength=weights.shape[1]) for c in (inside, outside))
    top = min(len(outside), round(2 * fpr * len(outside)) + 50)
    while True:
        mass = np.cumsum(weights[:, outside[:top]], axis=1) / total_out[:, None]
        if top == len(outside) or (mass[:, -1] > fpr).all():
            break
        top = min(len(outside), 2 * top)
    near = rank <= top
    mass = np.pad(mass, ((0, 0), (1, 0)))
    own, place = weights[:, inside[near]], rank[near]
    after = np.minimum(place + 1, top)
    return np.stack([(own * (mass[:, at] <= fpr)).sum(1) / total_in for at in (after, place)])


VERTICES = 200  # of a thinned curve


@dataclass(frozen=True, eq=False)
class Roc:
    """A ROC curve over all runs: ``fpr`` and ``tpr``, both ascending [v], v <= 200, from (0, .) to (1, 1).

    Each vertex is a threshold that exists, with the highest TPR of its FPR. Draw them as steps (a TPR holds up
    to the next FPR): the thinned curve then never lies above the full one. What lies left of ``measurable``
    rests on fewer than ten false positives; it is above 1 where there are fewer than ten non-members.
    """

    fpr: Floats
    tpr: Floats
    measurable: float
    members: int
    non_members: int


def roc(runs: Sequence[ScoredSubjects]) -> Roc:
    """The ROC curve of the pooled scores of all runs, thinned for logarithmic axes.

    ``members`` and ``non_members`` count rows of all runs.
    """
    pool = pooled(checked_runs(runs))
    level = np.unique(-pool.score, return_inverse=True)[1]  # 0 is the highest score
    false, true = (np.cumsum(np.bincount(level[c], minlength=level.max() + 1)) for c in (~pool.truth, pool.truth))
    false, true = np.append(0, false), np.append(0, true)
    top = np.append(false[1:] > false[:-1], True)  # the highest TPR of each FPR
    false, true, others = false[top], true[top], int(false[-1])
    grid = np.union1d(np.geomspace(1, others, VERTICES // 2), np.linspace(0, others, VERTICES // 2 - 1))
    kept = np.unique(np.searchsorted(false, grid + ROUNDING, side="right") - 1)
    return Roc(false[kept] / others, true[kept] / true[-1], FALSE_POSITIVES / others, int(true[-1]), others)

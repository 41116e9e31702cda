"""Attack metrics with intervals over seeds and subjects: the AUC and its differences, and accuracies.

Where something public tells members from others, subjects are compared within strata of it: the AUC is then the
mean over members of the share of non-members of their own stratum whom they beat (Janes and Pepe, Biometrika 2009:
the covariate-adjusted AUC), and a score that repeats what is public has 0.5. How intervals are made: `variation`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit

from .finding import Finding
from .scored_subjects import Floats, Ints, ScoredSubjects, checked, checked_runs, counts_of, rows_of
from .variation import (
    NOTHING,
    ONE_SEED,
    Components,
    kish,
    noted,
    reach_of,
    share_interval,
    spread,
    with_interval,
)

FEW_ERRORS = 5.0  # fewer effective errors than this: no normal approximation
FEW_CARRIERS = 8.0  # fewer effective subjects that differ than this: others like them may be missing
RARE = 0.1  # a share of seeds that a few seeds easily miss
MISSED = 0.05  # how often they may


def auc(truth: ArrayLike, score: ArrayLike) -> float:
    """P(score of a member > score of a non-member), ties counting half (midranks)."""
    return float(_placed(*checked(truth, score))[0].mean())


def auc_finding(runs: Sequence[ScoredSubjects], level: float = 0.95) -> Finding:
    """Mean AUC over seeds.

    DeLong structural components per run (DeLong et al., Biometrics 1988), combined per subject over the runs;
    variance over seeds and subjects by `variation`; Student t on the logit scale. Where few subjects of a class
    carry the errors (nearly perfect separation), a sample in which they happen to be fewer or slighter looks surer
    than it is: of n effective carriers the end away from perfection lies sqrt(1 + (8 / n)^2) times as far (a factor
    chosen by simulation; 1.01 with 60 carriers), but no farther than that of a proportion with min(members,
    non-members) trials. Where these are fewer than five, or nothing varies, the interval includes that of the
    proportion, so it is never a point. Runs with strata: the AUC within these; without anybody to be compared
    within them it is not measurable.
    """
    return logit_finding("auc", runs, _placements, level, "DeLong over subjects and seeds, logit t")


def auc_of_run(run: ScoredSubjects) -> float | None:
    """The AUC of one run, within its strata; None where nobody can be compared."""
    kept = run.compared()
    return float(_placements(kept)[0].mean()) if len(kept.score) else None


def auc_difference(
    runs: Sequence[ScoredSubjects],
    others: Sequence[ScoredSubjects],
    level: float = 0.95,
    metric: str = "auc difference",
) -> Finding:
    """Mean over seeds of AUC(runs[k]) - AUC(others[k]): attack minus blind baseline, or two defenses.

    Paired by seed (the order of the two sequences) and by subject id: the DeLong components of a subject are
    subtracted before they are squared. Student t interval, cut at -1 and 1. Near 1, where AUCs are skewed, an end
    lies where the two AUCs' own logit intervals put it, if that is farther (Zou and Donner, Statistics in Medicine
    2008, with the correlation that the paired variance implies). Where few subjects differ, others like them may
    be missing from the sample: a difference that as many subjects could have hidden, 1 - (alpha/2)^(1/n) of the
    range, is added in quadrature, in full where fewer than eight (Kish's effective number) differ, else in
    proportion. It is all that there is when no subject differs. Each end holds at (1 + level) / 2 by itself.
    """
    if len(runs) != len(others):
        raise ValueError(f"paired by seed: {len(runs)} runs beside {len(others)}")
    sides = [_compared(checked_runs(side)) for side in (runs, others)]
    if not all(map(_comparable, sides)):
        return _nobody(metric, level, [runs])
    estimates, reach, counts, design = spread(sides, _placements, level)
    mean, hidden = float(estimates.mean()), _hidden(sides, level)
    down, up = (float(np.hypot(max(reach, end), hidden)) for end in _logit_reaches(sides, reach, level))
    interval = (max(-1.0, mean - down), min(1.0, mean + up))
    method = "paired DeLong over subjects and seeds, t, logit and few-carriers guard"
    return noted(with_interval(metric, mean, interval, level=level, method=method, counts=counts), design)


def accuracy_finding(values: Sequence[float], subjects: int, level: float = 0.95) -> Finding:
    """Mean of the accuracies that several seeds reach on the same ``subjects`` test nodes.

    B / S + p (1 - p) / subjects: without the single answers the covariance between seeds is unknown, and the
    binomial variance is its upper bound (reached when the seeds fail on the same nodes). Conservative, then;
    one seed gives Clopper and Pearson's interval.
    """
    estimates = np.asarray(values, dtype=float)
    if estimates.ndim != 1 or not len(estimates) or not np.all((estimates >= 0) & (estimates <= 1)):
        raise ValueError("accuracies must be a non-empty sequence of numbers between 0 and 1")
    if subjects < 1:
        raise ValueError(f"accuracy needs at least one test subject, not {subjects}")
    mean = float(estimates.mean())
    covariance = np.full((len(estimates),) * 2, mean * (1 - mean) / subjects)
    interval = share_interval(mean, reach_of(estimates, covariance, np.inf, level), subjects, level)
    counts = (0, 0, len(estimates))
    method = "seed variance plus binomial bound, effective Clopper-Pearson"
    found = with_interval("accuracy", mean, interval, level=level, method=method, counts=counts)
    return replace(found, validity="valid")


def mean_difference(
    a: Sequence[float],
    b: Sequence[float],
    level: float = 0.95,
    metric: str = "mean difference",
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Finding:
    """Mean of a - b, paired by seed: Student t over seeds, cut at ``limits``, beyond which no difference can lie.

    It does not cover the choice of subjects, and takes the seeds to differ normally: what a few seeds have not
    shown, it cannot know. Where one seed in ten is far off, three seeds hold no such seed in 73 % of cases. An
    interval that held there too would be of little use: by `comparison`, three seeds that agree do not even
    exclude a mean of 0. So this one is indicative, however many seeds there are, and its note says what they may
    have missed.
    """
    if len(a) != len(b) or not len(a):
        raise ValueError(f"paired by seed: {len(a)} values beside {len(b)}")
    change = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    if not np.all(np.isfinite(change)):
        raise ValueError("values must be finite numbers")
    mean, seeds = float(change.mean()), len(change)
    if seeds == 1:
        return Finding(metric, mean, None, None, level, "none", "indicative", f"{ONE_SEED}, no interval")
    step = float(stdtrit(seeds - 1, (1 + level) / 2) * change.std(ddof=1) / np.sqrt(seeds))
    low, high = max(limits[0], mean - step), min(limits[1], mean + step)
    note = f"over seeds, not over subjects; {takes_seeds_for_normal(seeds)}"
    return Finding(metric, mean, low, high, level, "paired t over seeds", "indicative", note, seeds=seeds)


def takes_seeds_for_normal(seeds: int) -> str:
    """What an interval over so many seeds rests on, how often they cannot show it to be wrong, and how many can."""
    missed = f"{100 * (1 - RARE) ** seeds:.0f} %"
    told = f"takes seeds to differ normally: {seeds} seeds miss one in {1 / RARE:.0f} that is far off in {missed}"
    enough = int(np.ceil(np.log(MISSED) / np.log(1 - RARE)))
    return f"{told} of cases" + (f", {enough} in {100 * MISSED:.0f} %" if seeds < enough else "")


def _fewest(runs: Iterable[ScoredSubjects]) -> int:
    return min(int(min(run.truth.sum(), (~run.truth).sum())) for run in runs)


def _compared(runs: Sequence[ScoredSubjects]) -> list[ScoredSubjects]:
    return [run.compared() for run in runs]


def _comparable(runs: Sequence[ScoredSubjects]) -> bool:
    return all(len(run.score) for run in runs)


def _nobody(metric: str, level: float, sides: Sequence[Sequence[ScoredSubjects]]) -> Finding:
    note = "not measurable: no member shares what is public of it with a non-member"
    return Finding(metric, None, None, None, level, "none", "indicative", note, *counts_of(sides))


def _placements(run: ScoredSubjects) -> tuple[Floats, Floats]:
    """DeLong's components of a run all of whose strata have members and non-members, each with mean AUC.

    Within strata the AUC is sum_c m_c / M AUC_c, with m_c of M members in stratum c: what a non-member adds is
    weighted accordingly, and varies about the AUC of its own stratum, whose size is given.
    """
    if run.strata is None:
        return _placed(run.truth, run.score)
    (members, inside), (others, outside) = _within(run)
    mean, size = float(inside.mean()), len(outside)
    moved = np.empty(size)
    for stratum in np.unique(members):
        mine, theirs = members == stratum, others == stratum
        count = int(theirs.sum())
        rare = np.sqrt(count / max(count - 1, 1) * max(size - 1, 1) / size)  # the stratum's own n / (n - 1)
        moved[theirs] = mine.mean() * size / count * rare * (outside[theirs] - outside[theirs].mean())
    return inside, mean + moved


def _within(run: ScoredSubjects) -> tuple[tuple[Ints, Floats], tuple[Ints, Floats]]:
    """Strata and components, within the strata, of members and of non-members."""
    strata = run.labels
    placed = np.empty(len(run.score))
    for rows in rows_of(strata):
        truth = run.truth[rows]
        placed[rows[truth]], placed[rows[~truth]] = _placed(truth, run.score[rows])
    return (strata[run.truth], placed[run.truth]), (strata[~run.truth], placed[~run.truth])


def _placed(truth: NDArray[np.bool_], score: Floats) -> tuple[Floats, Floats]:
    """DeLong's components: the share of the other class beaten by each member, beating each non-member."""
    members, others = score[truth], score[~truth]
    return _above(others, members) / len(others), 1 - _above(members, others) / len(members)


def _above(lower: Floats, values: Floats) -> Floats:
    """How many of ``lower`` each value is above, ties counting half."""
    ordered = np.sort(lower)
    counts: Floats = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2
    return counts


def _carriers(runs: Sequence[ScoredSubjects]) -> float:
    """How many subjects carry the errors, or differ from the others at all: few of them say little of a spread.

    Kish's effective number per class, mean over the runs. Where nearly all scores are tied a sample may hold none
    of the few subjects that are not, and its variance then says nothing.
    """
    parts = [tuple(part for _, part in _within(run)) for run in runs]
    upper = np.mean([part[0].mean() for part in parts]) > 0.5
    losses = [[1 - part[kind] if upper else part[kind] for part in parts] for kind in (0, 1)]
    apart = [[np.abs(part[kind] - _commonest(part[kind])) for part in parts] for kind in (0, 1)]
    return min(float(np.mean([kish(x) for x in kind])) for kind in losses + apart)


def _logit_reaches(sides: Sequence[Sequence[ScoredSubjects]], reach: float, level: float) -> tuple[float, float]:
    """How far below and above a difference of AUCs its ends lie by the logit intervals of both."""
    ends, reaches = [], []
    for runs in sides:
        estimates, alone = spread([runs], _placements, level)[:2]
        mean = float(estimates.mean())
        if min(alone, reach) < NOTHING or not 0 < mean < 1:
            return reach, reach
        step = alone / (mean * (1 - mean))
        ends.append([abs(float(expit(logit(mean) + sign * step)) - mean) for sign in (-1, 1)])
        reaches.append(alone)
    likeness = np.clip((reaches[0] ** 2 + reaches[1] ** 2 - reach**2) / (2 * reaches[0] * reaches[1]), -1, 1)
    (down, up), (other_down, other_up) = ends
    pairs = (down, other_up), (up, other_down)
    low, high = (float(np.sqrt(max(a * a + b * b - 2 * likeness * a * b, 0.0))) for a, b in pairs)
    return low, high


def _hidden(sides: Sequence[Sequence[ScoredSubjects]], level: float) -> float:
    """How much subjects that differ, and are too few to be in the sample, may move a difference of AUCs."""
    pairs = [tuple(map(_placements, pair)) for pair in zip(*map(_by_subject, sides), strict=True)]
    moved = []
    for kind in (0, 1):
        size = min(len(side[kind]) for pair in pairs for side in pair)
        apart = [first[kind][:size] - second[kind][:size] for first, second in pairs]
        several = float(np.mean([kish(np.abs(part - _commonest(part))) for part in apart]))
        largest = max(_range(side[kind]) for pair in pairs for side in pair)
        missed = 1 - ((1 - level) / 2) ** (1 / size)
        moved.append(min(1.0, FEW_CARRIERS / max(several, NOTHING)) * largest * missed)
    return float(max(moved))


def _by_subject(runs: Sequence[ScoredSubjects]) -> list[ScoredSubjects]:
    """The rows in the order of the subjects, so that those of two sides stand beside each other."""
    return [run.where(np.argsort(run.subjects, kind="stable")) for run in runs]


def _range(placed: Floats) -> float:
    """How far a placement may lie from the commonest, if most are that; else 1."""
    common = _commonest(placed)
    return max(common, 1 - common) if (placed == common).mean() > 0.5 else 1.0


def _commonest(values: Floats) -> float:
    """The value that most of them have."""
    different, counts = np.unique(values, return_counts=True)
    return float(different[counts.argmax()])


def logit_finding(
    metric: str, runs: Sequence[ScoredSubjects], components: Components, level: float, method: str
) -> Finding:
    """Mean over seeds of a number between 0 and 1, with Student's t interval on the logit scale."""
    runs = checked_runs(runs)
    runs = _compared(runs) if components is _placements else [run.plainly() for run in runs]
    if not _comparable(runs):
        return _nobody(metric, level, [runs])
    estimates, reach, counts, design = spread([runs], components, level)
    mean, carriers = float(estimates.mean()), _carriers(runs)
    low, high = _logit_ends(mean, reach)
    exact = share_interval(mean, 0.0, _fewest(runs), level)
    wide = min(low, exact[0]), max(high, exact[1])
    if reach < NOTHING or carriers < FEW_ERRORS:
        low, high = wide
    elif components is _placements:  # one end moves out, as far as the proportion's at most
        far = _logit_ends(mean, reach * float(np.hypot(1, FEW_CARRIERS / carriers)))
        low, high = (max(far[0], wide[0]), high) if mean > 0.5 else (low, min(far[1], wide[1]))
    return noted(with_interval(metric, mean, (low, high), level=level, method=method, counts=counts), design)


def _logit_ends(mean: float, reach: float) -> tuple[float, float]:
    """The ends of an interval that is symmetric on the logit scale; (1, 0) for a mean of 0 or 1, which has none."""
    if not 0 < mean < 1:
        return 1.0, 0.0
    step = reach / (mean * (1 - mean))
    return float(expit(logit(mean) - step)), float(expit(logit(mean) + step))

"""Attack metrics with intervals over seeds *and* subjects.

The runs of several seeds often judge the same subjects, so averaging over seeds does not average the subjects
away. The variance is that of Obuchowski and Rockette (1995) for one modality, with the seed in the place of
the reader and the subject in the place of the case:

    Var(mean over S seeds) = B / S + c,

B being the sample variance of the per-seed values and c the mean covariance, through their subjects, of two
different seeds (cut off at 0). With the same subjects in every seed, c carries the subjects and B the
training. With different subjects, c is 0 and B already contains the subject noise: nothing is counted twice
or left out. Each part gets its own Student quantile (Cochran's rule for two variances; Satterthwaite's pooled
degrees of freedom covered only 87 % at 2 seeds), and the interval is never narrower than that of the subjects
alone, which is also all that one seed can offer. The price: where seeds hardly differ, a 95 % interval covers 99 %
at 2 seeds and 96 to 98 % at 5; with one seed, or seeds that differ, it covers 94 to 97 %
(benchmarks/interval_coverage.py).

Assumptions: subjects are independent of each other and seeds are independent draws. Neighbouring nodes are
not quite independent; the intervals do not know about edges. Where subjects are pairs of nodes, two pairs that
share a node are not taken for independent: their covariance is summed node by node (Aronow, Samii and Assenova,
Political Analysis 2015, dyadic cluster-robust variance), and never taken to be less than that of independent pairs.
Where members come in clusters, whole clients or communities, the same is done cluster by cluster (Obuchowski,
Biometrics 1997), with degrees of freedom of clusters.

Where something public tells members from others, subjects are compared within strata of it: the AUC is then the
mean over members of the share of non-members of their own stratum whom they beat (Janes and Pepe, Biometrika 2009:
the covariate-adjusted AUC), and a score that repeats what is public has 0.5.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, expit, logit, ndtri, stdtrit

from .finding import Finding
from .scored_subjects import (
    Counts,
    Floats,
    Ints,
    ScoredSubjects,
    checked,
    checked_runs,
    columns_of,
    counts_of,
    rows_of,
)

Components: TypeAlias = Callable[[ScoredSubjects], tuple[Floats, Floats]]  # members', non-members'

ONE_SEED = "one seed: training randomness not covered"
FEW_ERRORS = 5.0  # fewer effective errors than this: no normal approximation
FEW_CARRIERS = 8.0  # fewer effective subjects that differ than this: others like them may be missing
NOTHING = 1e-12  # an interval shorter than this comes from no variation at all
RARE = 0.1  # a share of seeds that a few seeds easily miss
MISSED = 0.05  # how often they may
FEW_SUBJECTS = 20  # fewer members or non-members than this: "indicative"
FEW_AT_TOP = 16.0  # the same of members whose precision is above the median, for average precision
SHORT = 1.25  # times as far as the jackknife reaches upwards lies the upper end of average precision
FEW_FOR_PRECISION = 50  # the same for average precision, of members


def auc(truth: ArrayLike, score: ArrayLike) -> float:
    """P(score of a member > score of a non-member), ties counting half (midranks)."""
    return float(_placed(*checked(truth, score))[0].mean())


def auc_finding(runs: Sequence[ScoredSubjects], level: float = 0.95) -> Finding:
    """Mean AUC over seeds.

    DeLong structural components per run (DeLong et al., Biometrics 1988), combined per subject over the runs;
    variance over seeds and subjects as above; Student t on the logit scale. Where few subjects of a class carry
    the errors (nearly perfect separation), a sample in which they happen to be fewer or slighter looks surer than
    it is: of n effective carriers the end away from perfection lies sqrt(1 + (8 / n)^2) times as far (a factor
    chosen by simulation; 1.01 with 60 carriers), but no farther than that of a proportion with min(members,
    non-members) trials. Where these are fewer than five, or nothing varies, the interval includes that of the
    proportion, so it is never a point. Runs with strata: the AUC within these; without anybody to be compared
    within them it is not measurable.
    """
    return _logit_finding("auc", runs, _placements, level, "DeLong over subjects and seeds, logit t")


def auc_of_run(run: ScoredSubjects) -> float | None:
    """The AUC of one run, within its strata; None where nobody can be compared."""
    kept = run.compared()
    return float(_placements(kept)[0].mean()) if len(kept.score) else None


def average_precision(truth: ArrayLike, score: ArrayLike) -> float:
    """The mean over members of the precision among all who score at least as high as the member.

    Nothing is interpolated and tied scores are taken together, whatever the order of the rows. It depends on
    the share of members: constant scores give exactly that share, and untied guesses a little more (with 140
    members among 1140: 0.128 instead of 0.123).
    """
    labels, values = checked(truth, score)
    return float(_precisions(ScoredSubjects(np.arange(len(labels)), values, labels))[0].mean())


def average_precision_finding(runs: Sequence[ScoredSubjects], level: float = 0.95) -> Finding:
    """Mean average precision over seeds, at each run's own share of members.

    The target is what samples of this size give on average: average precision counts a member among those
    that score as high as itself, so it lies a little above its limit for infinitely many subjects.

    Infinitesimal jackknife per run (each subject's derivative; Efron 1982, chapter 6), combined per subject over
    the runs and turned into an interval as for the AUC. A few members at the top make up most of it, and a sample
    that lacks them looks both lower and surer than it is: so the upper end also allows for members at the very top
    whom a sample of this size would not hold, as `auc_difference` does (in full where fewer than 16 effective
    members lie above the median precision, else in proportion; chosen by simulation). Where scores tie, or pairs
    share nodes that have effects of their own, the jackknife itself reaches too short upwards (6 to 7 % of misses
    instead of 2.5 %): that reach is lengthened by a quarter. Heuristic: its coverage is measured
    (benchmarks/interval_coverage.py); fewer than 50 members are called indicative.
    """
    method = "infinitesimal jackknife over subjects and seeds, logit t"
    found = _logit_finding("average precision", runs, _precisions, level, method)
    share = float(np.mean([_prevalence(run) for run in runs]))
    prior = f"{100 * share:.3g} % of those asked are members"
    validity = "indicative" if found.validity != "valid" or found.members < FEW_FOR_PRECISION else "heuristic"
    mean, high = float(found.estimate or 0.0), float(found.high or 0.0)
    high = min(1.0, mean + float(np.hypot(SHORT * (high - mean), _unseen_at_top(checked_runs(runs), mean, level))))
    return replace(found, high=high, validity=validity, note="; ".join(filter(None, (prior, found.note))))


def _unseen_at_top(runs: Sequence[ScoredSubjects], mean: float, level: float) -> float:
    """How much members at the very top, who are too few to be in the sample, may add to average precision."""
    members = np.unique(np.concatenate([run.units[run.truth] for run in runs]))
    several = float(np.mean([_kish(_precise_units(run)) for run in runs]))
    missed = 1 - ((1 - level) / 2) ** (1 / len(members))
    return float(min(1.0, FEW_AT_TOP / max(several, NOTHING)) * missed * (1 - mean))


def _precise_units(run: ScoredSubjects) -> Floats:
    """How far members' precision lies above its median, summed over each member or cluster of members."""
    part = _precise(run)[0]
    units = np.unique(run.units[run.truth], return_inverse=True)[1]
    above: Floats = np.bincount(units, np.maximum(part - np.median(part), 0.0)).astype(np.float64)
    return above


def _prevalence(run: ScoredSubjects) -> float:
    """The share of members among all that the subjects stand for."""
    members = int(run.truth.sum())
    return members / (members + run.sampling_weight * (len(run.truth) - members))


def precision_at_members(run: ScoredSubjects) -> float:
    """Precision of as many guesses as there are members, the highest scores first; ties by their expectation.

    Each non-member counts as many times as it stands for.
    """
    truth, each = run.truth, run.sampling_weight
    level = np.unique(-run.score, return_inverse=True)[1]
    own = np.bincount(level[truth], minlength=level.max() + 1)
    mass = own + each * np.bincount(level[~truth], minlength=len(own))
    total, before = int(truth.sum()), np.cumsum(mass) - mass
    taken = np.clip((total - before) / np.maximum(mass, NOTHING), 0, 1)  # the last level is guessed in part
    return float((taken * own).sum() / total)


def precision_finding(runs: Sequence[ScoredSubjects], level: float = 0.95) -> Finding:
    """Mean over seeds of `precision_at_members`; interval as for an accuracy with as many trials as members."""
    runs = checked_runs(runs)
    counts = counts_of([runs])
    found = accuracy_finding(
        [precision_at_members(run) for run in runs], min(int(r.truth.sum()) for r in runs), level
    )
    note = f"{100 * float(np.mean([_prevalence(run) for run in runs])):.3g} % of all pairs are edges"
    return replace(
        found,
        metric="precision at as many guesses as edges",
        validity="heuristic",
        note="; ".join(filter(None, (note, found.note))),
        members=counts[0],
        non_members=counts[1],
    )


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
    estimates, reach, counts, design = _spread(sides, _placements, level)
    mean, hidden = float(estimates.mean()), _hidden(sides, level)
    down, up = (float(np.hypot(max(reach, end), hidden)) for end in _logit_reaches(sides, reach, level))
    interval = (max(-1.0, mean - down), min(1.0, mean + up))
    method = "paired DeLong over subjects and seeds, t, logit and few-carriers guard"
    return _noted(with_interval(metric, mean, interval, level=level, method=method, counts=counts), design)


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


def _precisions(run: ScoredSubjects) -> tuple[Floats, Floats]:
    """The derivatives of average precision by the weight of each member and of each non-member.

    Times the number of the class, and shifted so that the members' mean is average precision itself.
    """
    truth, each = run.truth, run.sampling_weight
    precision, level, true, false = _precise(run)
    slope = np.diff(true, prepend=0) / (true + false) ** 2
    # a subject counts at its own score and at all below
    gain, loss = (np.cumsum((slope * part)[::-1])[::-1] for part in (false, true))
    gained = gain[level[truth]]
    return precision + gained - gained.mean(), -each * loss[level[~truth]] * len(level[~truth]) / len(gained)


def _precise(run: ScoredSubjects) -> tuple[Floats, Ints, Floats, Floats]:
    """Members' precision; the place of each row's score, 0 the highest; members and others down to each place."""
    level: Ints = np.unique(-run.score, return_inverse=True)[1].astype(np.int64)
    places = int(level.max()) + 1
    true, false = (np.cumsum(np.bincount(level[c], minlength=places)) for c in (run.truth, ~run.truth))
    hits, others = true.astype(np.float64), run.sampling_weight * false.astype(np.float64)
    precision: Floats = (hits / (hits + others))[level[run.truth]]
    return precision, level, hits, others


def _carriers(runs: Sequence[ScoredSubjects]) -> float:
    """How many subjects carry the errors, or differ from the others at all: few of them say little of a spread.

    Kish's effective number per class, mean over the runs. Where nearly all scores are tied a sample may hold none
    of the few subjects that are not, and its variance then says nothing.
    """
    parts = [tuple(part for _, part in _within(run)) for run in runs]
    upper = np.mean([part[0].mean() for part in parts]) > 0.5
    losses = [[1 - part[kind] if upper else part[kind] for part in parts] for kind in (0, 1)]
    apart = [[np.abs(part[kind] - _commonest(part[kind])) for part in parts] for kind in (0, 1)]
    return min(float(np.mean([_kish(x) for x in kind])) for kind in losses + apart)


def _logit_reaches(sides: Sequence[Sequence[ScoredSubjects]], reach: float, level: float) -> tuple[float, float]:
    """How far below and above a difference of AUCs its ends lie by the logit intervals of both."""
    ends, reaches = [], []
    for runs in sides:
        estimates, alone = _spread([runs], _placements, level)[:2]
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
        several = float(np.mean([_kish(np.abs(part - _commonest(part))) for part in apart]))
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


def _kish(values: Floats) -> float:
    """Kish's effective number of values that are not 0."""
    return float(values.sum() ** 2 / max((values**2).sum(), NOTHING**2))


def _commonest(values: Floats) -> float:
    """The value that most of them have."""
    different, counts = np.unique(values, return_counts=True)
    return float(different[counts.argmax()])


def _logit_finding(
    metric: str, runs: Sequence[ScoredSubjects], components: Components, level: float, method: str
) -> Finding:
    """Mean over seeds of a number between 0 and 1, with Student's t interval on the logit scale."""
    runs = checked_runs(runs)
    runs = _compared(runs) if components is _placements else [run.plainly() for run in runs]
    if not _comparable(runs):
        return _nobody(metric, level, [runs])
    estimates, reach, counts, design = _spread([runs], components, level)
    mean, carriers = float(estimates.mean()), _carriers(runs)
    low, high = _logit_ends(mean, reach)
    exact = share_interval(mean, 0.0, _fewest(runs), level)
    wide = min(low, exact[0]), max(high, exact[1])
    if reach < NOTHING or carriers < FEW_ERRORS:
        low, high = wide
    elif components is _placements:  # one end moves out, as far as the proportion's at most
        far = _logit_ends(mean, reach * float(np.hypot(1, FEW_CARRIERS / carriers)))
        low, high = (max(far[0], wide[0]), high) if mean > 0.5 else (low, min(far[1], wide[1]))
    return _noted(with_interval(metric, mean, (low, high), level=level, method=method, counts=counts), design)


def _logit_ends(mean: float, reach: float) -> tuple[float, float]:
    """The ends of an interval that is symmetric on the logit scale; (1, 0) for a mean of 0 or 1, which has none."""
    if not 0 < mean < 1:
        return 1.0, 0.0
    step = reach / (mean * (1 - mean))
    return float(expit(logit(mean) - step)), float(expit(logit(mean) + step))


def _noted(found: Finding, design: float | None) -> Finding:
    """A finding that says what clusters have done to its interval."""
    if design is None:
        return found
    told = f"counted by cluster, design effect {design:.1f}"
    if np.isinf(design):
        told = "too few clusters: the interval takes people of one cluster for independent, and is too narrow"
        found = replace(found, validity="indicative")
    return replace(found, note="; ".join(filter(None, (found.note, told))))


def _spread(
    sides: Sequence[Sequence[ScoredSubjects]], components: Components, level: float
) -> tuple[Floats, float, Counts, float | None]:
    """Per-seed values (first side minus second), the half-width of their mean's t interval, the counts, and the
    design effect of clusters (None without any)."""
    where = columns_of([run.subjects for runs in sides for run in runs])
    influence = np.zeros((2, len(sides[0]), 1 + max(int(p.max()) for p in where)))  # class, seed, subject
    estimates = np.zeros(len(sides[0]))
    for sign, runs in zip((1, -1), sides, strict=False):
        for seed, run in enumerate(runs):
            columns, placed = where.pop(0), components(run)
            estimates[seed] += sign * placed[0].mean()
            for kind, (mask, part) in enumerate(zip((run.truth, ~run.truth), placed, strict=True)):
                scale = sign / np.sqrt(len(part) * max(len(part) - 1, 1))  # sqrt(n / (n - 1)) / n
                np.add.at(influence[kind, seed], columns[mask], scale * (part - part.mean()))
    counts = counts_of(sides)
    if sides[0][0].clusters is None:
        covariance, freedom = _through_subjects(influence, sides, counts)
        return estimates, reach_of(estimates, covariance, freedom, level), counts, None
    covariance, freedom, design = _through_clusters(influence, sides)
    return estimates, reach_of(estimates, covariance, freedom, level), counts, design


def _through_clusters(influence: Floats, sides: Sequence[Sequence[ScoredSubjects]]) -> tuple[Floats, float, float]:
    """Covariance [seeds, seeds] of the per-seed values through their clusters, its degrees of freedom, and the
    design effect: how many times the variance of independent subjects it is, and never less than that.

    The squares of G clusters' sums are too small by (G - 1) / G, G being Kish's number of clusters of a class.
    """
    runs = [run for side in sides for run in side]
    column = np.unique(np.concatenate([run.subjects for run in runs]), return_inverse=True)[1]
    cluster = np.zeros(influence.shape[2], dtype=np.intp)
    number = np.unique(np.concatenate([run.units for run in runs]), return_inverse=True)[1]
    cluster[column] = number
    truth = np.concatenate([run.truth for run in runs])
    sizes = [np.bincount(number[truth == kind]).astype(float) for kind in (True, False)]
    several = min(size.sum() ** 2 / (size**2).sum() for size in sizes)
    alone = influence.sum(0) @ influence.sum(0).T
    counts = [int((size > 0).sum()) for size in sizes]
    if min(counts) < 2:
        return alone, _freedom(influence.mean(1), counts_of(sides)), np.inf
    grouped = np.stack([[np.bincount(cluster, row, number.max() + 1) for row in kind] for kind in influence])
    both = grouped.sum(0)
    shared = both @ both.T * several / (several - 1)
    if np.trace(shared) <= np.trace(alone):
        return alone, _freedom(influence.mean(1), counts_of(sides)), 1.0
    return shared, _freedom(grouped.mean(1), counts), float(np.trace(shared) / max(np.trace(alone), NOTHING**2))


def _through_subjects(
    influence: Floats, sides: Sequence[Sequence[ScoredSubjects]], counts: Counts
) -> tuple[Floats, float]:
    """Covariance [seeds, seeds] of the per-seed values through their subjects, and its degrees of freedom.

    Args:
        influence: of each subject on each seed's value, [class, seed, subject].
        sides: the runs.
        counts: distinct members and non-members.
    """
    both, nodes = influence.sum(0), sides[0][0].nodes
    alone = both @ both.T
    if nodes is None:
        return alone, _freedom(influence.mean(1), counts)
    pairs = np.unique(np.concatenate([run.subjects for runs in sides for run in runs])).astype(np.int64)
    low, high = pairs // nodes, pairs % nodes
    by_node = np.array([np.bincount(low, row, nodes) + np.bincount(high, row, nodes) for row in both])
    shared = by_node @ by_node.T - alone  # the square of each pair is in both of its ends
    if np.trace(shared) <= np.trace(alone):
        return alone, _freedom(influence.mean(1), counts)
    touched = len(np.unique(np.concatenate([low, high])))
    return shared, _freedom(by_node.mean(0, keepdims=True), (touched,))


def freedom_of(runs: Sequence[ScoredSubjects]) -> float:
    """Degrees of freedom of a variance over clusters: those of the class that comes in fewer; inf without any."""
    if runs[0].clusters is None:
        return np.inf
    sides = ([run.units[run.truth == kind] for run in runs] for kind in (True, False))
    return max(float(min(len(np.unique(np.concatenate(side))) for side in sides) - 1), 1.0)


def _freedom(influence: Floats, counts: Sequence[int]) -> float:
    """Satterthwaite's degrees of freedom of the sum of squares of ``influence`` [class, subject].

    A variance of n values with kurtosis k has 2 n / (k - 1) of them, n - 1 at most: few when few subjects
    carry the errors.
    """
    loss, total = 0.0, float((influence**2).sum())
    for values, count in zip(influence, counts[: len(influence)], strict=True):
        square = float((values**2).sum()) ** 2
        loss += max(float((values**4).sum()) / 2 - square / (2 * count), square / max(count - 1, 1))
    return total**2 / loss if loss > 0 else np.inf


def reach_of(estimates: Floats, covariance: Floats, freedom: float, level: float) -> float:
    """Half-width of the interval of the mean over seeds.

    ``covariance`` [seeds, seeds] is that of the per-seed values through their subjects only, ``freedom`` its
    degrees of freedom.
    """
    seeds, step = len(estimates), float(stdtrit(freedom, (1 + level) / 2))
    alone = step**2 * float(covariance.mean())
    if seeds == 1:
        return float(np.sqrt(alone))
    shared = max(0.0, float(covariance.sum() - np.trace(covariance)) / (seeds * (seeds - 1)))
    between = float(stdtrit(seeds - 1, (1 + level) / 2)) ** 2 * float(estimates.var(ddof=1)) / seeds
    return float(np.sqrt(max(alone, between + step**2 * shared)))


def share_interval(
    share: float, reach: float, trials: int, level: float, most: float = np.inf
) -> tuple[float, float]:
    """Clopper and Pearson's interval with as many trials as a normal interval of half-width ``reach`` has.

    There are ``most`` of them at most: seeds that ask the same people agree on who is not there either.
    """
    tail, size = (1 - level) / 2, float(trials)
    if 0 < share < 1 and reach > NOTHING:
        size = min(share * (1 - share) * (ndtri(tail) / reach) ** 2, most)
    hits = share * size
    low = float(betaincinv(hits, size - hits + 1, tail)) if share > 0 else 0.0
    high = float(betainccinv(hits + 1, size - hits, tail)) if share < 1 else 1.0
    return low, high


def with_interval(
    metric: str, estimate: float, interval: tuple[float, float], *, level: float, method: str, counts: Counts
) -> Finding:
    """A finding that says where its interval ends: one seed, or too few subjects."""
    low, high = map(float, interval)
    validity = "valid" if min(counts[:2]) >= FEW_SUBJECTS else "indicative"
    note = ONE_SEED if counts[2] == 1 else ""
    return Finding(metric, estimate, low, high, level, method, validity, note, *counts)

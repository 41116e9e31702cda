"""How far a mean over seeds may lie from what other seeds *and* other subjects would give.

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
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri, stdtrit

from .finding import Finding
from .scored_subjects import Counts, Floats, ScoredSubjects, columns_of, counts_of

Components: TypeAlias = Callable[[ScoredSubjects], tuple[Floats, Floats]]  # members', non-members'

ONE_SEED = "one seed: training randomness not covered"
NOTHING = 1e-12  # an interval shorter than this comes from no variation at all
FEW_SUBJECTS = 20  # fewer members or non-members than this: "indicative"


def spread(
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
    touched, ends = np.unique(np.stack([pairs // nodes, pairs % nodes]), return_inverse=True)
    low, high = ends.reshape(2, -1)
    by_node = np.array([sum(np.bincount(end, row, len(touched)) for end in (low, high)) for row in both])
    shared = by_node @ by_node.T - alone  # the square of each pair is in both of its ends
    if np.trace(shared) <= np.trace(alone):
        return alone, _freedom(influence.mean(1), counts)
    return shared, _freedom(by_node.mean(0, keepdims=True), (len(touched),))


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


def noted(found: Finding, design: float | None) -> Finding:
    """A finding that says what clusters have done to its interval."""
    if design is None:
        return found
    told = f"counted by cluster, design effect {design:.1f}"
    if np.isinf(design):
        told = "too few clusters: the interval takes people of one cluster for independent, and is too narrow"
        found = replace(found, validity="indicative")
    return replace(found, note="; ".join(filter(None, (found.note, told))))


def kish(values: Floats) -> float:
    """Kish's effective number of values that are not 0."""
    return float(values.sum() ** 2 / max((values**2).sum(), NOTHING**2))

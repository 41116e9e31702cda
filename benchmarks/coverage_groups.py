"""Coverage where subjects are grouped: clusters, strata, small groups, pairs of nodes; and at very low rates."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from coverage_rows import Row, ends_of
from coverage_worlds import CLASSES, CLUSTERS, FEW_CLASSES, World, by_class, in_communities
from scipy.stats import norm

from gaudit.audit.statistics.average_precision import average_precision_finding
from gaudit.audit.statistics.balanced_accuracy import balanced_accuracy_finding
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.metrics import auc_difference, auc_finding
from gaudit.audit.statistics.rates import rate_finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.vulnerability import by_group

RESAMPLES = 200  # of the bootstrap: an audit has 1000
ONE_SIDED = 0.9
AUC, BEYOND, PRECISION = "AUC", "AUC beyond a baseline", "average precision"
LEVELS_REST_ON = "ratio that levels rest on, each end"

Runs = Sequence[ScoredSubjects]
Drawn = Mapping[str, tuple[Finding, float]]
LOW = (
    World("500 beside 10000, nothing leaks", 500, 10_000, shift=0.0),
    World("500 beside 10000", 500, 10_000),
    World("500 beside 10000, strong", 500, 10_000, shift=2.5),
    World("500 beside 10000, ties", 500, 10_000, ties=0.5),
    World("500 beside 10000, few exposed", 500, 10_000, shift=0.0, exposed=0.02),
    World("500 beside 10000, three seeds", 500, 10_000, 3, drift=0.3),
    World("five seeds, new people, 140 beside 2000", 140, 2000, 5, drift=0.3, subjects="fresh"),
    World("five seeds, same people, 140 beside 2000", 140, 2000, 5, drift=0.3),
)
"""Worlds in which a false-positive rate of 0.1 % can be measured."""


def _rows(draw: Callable[[], Drawn], world: str, draws: int, level: Callable[[str], float]) -> Iterator[Row]:
    """Findings by measure with their truths, drawn so many times; NaN is the mean of the estimates."""
    found: dict[str, list[tuple[Finding, float]]] = {}
    for _ in range(draws):
        for name, (made, truth) in draw().items():
            if made.low is not None or made.high is not None:
                found.setdefault(name, []).append((made, truth))
    for name, made in found.items():
        ends = np.array([(*ends_of(finding), truth) for finding, truth in made])
        middle = float(np.mean([finding.estimate for finding, _ in made]))
        ends[:, 2] = np.where(np.isnan(ends[:, 2]), middle, ends[:, 2])
        yield Row(name, world, level(name), 2, ends)


def _level(name: str) -> float:
    return ONE_SIDED if name.startswith("ratio") else 0.95


def _seeds(count: int) -> str:
    return f"{count} seed{'s' if count > 1 else ''}"


def _low_rate(runs: Runs, truth: float) -> Drawn:
    return {
        "TPR at 0.1 % FPR": (rate_finding(runs, 0.001, resamples=RESAMPLES), truth),
        "ratio at 0.1 %, each end": (rate_finding(runs, 0.001, ONE_SIDED, RESAMPLES), truth),
    }


def of_low_rates(draws: int) -> Iterator[Row]:
    """TPR at 0.1 % FPR, where there are ten false positives to measure it by."""
    rng = np.random.default_rng(10)
    for world in LOW:
        truth = world.population().tpr(0.001)
        yield from _rows(lambda w=world, t=truth: _low_rate(w.sample(rng)[0], t), world.name, draws, _level)


def _of_communities(rng: np.random.Generator, groups: int, size: int, seeds: int) -> Drawn:
    runs = in_communities(rng, groups, size, seeds)
    noise = [replace(run, score=rng.normal(size=len(run.score))) for run in runs]
    near = [replace(run, score=run.score + rng.normal(size=len(run.score))) for run in runs]
    return {
        AUC: (auc_finding(runs), 0.5),
        BEYOND: (auc_difference(runs, noise), 0.0),
        "AUC beyond a baseline that is like it": (auc_difference(runs, near), 0.0),
        "TPR at 5 % FPR": (rate_finding(runs, 0.05, resamples=RESAMPLES), 0.05),
        "TPR at 1 % FPR": (rate_finding(runs, 0.01, resamples=RESAMPLES), 0.01),
        LEVELS_REST_ON: (rate_finding(runs, 0.01, ONE_SIDED, RESAMPLES), 0.01),
        PRECISION: (average_precision_finding(runs), np.nan),
        "balanced accuracy": (balanced_accuracy_finding(runs), 0.5),
    }


def of_clusters(draws: int) -> Iterator[Row]:
    """Members that are whole communities: nothing leaks, and people of one community are alike."""
    rng = np.random.default_rng(5)
    for groups, size in CLUSTERS:
        for seeds in (1, 3) if groups == CLUSTERS[0][0] else (1,):
            world = f"{groups} communities of {size} are members, {_seeds(seeds)}"
            yield from _rows(lambda g=groups, s=size, k=seeds: _of_communities(rng, g, s, k), world, draws, _level)


def _of_classes(rng: np.random.Generator, shift: float, seeds: int, sizes: Sequence[int], members: int) -> Drawn:
    runs = by_class(rng, shift, seeds, sizes, members)
    scaled = [run.standardised() for run in runs]
    noise = [replace(run, score=rng.normal(size=len(run.score))) for run in runs]
    truth, found = float(norm.cdf(shift / np.sqrt(2))), {}
    if sizes is CLASSES:
        for fpr in (0.05, 0.01):
            flagged = float(norm.sf(norm.isf(fpr) - shift))
            found[f"TPR at {100 * fpr:g} % FPR"] = rate_finding(scaled, fpr, resamples=RESAMPLES), flagged
        found[LEVELS_REST_ON] = rate_finding(scaled, 0.01, ONE_SIDED, RESAMPLES), flagged
    return {AUC: (auc_finding(runs), truth), BEYOND: (auc_difference(runs, noise), truth - 0.5), **found}


def of_classes(draws: int) -> Iterator[Row]:
    """Scores tell the class, and like is compared with like; classes of many people, and of few."""
    rng = np.random.default_rng(6)
    for sizes, members, name in ((CLASSES, 20, "within classes"), (FEW_CLASSES, 5, "within small classes")):
        for shift in (0.0, 0.9, 2.5):
            for seeds in (1, 3):
                world = f"{name}, shift {shift:g}, {_seeds(seeds)}"
                yield from _rows(
                    lambda d=shift, k=seeds, s=sizes, m=members: _of_classes(rng, d, k, s, m), world, draws, _level
                )


def of_groups(draws: int) -> Iterator[Row]:
    """What is told of a group of subjects by themselves: a class, a client, a third of the degrees."""
    rng = np.random.default_rng(7)
    for members, others in ((3, 30), (8, 20), (20, 20), (50, 300)):
        for shift in (0.0, 0.9, 2.5):
            for seeds in (1, 3):
                world = World("", 4 * members, 4 * others, seeds, shift)
                size = 4 * (members + others)
                labels = np.arange(size) % 4

                def one(world: World = world, labels: np.ndarray = labels, seeds: int = seeds) -> Drawn:
                    runs = world.sample(rng)[0]
                    truth = float(norm.cdf(world.shift / np.sqrt(2)))
                    return {"AUC of a group": (by_group(runs, [labels] * seeds)[0], truth)}

                name = f"{members} beside {others}, shift {shift:g}, {_seeds(seeds)}"
                yield from _rows(one, name, draws, _level)


def _pairs(rng: np.random.Generator, nodes: int, effect: float) -> ScoredSubjects:
    """So many edges at random; a node's effect counts for its edges and against non-edges, which moves the AUC."""
    low, high = np.triu_indices(nodes, 1)
    node, truth = effect * rng.normal(size=nodes), rng.permutation(np.arange(len(low)) < 0.15 * len(low))
    score = 0.5 * truth + np.where(truth, 1, -1) * (node[low] + node[high]) + rng.normal(size=len(low))
    return ScoredSubjects(low * nodes + high, score, truth, nodes)


def of_pairs(draws: int) -> Iterator[Row]:
    """Links: subjects are pairs of nodes, and pairs that share a node are not independent."""
    rng = np.random.default_rng(8)
    for nodes in (50, 100, 200):
        for effect in (0.0, 0.5):

            def one(nodes: int = nodes, effect: float = effect) -> Drawn:
                runs = [_pairs(rng, nodes, effect)]
                noise = [replace(run, score=rng.normal(size=len(run.score))) for run in runs]
                truth = float(norm.cdf(0.5 / np.sqrt(2))) if effect == 0 else np.nan
                return {
                    AUC: (auc_finding(runs), truth),
                    BEYOND: (auc_difference(runs, noise), truth - 0.5),
                    "TPR at 5 % FPR": (rate_finding(runs, 0.05, resamples=RESAMPLES), np.nan),
                    PRECISION: (average_precision_finding(runs), np.nan),
                }

            told = "nodes have effects" if effect else "nodes have no effects"
            yield from _rows(one, f"pairs of {nodes} nodes, {told}", draws, _level)

"""Average precision, and the precision of as many guesses as there are members, with intervals."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .finding import Finding
from .metrics import accuracy_finding, logit_finding
from .scored_subjects import Floats, Ints, ScoredSubjects, checked, checked_runs, counts_of
from .variation import NOTHING, kish

FEW_AT_TOP = 16.0  # the same of members whose precision is above the median, for average precision
SHORT = 1.25  # times as far as the jackknife reaches upwards lies the upper end of average precision
FEW_FOR_PRECISION = 50  # the same for average precision, of members


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
    found = logit_finding("average precision", runs, _precisions, level, method)
    share = float(np.mean([_prevalence(run) for run in runs]))
    prior = f"{100 * share:.3g} % of those asked are members"
    validity = "indicative" if found.validity != "valid" or found.members < FEW_FOR_PRECISION else "heuristic"
    mean, high = float(found.estimate or 0.0), float(found.high or 0.0)
    high = min(1.0, mean + float(np.hypot(SHORT * (high - mean), _unseen_at_top(checked_runs(runs), mean, level))))
    return replace(found, high=high, validity=validity, note="; ".join(filter(None, (prior, found.note))))


def _unseen_at_top(runs: Sequence[ScoredSubjects], mean: float, level: float) -> float:
    """How much members at the very top, who are too few to be in the sample, may add to average precision."""
    members = np.unique(np.concatenate([run.units[run.truth] for run in runs]))
    several = float(np.mean([kish(_precise_units(run)) for run in runs]))
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

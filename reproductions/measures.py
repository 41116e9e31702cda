"""Numbers that a table prints, read off a trial's result."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..audit.running.trial import Attacked, TrialResult
from ..audit.statistics.average_precision import average_precision_finding, precision_at_members
from ..audit.statistics.metrics import auc, auc_of_run
from ..audit.statistics.rates import rate_finding
from ..audit.statistics.scored_subjects import ScoredSubjects
from ..targets.target import Utility
from .experiment import OF_ATTACKS, Experiment, Measure, Row
from .trials import in_one_run, mounted

RATE = 0.01
"""False positives at which a true-positive rate is read."""


def read_off(
    experiment: Experiment, row: Row, result: TrialResult, seconds: float
) -> dict[str, float | dict[str, float]]:
    """Each measure of a row by its key; along an axis of rounds a number for each release.

    A number that the run does not have, such as that of an attack that has nothing to read, is left out.
    """
    found: dict[str, float | dict[str, float]] = {}
    by_round = in_one_run(experiment, row)
    for measure in experiment.measures_of(row):
        if by_round:
            read = {str(u.round): _read(measure, result, u, seconds) for u in result.utilities}
            found[measure.key] = {at: value for at, value in read.items() if value is not None}
        else:
            at = {"chosen": result.utility, "first": result.utilities[0], "last": result.utilities[-1]}[
                measure.release
            ]
            value = _read(measure, result, at, seconds)
            if value is not None:
                found[measure.key] = value
    return found


def _read(measure: Measure, result: TrialResult, at: Utility, seconds: float) -> float | None:
    value = _value(measure, result, at, seconds)
    return None if value is None or math.isnan(value) else float(value)


def _value(measure: Measure, result: TrialResult, at: Utility, seconds: float) -> float | None:
    if measure.of in OF_ATTACKS:
        attacked = _attacked(measure, result, at)
        return None if attacked is None else _of_attack(measure, attacked)
    simple: dict[str, Any] = {
        "accuracy": at.test,
        "before-tuning": at.test_before_tuning,
        "validation": at.validation,
        "seconds": seconds,
        "transfer": result.transfer.get(measure.named or ""),
        "figure": result.figures.get(measure.named or ""),
        "bytes": float(sum(e.nbytes for e in result.exposure if e.observer == measure.observer)),
    }
    return simple[measure.of]  # type: ignore[no-any-return]


def _attacked(measure: Measure, result: TrialResult, at: Utility) -> Attacked | None:
    plan = mounted(measure)
    found = [a for a in result.attacked if plan is not None and a.plan.identity == plan.identity]
    return next((a for a in found if a.round == at.round), None)


def _of_attack(measure: Measure, attacked: Attacked) -> float | None:
    judged = attacked.blind if measure.blind else attacked.judged
    keep = np.ones(len(judged.truth), dtype=bool)
    for name, value in measure.within.items():
        keep &= attacked.attributes[name].astype(str) == value
    judged = judged.where(keep)
    if judged.truth.all() or not judged.truth.any():
        return None
    return _metric(measure.of, judged)


def _metric(of: str, judged: ScoredSubjects) -> float | None:
    if of == "plain-auc":
        return auc(judged.truth, judged.score)
    if of == "auc":
        return auc_of_run(judged)
    if of == "tpr":
        return rate_finding([judged.plainly()], RATE).estimate
    if of == "precision":
        return precision_at_members(judged)
    if of == "even-average-precision":
        judged = replace(judged, sampling_weight=judged.truth.sum() / (~judged.truth).sum())
    return average_precision_finding([judged]).estimate

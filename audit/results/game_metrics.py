"""What is told of an attack beside its AUC and rates: a game names its metrics, and this is what they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ...targets.games.links import SAME_CLASS
from ...targets.games.named import game_of
from ...targets.games.ownership import parts_of
from ..running.trial import Attacked
from ..statistics.average_precision import average_precision_finding, precision_finding
from ..statistics.balanced_accuracy import guessed
from ..statistics.epsilon import epsilon_of_runs
from ..statistics.finding import Finding
from ..statistics.identity_metrics import identity_findings
from ..statistics.metrics import accuracy_finding, auc_difference, auc_finding
from ..statistics.rates import rate_finding
from ..statistics.scored_subjects import ScoredSubjects

LOW_FPR = (0.01, 0.001, 0.05)

EXCESS = "excess over imputation"
"""What is found beyond a guess without the release."""
Metric = Callable[[Sequence[Attacked]], Mapping[str, Finding]]
"""Findings by name, from one attack on each run."""


def epsilon(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """A lower bound of epsilon; it means something where membership was drawn at random."""
    return {"epsilon": epsilon_of_runs([a.judged for a in attacked])}


def precision(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """Of as many guesses as there are members, how many are right, at the prevalence of all pairs."""
    return {"precision": precision_finding([a.judged for a in attacked])}


def samples(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """AUC, average precision and rates on the other selections of subjects that a game has."""
    found: dict[str, Finding] = {}
    for name in attacked[0].samples:
        runs = [a.samples[name] for a in attacked]
        found |= {
            f"{name} auc": auc_finding(runs),
            f"{name} average_precision": average_precision_finding(runs),
            f"{name} tpr": rate_finding(runs, LOW_FPR[0]),
        }
    return found


def within_one_class(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """How far an attack on links goes beyond features where both ends are of one class, if there are any."""
    if not all("features" in a.baselines for a in attacked):
        return {}
    same = [a.attributes["classes"] == SAME_CLASS for a in attacked]
    inside = list(zip(attacked, same, strict=True))
    if not all(set(a.judged.truth[s]) == {True, False} for a, s in inside):
        return {}
    features = [a.baselines["features"].where(s) for a, s in inside]
    return {"one class auc beyond features": auc_difference([a.judged.where(s) for a, s in inside], features)}


def candidates(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """Persons by the number of candidates among which their own node is."""
    return identity_findings([a.judged for a in attacked])


def owners_named(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """Of nodes that a client in question holds, the share for which that client scores higher than any other."""
    shares = [_named(a.judged) for a in attacked]
    nodes = min(int(a.judged.truth.sum()) for a in attacked)
    found = accuracy_finding([float(share.mean()) for share in shares], nodes)
    return {"owners named": replace(found, metric="owners named", validity="heuristic", members=nodes)}


def _named(judged: ScoredSubjects) -> NDArray[np.bool_]:
    """Whether each member pair scores higher than all others of its node, [members]."""
    node = np.unique(parts_of(judged.subjects.astype(np.int64))[0], return_inverse=True)[1]
    others = np.full(node.max() + 1, -np.inf)
    np.maximum.at(others, node[~judged.truth], judged.score[~judged.truth])
    named: NDArray[np.bool_] = judged.score[judged.truth] > others[node[judged.truth]]
    return named


def excess_over_imputation(attacked: Sequence[Attacked]) -> dict[str, Finding]:
    """Balanced accuracy less that of imputation, paired; thresholds come from the other half of the people."""
    sides = [[a.judged for a in attacked], [a.blind for a in attacked]]
    guesses = [guessed(runs) for runs in sides]
    if guesses[0] is None or guesses[1] is None:
        return {}
    found = auc_difference(guesses[0], guesses[1])
    return {EXCESS: replace(found, metric="balanced accuracy beyond imputation")}


METRICS: dict[str, Metric] = {
    "epsilon": epsilon,
    "precision": precision,
    "samples": samples,
    "within one class": within_one_class,
    "candidates": candidates,
    EXCESS: excess_over_imputation,
}
"""Metrics to which subjects are only the same or not the same."""
METRICS_OF_SUBJECTS: dict[str, Metric] = {"owners named": owners_named}
"""Metrics that read from a subject's id what it is."""


def game_findings(attacked: Sequence[Attacked], numbered: Sequence[Attacked]) -> dict[str, Finding]:
    """All that a game's metrics tell of one attack over the runs.

    Args:
        attacked: with subjects as the game calls them; a plug-in's metrics get these.
        numbered: the same `by_score`, so that what is drawn for subjects does not depend on their names.
    """
    found: dict[str, Finding] = {}
    for name in game_of(attacked[0].game).metrics:
        found |= metric_of(name)(numbered if name in METRICS else attacked)
    return found


def metric_of(name: str) -> Metric:
    """One of ours, or a function of a plug-in's as ``module:function``."""
    ours = METRICS | METRICS_OF_SUBJECTS
    if name in ours:
        return ours[name]
    module, _, function = name.partition(":")
    made: Metric = getattr(import_module(module), function)
    return made

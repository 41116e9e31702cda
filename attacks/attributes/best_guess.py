"""The best of several guesses at an attribute, chosen on people whose attribute is known."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Floats

Bits = NDArray[np.bool_]
Fit = Callable[[], Any]
PENALTIES = (1.0, 100.0)
"""Of squared weights of logistic regressions on scaled columns: one for few columns, and one for many."""
WIDE = 150
"""Columns from which on trees are not tried: they are slow there, and see one column at a time."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What is told of all people, [n, c] each by name.

    Attributes:
        own: what guesses are made of without the rest.
        more: what else there is; a single column is also taken as a guess as it is.
    """

    own: Floats
    more: Mapping[str, Floats]

    def sets(self) -> Iterator[Floats]:
        """What a model is fitted to: the first, the others, and all of them."""
        yield self.own
        if self.more:
            others = np.hstack(list(self.more.values()))
            yield others
            yield np.hstack([self.own, others])


def best_guess(columns: Columns, known: NDArray[np.intp], told: Bits, fold: NDArray[np.intp]) -> Floats:
    """A score of all people, [n]: the guess that has the highest AUC on known people, of whom folds are held out.

    Guesses are single columns as they are, and logistic regressions and boosted trees on each set of columns.

    Args:
        columns: of all people.
        known: people whose attribute is known, [k].
        told: whether they have the value, [k].
        fold: the fold of each of them, [k]; each fold and the rest hold people with the value and without it.
    """
    from sklearn.metrics import roc_auc_score

    best, chosen = -1.0, np.zeros(len(columns.own))
    for values in columns.more.values():
        if values.shape[1] == 1:
            found = float(roc_auc_score(told, values[known, 0]))
            if found > best:
                best, chosen = found, values[:, 0]
    for rows in columns.sets():
        for fit in _models(rows.shape[1]):
            found = _held_out(fit, rows[known], told, fold)
            if found > best:
                best, chosen = found, _scored(fit, rows[known], told, rows)
    return chosen


def folds_of(told: Bits, folds: int, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """A fold for each known person [k]; each has as many with the value as the others, give or take one.

    Args:
        told: who has the value, [k].
        folds: how many.
        order: a permutation of the k people.
    """
    fold = np.empty(len(told), dtype=np.intp)
    fold[order[np.argsort(told[order], kind="stable")]] = np.arange(len(told)) % folds
    return fold


def _models(width: int) -> Iterator[Fit]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    for penalty in PENALTIES:
        yield partial(_regression, penalty)
    if width <= WIDE:
        yield lambda: HistGradientBoostingClassifier(max_iter=60, early_stopping=False, random_state=0)


def _regression(penalty: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=1 / penalty, max_iter=200))


def _held_out(fit: Fit, rows: Floats, told: Bits, fold: NDArray[np.intp]) -> float:
    """The AUC of a model's scores of each fold, fitted to the others; the mean over folds."""
    from sklearn.metrics import roc_auc_score

    areas = []
    for number in np.unique(fold):
        inside = fold == number
        areas.append(roc_auc_score(told[inside], _scored(fit, rows[~inside], told[~inside], rows[inside])))
    return float(np.mean(areas))


def _scored(fit: Fit, rows: Floats, told: Bits, others: Floats) -> Floats:
    """Log-odds of some rows by a model of others."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a model that stops early is one of the guesses too
        scored: Floats = fit().fit(rows, told).decision_function(others)
    return scored.round(9)  # the last bit of equal rows depends on where they stand

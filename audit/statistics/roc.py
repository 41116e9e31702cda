"""The ROC curve over all runs, thinned for logarithmic axes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .metrics import Floats, Judged, checked_runs
from .rates import FALSE_POSITIVES, ROUNDING, pooled

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


def roc(runs: Sequence[Judged]) -> Roc:
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

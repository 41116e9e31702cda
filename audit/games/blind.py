"""Model-free ("blind") baselines: how far members and non-members differ without any release.

Where the public graph alone tells the two groups apart, an attack can ride on that shift and its AUC is no
evidence of a leak (Das, Zhang and Tramèr 2024, arXiv 2406.16201). Each baseline is a classifier two-sample test
(Lopez-Paz and Oquab 2017, arXiv 1610.06545): a logistic regression on one kind of public column, fitted to the
truth of some subjects and scored on others. A control of the referee, no attack.

Plain cross-validation would fail as a control when there is no shift. A member that is held out is missing from
the training folds, so that subjects like it score low: pooled over folds the AUC falls below 0.5 (Parker, Günter
and Bedo, BMC Bioinformatics 2007), the more so when the scores of several splits are averaged. And two folds
that train each other succeed and fail together: the variance of the AUC is up to twice that of independent
subjects, and the folds do not show it (Bengio and Grandvalet, JMLR 2004). Here, instead,

- the folds, an odd number, stand in a circle, and each is scored by a model of the half of the others behind it:
  of two folds only one trains the other. If membership is random, then given all other folds any subject of a
  fold is as likely a member as any other: the AUC of a fold is 0.5 on average whatever its model, and those of
  two folds are uncorrelated.
- a score is a rank within its fold, ties broken by lot. All folds then have the same scores, pooling them adds
  no bias, and the interval of `auc_finding` holds.

The price: a model sees 40 % of the subjects instead of 80 %, and at most `MOST` of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...randomness import branch
from ...targets.game import Game
from ..statistics.scored_subjects import Floats, ScoredSubjects

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler
    from torch_geometric.data import Data

FOLDS, FEW_FOLDS = 5, 3  # odd
ENOUGH = 10  # members and non-members; with fewer there are fewer folds
LEAST = 2
AT_ONCE = 1 << 18  # rows that are looked at together
MOST = 100_000  # subjects that a model is fitted to: more would change nothing but the time
PENALTY = 100.0  # of squared weights: a rank needs a direction only, which few members fix poorly


def blind_baselines(data: Data, game: Game, seed: np.random.SeedSequence) -> dict[str, ScoredSubjects]:
    """Scores subjects without the release: ``degree``, ``label``, ``features``, ``all``, ``homophily`` of nodes.

    Args:
        data: the checked public graph with all nodes.
        game: one that has public columns; the others have no baselines.
        seed: of the folds. Trials that share their members should share it too: then their baselines are the
            same, and averaging over trials does not pretend to average the subjects away.

    Returns:
        For each baseline the subjects in ascending order, scores in (0, 1) and the truth.

    Raises:
        InputError: fewer than two members or two non-members.
    """
    told = game.public_columns(data, seed)
    if not told:
        return {}
    members, size = int(game.truth.sum()), len(game.truth)
    if min(members, size - members) < LEAST:
        raise InputError(
            f"too few to tell a leak from chance (members: {members}, non-members: {size - members}): take a "
            f"graph, or masks, with at least {LEAST} of each"
        )
    order = np.argsort(game.subjects)
    subjects, truth = game.subjects[order], game.truth[order]
    return {
        name: ScoredSubjects(
            subjects,
            _scores(columns, truth, np.random.default_rng(branch(seed, name))),
            truth,
            game.pairs_of,
            game.sampling_weight,
        )
        for name, columns in told.items()
    }


def _scores(columns: Floats, truth: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Each subject's rank in its fold by a model of the folds behind it on the circle, [s] in (0, 1)."""
    folds = FOLDS if min(truth.sum(), (~truth).sum()) >= ENOUGH else FEW_FOLDS
    scaler = _scaler(columns)
    fold, lots, score = _dealt(truth, folds, rng), rng.permutation(len(truth)), np.empty(len(truth))
    for turn in range(folds):
        behind = (turn - fold) % folds
        scored, training = behind == 0, np.flatnonzero((behind > 0) & (behind <= folds // 2))
        if len(training) > MOST:
            training = np.sort(rng.choice(training, MOST, replace=False))
        others = scaler.transform(columns[scored])
        log_odds = _log_odds(scaler.transform(columns[training]), truth[training], others)
        score[scored] = _ranks(log_odds, lots[scored])
    return score


def _scaler(columns: Floats) -> StandardScaler:
    """What gives each of the columns a mean of 0 and a deviation of 1; what it scales it writes over."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(copy=False)
    for at in range(0, len(columns), AT_ONCE):
        scaler.partial_fit(np.ascontiguousarray(columns[at : at + AT_ONCE]))
    return scaler


def _dealt(truth: NDArray[np.bool_], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random fold for each subject; sizes and numbers of members differ by one at most."""
    order = rng.permutation(len(truth))
    fold = np.empty(len(truth), dtype=np.int64)
    fold[order[np.argsort(truth[order], kind="stable")]] = np.arange(len(truth)) % folds
    return fold


def _log_odds(columns: Floats, truth: NDArray[np.bool_], others: Floats) -> Floats:
    """Log-odds of membership of the ``others``; all 0 where the training folds hold one class only."""
    from sklearn.linear_model import LogisticRegression

    if truth.all() or not truth.any():
        return np.zeros(len(others))
    model = LogisticRegression(C=1 / PENALTY, class_weight="balanced", max_iter=1000).fit(columns, truth)
    log_odds: Floats = model.decision_function(others)
    return log_odds.round(9)  # the last bit of equal rows depends on where they stand


def _ranks(values: Floats, lots: NDArray[np.int64]) -> Floats:
    """The middles of as many equal parts of (0, 1), in the order of the values and, where these tie, the lots."""
    ranks = np.empty(len(values))
    ranks[np.lexsort((lots, values))] = np.arange(len(values)) + 0.5
    return ranks / len(values)

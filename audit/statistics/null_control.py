"""The null control: with the truth permuted nothing may be found, whatever the scores are.

The AUC of a permuted truth is (R - (m + 1) / 2) / n, R being the mean rank of m members drawn without replacement
among m + n subjects. Its mean is 0.5, and sums of draws without replacement lie nearer to their mean than those
with replacement (Hoeffding, Journal of the American Statistical Association 1963, theorem 4), for which Bernstein's
inequality gives a bound that holds for any scores, ties and sizes. So the control needs no spread over seeds: it
can fail with one seed, and says where it cannot.
"""

from collections.abc import Sequence

import numpy as np

from .finding import Finding
from .metrics import auc_of_run
from .scored_subjects import Floats, ScoredSubjects, checked_runs, counts_of, middle_ranks, rows_of

NULL_LEVEL = 1 - 1e-5  # of 1000 controls of sound audits, fewer than one in a hundred audits loses any
CANNOT_TELL = "cannot tell: no scores of so few people, or with so many ties, would fail this control"
PERMUTATIONS = 20  # of each run
ROWS = 1_000_000  # ranked for one control; of very many subjects fewer permutations
FEWEST = 3


def null_finding(runs: Sequence[ScoredSubjects], level: float = NULL_LEVEL) -> Finding:
    """Mean AUC over runs and several permutations of each run's truth; 0.5 must lie within its interval.

    Half of the error goes to the mean, half to the single permutations, of which each must hold too: the finding is
    then the worst of them. Where no arrangement of the truth could fail there is no interval, and the note says so.
    """
    runs = [run.compared() for run in checked_runs(runs)]
    if not all(len(run.score) for run in runs):
        return Finding("auc", None, None, None, level, "none", "indicative", CANNOT_TELL, *counts_of([runs]))
    times = int(np.clip(ROWS // sum(len(run.truth) for run in runs), FEWEST, PERMUTATIONS))
    drawn = np.array([_permuted(run, np.random.default_rng(i), times) for i, run in enumerate(runs)])
    variance, largest, most = np.array([_under_permutation(run) for run in runs]).T
    chance = (1 - level) / 2
    centre = float(drawn.mean())
    reach = float(_bernstein(variance.sum() / (times * len(runs) ** 2), largest.max() / drawn.size, chance))
    alone = _bernstein(variance, largest, chance / drawn.size)[:, None]
    excess = np.abs(drawn - 0.5) - alone
    if excess.max() > 0:
        worst = np.unravel_index(excess.argmax(), drawn.shape)
        centre, reach = float(drawn[worst]), float(alone[worst[0], 0])
    method, counts = "Bernstein's bound of permuted ranks", counts_of([runs])
    if reach >= most.mean():
        return Finding("auc", centre, None, None, level, method, "indicative", CANNOT_TELL, *counts)
    note = f"{times} permutations of each run"
    return Finding("auc", centre, centre - reach, centre + reach, level, method, "valid", note, *counts)


def _permuted(run: ScoredSubjects, rng: np.random.Generator, times: int) -> list[float]:
    """AUCs [times] of permuted truths, measured as those of an attack are."""
    return [auc_of_run(run.scrambled(rng)) or 0.0 for _ in range(times)]


def _under_permutation(run: ScoredSubjects) -> tuple[float, float, float]:
    """Of a permuted truth's AUC: a bound of its variance, what one subject can do to it, and how far it can go.

    Strata are permuted for themselves, and count by their shares of the members.
    """
    if run.strata is None:
        return _of_stratum(run)
    parts = [run.where(rows) for rows in rows_of(run.strata)]
    shares = np.array([part.truth.sum() for part in parts]) / run.truth.sum()
    variance, largest, most = np.array([_of_stratum(part) for part in parts]).T
    return float((shares**2 * variance).sum()), float((shares * largest).max()), float((shares * most).sum())


def _of_stratum(run: ScoredSubjects) -> tuple[float, float, float]:
    """The same where everybody is compared with everybody.

    The fewer of members and non-members are those that are drawn.
    """
    ranks = np.sort(middle_ranks(run.score))
    members = int(run.truth.sum())
    others, apart = len(ranks) - members, ranks - ranks.mean()
    pairs = members * others
    return (
        float(min(members, others) * apart.var() / pairs**2),
        float(np.abs(apart).max() / pairs),
        float(apart[-members:].sum() / pairs),
    )


def _bernstein(variance: Floats, largest: Floats, chance: float) -> Floats:
    """How far a sum of independent terms lies from its mean, on either side, but for a share ``chance``."""
    tail = np.log(2 / chance)
    jump = tail * largest / 3
    reach: Floats = jump + np.sqrt(jump**2 + 2 * tail * variance)
    return reach

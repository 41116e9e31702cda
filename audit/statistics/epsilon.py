"""Lower bounds on epsilon: what a mechanism has given away, whatever it promises.

A bound holds for the unit whose presence was tested (a label's term in the loss, a node with its edges, an
edge); it says nothing about a promise for another unit or another adjacency.

It is a proof, up to the stated confidence, only where the coins were real: many independent runs of the
mechanism, each with or without the unit (`epsilon_lower_bound`), or one run with many units, each put in by an
independent fair coin (`one_run_epsilon`). Many records of one model with a natural split are the heuristic that
Zanella-Béguelin et al. (ICML 2023) warn of: their guesses depend on each other, and members may
differ from non-members for other reasons. The caller knows which it was and says so by ``validity``.

Nothing is maximised on the data that the bound is computed from. A bound that is the best of many thresholds, or
of many numbers of guesses, exceeds the true epsilon far too often, on pure noise in up to half of all audits.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betainccinv, betaincinv, ndtri

from ...mechanisms.gaussian import epsilon_of
from .balanced_accuracy import halves
from .finding import Finding
from .scored_subjects import Floats, ScoredSubjects, checked

Validity: TypeAlias = Literal["valid", "heuristic", "indicative"]
METRIC = "epsilon"
STEPS = 50  # of a bisection
NEVER = 2**50  # trials that nobody makes
ENOUGH_FOR_SHAPE, DOUBT = 300, 1e-3  # trials that show whether scores are normal, and the tests' level
CHOICE = 0.9999  # confidence at which rules are compared: at 0.95 the best of many owes too much to luck
NOT_PROVEN = "not independent runs with randomised inclusion: no proof"


def epsilon_lower_bound(
    inside: ArrayLike,
    outside: ArrayLike,
    *,
    delta: float = 0.0,
    level: float = 0.95,
    validity: Validity = "indicative",
    threshold: float | None = None,
    seed: int = 0,
) -> Finding:
    """The epsilon that is exceeded with confidence ``level``, from scores with the unit and scores without it.

    One-sided: ``estimate`` and ``low`` are both the bound, ``high`` is None. It is 0 where nothing is shown.

    The trials are split at random into two halves. The first chooses the threshold and its side (who is flagged:
    scores from the threshold on, or below it), the second gives `epsilon_of_counts`. With a ``threshold``
    that was fixed on other data all trials count, and scores >= threshold are flagged.

    Args:
        inside: scores of the trials with the unit.
        outside: scores of the trials without it.
        delta: of the (epsilon, delta) that is tested.
        level: confidence.
        validity: ``"valid"`` only where the trials are independent runs of the mechanism with randomised
            inclusion; otherwise ``"heuristic"`` or ``"indicative"``.
        threshold: set beforehand.
        seed: of the split.

    Raises:
        ValueError: scores are missing or NaN, or several for a trial, or a setting is out of its range.

    Source: Jagielski, Ullman and Oprea (NeurIPS 2020); Nasr et al. (S&P 2021).
    """
    parts = [np.asarray(part, dtype=float) for part in (inside, outside)]
    if any(part.ndim != 1 for part in parts):
        raise ValueError("one score a trial is needed: several numbers of one trial are no independent trials")
    truth, score = checked(np.repeat([True, False], [len(part) for part in parts]), np.concatenate(parts))
    pool = ScoredSubjects(np.arange(len(truth)), score, truth)
    runs = len(truth) if validity == "valid" else 1
    return _lower_bound(pool, runs, delta, level, validity, threshold, seed)


def epsilon_of_runs(
    runs: Sequence[ScoredSubjects],
    *,
    delta: float = 0.0,
    level: float = 0.95,
    validity: Validity = "indicative",
    threshold: float | None = None,
    seed: int = 0,
) -> Finding:
    """`epsilon_lower_bound` from the pooled rows of several runs.

    A run that is a trial (one row: one canary, in or out) makes a bound that may be called ``"valid"``. Rows of
    one model are no independent trials, so runs of several rows are refused as ``"valid"``; the rows of a
    subject then stay together when the halves are drawn, and the bound is an indication. Where the same subjects
    are members in all runs, more runs are no more trials: as many are counted as there are subjects.
    """
    if not runs:
        raise ValueError("at least one run is needed")
    if validity == "valid" and any(len(run.truth) > 1 for run in runs):
        raise ValueError("many rows of one run are not independent trials: 'valid' needs one row per run")
    truth, score = checked(*(np.concatenate([getattr(run, part) for run in runs]) for part in ("truth", "score")))
    ids = np.arange(len(truth)) if validity == "valid" else np.concatenate([run.subjects for run in runs])
    pool = ScoredSubjects(ids, score, truth)
    return _lower_bound(pool, len(runs), delta, level, validity, threshold, seed, _share_of_trials(pool))


def _share_of_trials(pool: ScoredSubjects) -> float:
    """Subjects by rows, where nobody is a member in some runs and none in others; else each row is a trial."""
    subjects, place = np.unique(pool.subjects, return_inverse=True)
    member, other = (np.bincount(place[side], minlength=len(subjects)) > 0 for side in (pool.truth, ~pool.truth))
    return 1.0 if (member & other).any() else len(subjects) / len(place)


def epsilon_of_counts(
    true_positives: ArrayLike,
    members: ArrayLike,
    false_positives: ArrayLike,
    non_members: ArrayLike,
    *,
    delta: float = 0.0,
    level: float = 0.95,
) -> Floats:
    """max(0, ln((TPR_low - delta) / FPR_high), ln((TNR_low - delta) / FNR_high)) for a rule set beforehand.

    Clopper and Pearson's one-sided bounds at (1 - level) / 2 each; both ratios rest on the same two events
    (TNR_low is 1 - FPR_high), so the larger needs no further correction. Arrays are broadcast.

    A perfect attack shows 3.28 with 100 + 100 trials and 5.60 with 1000 + 1000.
    """
    hits, positives, false, negatives = np.broadcast_arrays(
        *(np.asarray(part, dtype=float) for part in (true_positives, members, false_positives, non_members))
    )
    tail = (1 - level) / 2
    tpr = np.where(hits > 0, betaincinv(np.maximum(hits, 1), positives - hits + 1, tail), 0.0)
    fpr = np.where(false < negatives, betainccinv(false + 1, np.maximum(negatives - false, 1), tail), 1.0)
    with np.errstate(divide="ignore"):
        ratios = [np.log(np.maximum(up - delta, 0)) - np.log(down) for up, down in ((tpr, fpr), (1 - fpr, 1 - tpr))]
    bounds: Floats = np.maximum(0.0, np.maximum(*ratios))
    return bounds


def ceiling_of_counts(members: int, non_members: int, delta: float, level: float) -> float:
    """The epsilon that so many trials show if every one is told apart: more than that they cannot refute."""
    return float(epsilon_of_counts(members, members, 0, non_members, delta=delta, level=level))


def trials_needed(epsilon: float, delta: float, level: float) -> int:
    """Trials, with the unit and without it each, whose ceiling lies above an epsilon; `NEVER` where none does."""
    low, high = 1, 2
    while ceiling_of_counts(high, high, delta, level) <= epsilon:
        low, high = high, 2 * high
        if high > NEVER:
            return NEVER
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ceiling_of_counts(middle, middle, delta, level) > epsilon else (middle, high)
    return high


def one_run_epsilon(
    included: ArrayLike,
    score: ArrayLike,
    k_plus: int,
    k_minus: int,
    *,
    delta: float = 0.0,
    level: float = 0.95,
    validity: Validity = "indicative",
) -> Finding:
    """The epsilon that one run has exceeded with confidence ``level``, m canaries being in or out by fair coins.

    The ``k_plus`` highest scores are guessed to be in, the ``k_minus`` lowest to be out. Both numbers must be
    fixed before the scores are seen. A score tied across such a border is not guessed, which can only lower
    the bound. The bound is the largest epsilon whose `one_run_p_value` is below 1 - ``level``; one-sided:
    ``estimate`` and ``low`` are both the bound, ``high`` is None.

    Args:
        included: whether each canary was in, [m] bool.
        score: higher = likelier in, [m].
        k_plus: canaries guessed to be in.
        k_minus: canaries guessed to be out; k_plus + k_minus is between 1 and m.
        delta: of the (epsilon, delta) that is tested.
        level: confidence.
        validity: ``"valid"`` only where every canary was in with probability 1/2, independently.

    Source: Steinke, Nasr and Jagielski (NeurIPS 2023, Algorithm 1 and Theorem 5.2).
    """
    _check(delta, level, validity)
    truth, values = checked(included, score)
    guesses = k_plus + k_minus
    if min(k_plus, k_minus) < 0 or not 1 <= guesses <= len(truth):
        raise ValueError(f"between 1 and {len(truth)} guesses are possible, not {k_plus} and {k_minus}")
    ranks = np.sort(values)
    as_high = len(ranks) - np.searchsorted(ranks, values, side="left")  # canaries that score at least as high
    as_low = np.searchsorted(ranks, values, side="right")
    correct = int(truth[as_high <= k_plus].sum() + (~truth[as_low <= k_minus]).sum())
    bound = _largest_rejected(correct, guesses, len(truth), delta, level)
    ceiling = one_run_ceiling(guesses, len(truth), delta, level)
    note = _note(validity, f"{correct} of {guesses} guesses right; all right would show {ceiling:.2f}")
    method = "one run, guesses fixed beforehand, binomial with delta"
    return Finding(METRIC, bound, bound, None, level, method, validity, note, int(truth.sum()), int((~truth).sum()))


def one_run_ceiling(guesses: int, canaries: int, delta: float, level: float) -> float:
    """The epsilon that one run shows if every guess is right: more than that it cannot refute."""
    return _largest_rejected(guesses, guesses, canaries, delta, level)


def one_run_p_value(correct: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """P(an (epsilon, delta)-DP mechanism lets at least ``correct`` of ``guesses`` be right), at most.

    beta + 2 m delta alpha with q = e^epsilon / (1 + e^epsilon), beta = P(Bin(r, q) >= v) and
    alpha = max over 1 <= i <= v of P(v > Bin(r, q) >= v - i) / i, for v right ones of r guesses on m canaries.

    Source: Steinke, Nasr and Jagielski (NeurIPS 2023, Theorem 5.2).
    """
    from scipy.stats import binom

    if correct == 0:
        return 1.0
    right = 1 / (1 + np.exp(-epsilon))
    chance = float(betainc(correct, guesses - correct + 1, right))  # the binomial tail
    if delta > 0:
        steps = np.arange(1, correct + 1)
        between = np.cumsum(binom.pmf(correct - steps, guesses, right))
        chance += 2 * canaries * delta * float((between / steps).max())
    return min(1.0, chance)


def _lower_bound(
    pool: ScoredSubjects,
    runs: int,
    delta: float,
    level: float,
    validity: Validity,
    threshold: float | None,
    seed: int,
    share: float = 1.0,
) -> Finding:
    _check(delta, level, validity)
    above, rest, chosen = True, pool, "set beforehand"
    if threshold is None:
        (first,) = halves([pool], seed)
        sides = [pool.where(half) for half in (first, ~first)]
        if any(side.truth.all() or not side.truth.any() for side in sides):
            note = "not measurable, needs trials with and without the unit in either half"
            return Finding(METRIC, None, None, None, level, "none", "indicative", note, seeds=runs)
        threshold, above = _best_rule(sides[0], delta)
        rest, chosen = sides[1], "chosen on the other half of the trials"
    flagged = (rest.score >= threshold) == above
    inside, outside = flagged[rest.truth], flagged[~rest.truth]
    sizes = round(share * len(inside)), round(share * len(outside))
    hits, false = inside.mean() * sizes[0], outside.mean() * sizes[1]
    bound = float(epsilon_of_counts(hits, sizes[0], false, sizes[1], delta=delta, level=level))
    ceiling = float(epsilon_of_counts(sizes[0], sizes[0], 0, sizes[1], delta=delta, level=level))
    most = f"with so many the test cannot show more than {ceiling:.2f}"
    note = _note(validity, f"{sizes[0]} + {sizes[1]} trials measured; {most}")
    method = f"Clopper-Pearson for both rates, threshold {chosen}"
    return Finding(METRIC, bound, bound, None, level, method, validity, note, *sizes, runs)


def _largest_rejected(correct: int, guesses: int, canaries: int, delta: float, level: float) -> float:
    """The largest epsilon with a p-value below 1 - ``level``, or 0; bisection, rounded down."""

    def rejected(epsilon: float) -> bool:
        return one_run_p_value(correct, guesses, canaries, epsilon, delta) < 1 - level

    low, high = 0.0, 1.0
    if not rejected(low):
        return 0.0
    while rejected(high):
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def _best_rule(pool: ScoredSubjects, delta: float) -> tuple[float, bool]:
    """The threshold, and whether scores from it on (or those below it) are flagged, of the largest bound.

    Where no rule shows anything, that of the largest advantage.
    """
    levels, place = np.unique(-pool.score, return_inverse=True)
    counts = [np.cumsum(np.bincount(place[c], minlength=len(levels))) for c in (pool.truth, ~pool.truth)]
    sizes = [int(part[-1]) for part in counts]
    bounds, gains = [], []
    for above in (True, False):
        hits, false = (part if above else size - part for part, size in zip(counts, sizes, strict=True))
        bounds.append(epsilon_of_counts(hits, sizes[0], false, sizes[1], delta=delta, level=CHOICE))
        gains.append(hits / sizes[0] - false / sizes[1])
    best = int(np.lexsort((np.concatenate(gains), np.concatenate(bounds)))[-1])
    return float(-levels[best % len(levels)]), best < len(levels)


def _check(delta: float, level: float, validity: str) -> None:
    if not 0 <= delta < 1:
        raise ValueError(f"delta lies between 0 and 1, not {delta:g}")
    if not 0 < level < 1:
        raise ValueError(f"a confidence level is a fraction between 0 and 1, not {level:g}")
    if validity not in get_args(Validity):
        raise ValueError(f"validity is one of {', '.join(get_args(Validity))}, not {validity!r}")


def _note(validity: Validity, text: str) -> str:
    return text if validity == "valid" else f"{NOT_PROVEN}; {text}"


FARTHEST = 100.0
"""Distances beyond this count as this: its epsilon is above 5,000."""


def not_normal(inside: ArrayLike, outside: ArrayLike) -> str | None:
    """Why these scores may not be taken as two normals of one variance, in a few words; None if nothing shows.

    Skewness and kurtosis of what is left without the means (D'Agostino and Pearson 1973), its distance from the
    normal law (Lilliefors 1967), the ratio of the variances, and whether scores repeat. The level is such that
    normal scores are doubted once in some hundred times, which costs sharpness and never correctness.
    """
    from scipy.stats import f, kstest, normaltest

    one, other = (np.asarray(part, dtype=float) for part in (inside, outside))
    if min(len(one), len(other)) < ENOUGH_FOR_SHAPE:
        return f"fewer than {ENOUGH_FOR_SHAPE} trials cannot show that scores are normal"
    if not (np.isfinite(one).all() and np.isfinite(other).all()) or min(one.std(), other.std()) == 0:
        return "scores do not vary, or are infinite"
    if any(len(np.unique(part)) < 0.99 * len(part) for part in (one, other)):
        return "scores repeat"
    ratio = one.var(ddof=1) / other.var(ddof=1)
    if 2 * min(f.cdf(ratio, len(one) - 1, len(other) - 1), f.sf(ratio, len(one) - 1, len(other) - 1)) < DOUBT:
        return "the scores' variance depends on the input"
    for part in (
        one,
        other,
        np.concatenate([(one - one.mean()) / one.std(), (other - other.mean()) / other.std()]),
    ):
        rest = (part - part.mean()) / part.std(ddof=1)
        lilliefors = kstest(rest, "norm").statistic * (np.sqrt(len(rest)) - 0.01 + 0.85 / np.sqrt(len(rest)))
        if normaltest(rest).pvalue < DOUBT or lilliefors > 1.25:
            return "scores are not normal"
    return None


def gaussian_epsilon(inside: ArrayLike, outside: ArrayLike, delta: float, level: float = 0.95) -> Finding:
    """The epsilon that is exceeded with confidence ``level`` if both samples are normal with one variance.

    Two such normals are as hard to tell apart as their distance in deviations says, and that is estimated best by
    the difference of the means over the pooled deviation. Its lower bound is the estimate less the normal quantile
    times its standard error, sqrt(1/n + 1/m + d^2 / (2 (n + m - 2))) (Hedges and Olkin 1985, chapter 5).

    Args:
        inside: scores of independent runs with the unit.
        outside: scores of independent runs without it.
        delta: of the (epsilon, delta) that is tested.
        level: confidence.

    Source: Nasr et al. (USENIX Security 2023), section 4, for a bound by the distance of two normals.
    """
    one, other = (np.asarray(part, dtype=float) for part in (inside, outside))
    freedom = len(one) + len(other) - 2
    spread = np.sqrt((((one - one.mean()) ** 2).sum() + ((other - other.mean()) ** 2).sum()) / freedom)
    apart = float(one.mean() - other.mean())
    estimate = min(apart / spread, FARTHEST) if spread > 0 else (FARTHEST if apart > 0 else 0.0)
    error = np.sqrt(1 / len(one) + 1 / len(other) + estimate**2 / (2 * freedom))
    distance = float(estimate - ndtri(level) * error)
    bound = epsilon_of(distance, delta) if distance > 0 else 0.0
    note = f"{len(one)} + {len(other)} trials measured; holds for normal scores alone"
    method = "distance of two normals"
    runs = len(one) + len(other)
    return Finding(METRIC, bound, bound, None, level, method, "valid", note, len(one), len(other), runs)

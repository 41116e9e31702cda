"""Metrics and their intervals: exact cases, invariances, and coverage in worlds whose truth is known.

A coverage test passes when the share of intervals that hold the truth is at least 95 % minus two standard
errors of that share (sqrt(0.95 * 0.05 / simulations)); an interval with exactly 95 % coverage would fail
it with probability 2.5 %, were the seeds not fixed.
"""

import json

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import beta, binom, norm
from sklearn.metrics import average_precision_score, roc_auc_score

from gaudit.audit.statistics.average_precision import average_precision, average_precision_finding
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.metrics import accuracy_finding, auc, auc_difference, auc_finding, mean_difference
from gaudit.audit.statistics.scored_subjects import ScoredSubjects


def world(
    rng, *, seeds=1, members=140, others=1000, shift=0.9, persistent=0.7, drift=0.0, subjects="shared"
) -> list[ScoredSubjects]:
    """Binormal runs. Unit variance per score, ``persistent``^2 of it a property of the subject.

    ``drift`` is the standard deviation of the shift over seeds; ``subjects`` are shared with their
    membership, shared with a new random membership ("redrawn"), or new in each seed ("fresh").
    """
    size, runs = members + others, []
    property_ = persistent * rng.normal(size=size)
    for seed in range(seeds):
        truth, ids = np.arange(size) < members, np.arange(size)
        if subjects == "fresh":
            property_, ids = persistent * rng.normal(size=size), ids + seed * size
        if subjects == "redrawn":
            truth = rng.permutation(truth)
        moved = truth * (shift + drift * rng.normal())
        noise = np.sqrt(1 - persistent**2) * rng.normal(size=size)
        runs.append(ScoredSubjects(ids, property_ + noise + moved, truth))
    return runs


def true_auc(shift, drift=0.0):
    return norm.cdf(shift / np.sqrt(2 + drift**2))


def assert_covers(make, truth, simulations, seed=0, level=0.95):
    rng = np.random.default_rng(seed)
    found = [make(rng) for _ in range(simulations)]
    covered = np.mean([f.low <= truth <= f.high for f in found])
    assert covered >= level - 2 * np.sqrt(level * (1 - level) / simulations), covered
    return found


def tied(rng, members=30, others=50):
    truth = rng.permutation(np.arange(members + others) < members)
    return truth, rng.integers(0, 6, size=members + others) + 2.0 * truth


# --- AUC


@pytest.mark.parametrize("seed", range(5))
def test_auc_equals_brute_force_and_sklearn_with_ties(seed):
    truth, score = tied(np.random.default_rng(seed))
    pairs = np.sign(score[truth][:, None] - score[~truth][None, :])
    assert auc(truth, score) == pytest.approx(((pairs + 1) / 2).mean(), abs=1e-12)
    assert auc(truth, score) == pytest.approx(roc_auc_score(truth, score), abs=1e-12)


def test_auc_accepts_infinite_scores_and_zero_one_truth():
    assert auc([0, 0, 1, 1], [-np.inf, 0.0, 1.0, np.inf]) == 1.0


def half_width(finding):
    """Half the interval on the logit scale, in units of the AUC."""
    logits = np.log([finding.low / (1 - finding.low), finding.high / (1 - finding.high)])
    return np.diff(logits)[0] / 2 * finding.estimate * (1 - finding.estimate)


def test_one_run_has_the_variance_of_the_closed_form():
    """Binormal: Var = (A(1-A) + (m-1)(Q1-A^2) + (n-1)(Q2-A^2)) / mn where
    Q1 - A^2 and Q2 - A^2 are the variances of P(non-member < x) over members x and of its counterpart."""
    rng, shift, m, n = np.random.default_rng(0), 0.9, 140, 1000
    area = true_auc(shift)
    x, y = norm.cdf(rng.normal(shift, size=400_000)), norm.sf(rng.normal(size=400_000) - shift)
    variance = (area * (1 - area) + (m - 1) * x.var() + (n - 1) * y.var()) / (m * n)
    widths = [half_width(auc_finding(world(rng, shift=shift))) for _ in range(100)]
    assert np.mean(widths) / 1.96 == pytest.approx(np.sqrt(variance), rel=0.05)


def test_one_run_has_the_variance_of_the_bootstrap():
    rng = np.random.default_rng(1)
    (run,) = world(rng, members=150, others=300)
    inside, outside = run.score[run.truth], run.score[~run.truth]
    drawn = []
    for _ in range(600):
        score = np.concatenate([rng.choice(inside, len(inside)), rng.choice(outside, len(outside))])
        drawn.append(auc(np.arange(len(score)) < len(inside), score))
    # the standard deviation of 600 draws is known to 3 % (one standard error)
    assert half_width(auc_finding([run])) / 1.98 == pytest.approx(np.std(drawn), rel=0.10)


@pytest.mark.parametrize(
    ("name", "shift", "drift", "options", "simulations"),
    [
        ("one seed", 0.9, 0.0, {}, 600),
        ("null", 0.0, 0.0, {}, 600),
        ("same subjects, subject and seed effect", 0.9, 0.1, {"seeds": 5}, 300),
        ("same subjects, no seed effect", 0.9, 0.0, {"seeds": 5}, 300),
        ("same subjects, strong seed effect", 0.9, 0.4, {"seeds": 5}, 300),
        ("same subjects, two seeds", 0.9, 0.4, {"seeds": 2}, 300),
        ("new subjects", 0.9, 0.1, {"seeds": 5, "subjects": "fresh"}, 300),
        ("new subjects, strong seed effect", 0.9, 0.4, {"seeds": 5, "subjects": "fresh"}, 300),
        ("same subjects, membership redrawn", 0.9, 0.1, {"seeds": 5, "subjects": "redrawn"}, 300),
        ("AUC 0.990", 3.3, 0.0, {}, 600),
        ("AUC 0.998", 4.0, 0.0, {}, 600),
        ("AUC 0.99995", 5.5, 0.0, {}, 300),
        ("ten members", 0.9, 0.0, {"members": 10, "others": 100}, 300),
    ],
)
def test_auc_interval_covers(name, shift, drift, options, simulations):
    def make(rng):
        return auc_finding(world(rng, shift=shift, drift=drift, **options))

    assert_covers(make, true_auc(shift, drift), simulations, seed=len(name))


def test_subjects_do_not_average_away_over_seeds():
    """Twenty runs that agree on every subject know no more about the subjects than one."""
    rng = np.random.default_rng(2)
    (run,) = world(rng)
    one, many = auc_finding([run]), auc_finding([run] * 20)
    assert (many.low, many.high) == pytest.approx((one.low, one.high), abs=1e-9)
    fresh = auc_finding(world(rng, seeds=20, subjects="fresh", drift=0.0))
    assert fresh.high - fresh.low < 0.4 * (one.high - one.low)


def test_fresh_subjects_are_not_counted_twice():
    """Ten seeds with new subjects: the interval is the t interval of the ten AUCs or hardly wider."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(100):
        runs = world(rng, seeds=10, subjects="fresh")
        values = [auc(run.truth, run.score) for run in runs]
        plain = 2.262 * np.std(values, ddof=1) / np.sqrt(10)
        ratios.append(half_width(auc_finding(runs)) / plain)
    assert np.min(ratios) >= 1 - 1e-3
    assert np.median(ratios) < 1.1


@pytest.mark.parametrize("sign", [1, -1])
def test_perfect_separation_is_no_point(sign):
    truth = np.arange(60) < 20
    found = auc_finding([ScoredSubjects(np.arange(60), sign * truth.astype(float), truth)])
    bound = 0.025 ** (1 / 20)
    assert (found.low, found.high) == pytest.approx((bound, 1.0) if sign == 1 else (0.0, 1 - bound))


def test_constant_scores_give_chance_and_a_proper_interval():
    truth = np.arange(1140) < 140
    run = ScoredSubjects(np.arange(1140), np.full(1140, 0.3), truth)
    found = auc_finding([run])
    assert found.estimate == 0.5
    assert 0.38 < found.low < 0.47
    assert 0.53 < found.high < 0.62
    found = average_precision_finding([run])
    assert found.estimate == pytest.approx(140 / 1140)
    assert found.low < 140 / 1140 < found.high


def test_scrambling_that_permutes_nothing():
    """An error of an audited tool: its permutation rebound local names, so the control measured the attack."""
    (run,) = world(np.random.default_rng(18), shift=3.0)
    fakes = [run.scrambled(np.random.default_rng(k)) for k in range(40)]
    assert auc(run.truth, run.score) > 0.97
    assert np.mean([auc(fake.truth, fake.score) for fake in fakes]) == pytest.approx(0.5, abs=0.02)
    assert all((fake.truth != run.truth).any() for fake in fakes)
    assert run.truth[:140].all()  # the original is left alone


def test_scrambled_truth_is_the_null():
    """The null control lets 0.5 in at the stated level and keeps everything but the truth."""
    rng = np.random.default_rng(4)
    runs = world(rng, seeds=3, shift=2.0)
    fake = runs[0].scrambled(rng)
    assert fake.score is runs[0].score
    assert fake.truth.sum() == runs[0].truth.sum()
    assert not np.array_equal(fake.truth, runs[0].truth)
    assert_covers(lambda r: auc_finding([run.scrambled(r) for run in runs]), 0.5, 300, seed=5)


# --- invariances


def test_findings_do_not_depend_on_row_order_or_on_the_scale_of_the_scores():
    rng = np.random.default_rng(6)
    runs = world(rng, seeds=3, drift=0.2)
    shuffled, stretched = [], []
    for run in runs:
        shuffled.append(run.where(rng.permutation(len(run.truth))))
        stretched.append(ScoredSubjects(run.subjects, np.exp(3 * run.score) - 5, run.truth))
    for measure in (auc_finding, average_precision_finding):
        plain = measure(runs)
        for other in (measure(shuffled), measure(stretched)):
            assert (other.estimate, other.low, other.high) == pytest.approx(
                (plain.estimate, plain.low, plain.high), abs=1e-12
            )


@pytest.mark.parametrize("members_first", [True, False])
def test_order_of_the_rows_breaks_ties(members_first):
    """An error of an audited tool: it sorted constant scores stably, so members in front looked perfect."""
    truth = (np.arange(2000) < 1000) == members_first
    assert auc(truth, np.zeros(2000)) == 0.5
    assert average_precision(truth, np.zeros(2000)) == 0.5


# --- average precision


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_equals_brute_force_and_sklearn_with_ties(seed):
    truth, score = tied(np.random.default_rng(seed))
    precision = [truth[score >= value].mean() for value in score[truth]]
    assert average_precision(truth, score) == pytest.approx(np.mean(precision), abs=1e-12)
    assert average_precision(truth, score) == pytest.approx(average_precision_score(truth, score), abs=1e-12)


def test_average_precision_of_guesses_without_ties_is_as_documented():
    """(1/N) sum over ranks k of (1 + (k - 1)(m - 1)/(N - 1)) / k."""
    rank = np.arange(1, 1141)
    assert np.mean((1 + (rank - 1) * 139 / 1139) / rank) == pytest.approx(0.128, abs=5e-4)
    rng = np.random.default_rng(19)
    drawn = [average_precision(rng.permutation(np.arange(1140) < 140), rng.random(1140)) for _ in range(400)]
    assert np.mean(drawn) == pytest.approx(0.128, abs=3 * np.std(drawn) / 20)


def test_one_run_of_average_precision_has_the_variance_of_the_bootstrap():
    rng = np.random.default_rng(20)
    (run,) = world(rng, members=300, others=900)
    inside, outside, drawn = run.score[run.truth], run.score[~run.truth], []
    for _ in range(600):
        # jittered: the bootstrap's ties would raise the precision
        score = np.concatenate([rng.choice(part, len(part)) for part in (inside, outside)])
        drawn.append(average_precision(run.truth, score + 1e-9 * rng.random(len(score))))
    found = average_precision_finding([run])
    below = found.estimate * (1 - found.estimate) * (logit(found.estimate) - logit(found.low))
    assert below / 1.97 == pytest.approx(np.std(drawn), rel=0.12)  # the upper end lies further out
    assert found.high - found.estimate > 1.2 * (found.estimate - found.low)


@pytest.mark.parametrize(
    ("name", "shift", "drift", "options"),
    [
        ("null", 0.0, 0.0, {}),
        ("one run", 0.9, 0.0, {}),
        ("strong", 2.5, 0.0, {}),
        ("balanced", 0.9, 0.0, {"members": 600, "others": 600}),
        ("same subjects", 0.9, 0.2, {"seeds": 5}),
        ("membership redrawn", 0.9, 0.2, {"seeds": 5, "subjects": "redrawn"}),
    ],
)
def test_average_precision_interval_covers_its_mean(name, shift, drift, options):
    simulations = 400
    rng = np.random.default_rng(len(name))
    found = [average_precision_finding(world(rng, shift=shift, drift=drift, **options)) for _ in range(simulations)]
    truth = np.mean([f.estimate for f in found])
    covered = np.mean([f.low <= truth <= f.high for f in found])
    assert covered >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / simulations), covered
    assert {f.validity for f in found} == {"heuristic"}


def test_average_precision_says_how_many_are_members():
    found = average_precision_finding(world(np.random.default_rng(21), seeds=2))
    assert (found.metric, found.note) == ("average precision", "12.3 % of those asked are members")
    assert average_precision_finding(world(np.random.default_rng(21), members=5)).validity == "indicative"
    perfect = np.arange(60) < 20
    found = average_precision_finding([ScoredSubjects(np.arange(60), perfect.astype(float), perfect)])
    assert (found.estimate, found.low, found.high) == (1.0, pytest.approx(0.025 ** (1 / 20)), 1.0)


# --- differences


def pair(rng, correlation, **options):
    """An attack (shift 0.9) beside a baseline (shift 0.5) whose scores agree to ``correlation``."""
    runs = world(rng, shift=0.9, **options)
    others = []
    for run in runs:
        pure = run.score - 0.9 * run.truth
        noise = np.sqrt(1 - correlation**2) * rng.normal(size=len(pure))
        others.append(ScoredSubjects(run.subjects, correlation * pure + noise + 0.5 * run.truth, run.truth))
    return runs, others


@pytest.mark.parametrize("options", [{}, {"seeds": 4}, {"seeds": 4, "subjects": "fresh"}])
def test_paired_difference_covers(options):
    truth = true_auc(0.9) - true_auc(0.5)
    assert_covers(lambda rng: auc_difference(*pair(rng, 0.8, **options)), truth, 300, seed=11)


def rare_flags(rng, members: int, others: int, inside: float, outside: float):
    """An attack that flags few beside a baseline that flags nobody; the AUC's difference is known."""
    truth = np.arange(members + others) < members
    score = (rng.random(members + others) < np.where(truth, inside, outside)).astype(float)
    runs = [ScoredSubjects(np.arange(len(truth)), part, truth) for part in (score, np.zeros(len(truth)))]
    return runs, (inside - outside) / 2


def nearly_perfect(rng, members: int, others: int, first: float, second: float):
    """Two rankings that hardly err, half of whose noise they share."""
    truth, noise = np.arange(members + others) < members, rng.normal(size=(2, members + others))
    scores = noise[0] + first * truth, (noise[0] + noise[1]) / np.sqrt(2) + second * truth
    runs = [ScoredSubjects(np.arange(len(truth)), score, truth) for score in scores]
    return runs, true_auc(first) - true_auc(second)


@pytest.mark.parametrize(
    ("draw", "settings"),
    [
        (rare_flags, (20, 200, 0.03, 0.03)),
        (rare_flags, (20, 200, 0.1, 0.02)),
        (rare_flags, (200, 2000, 0.01, 0.002)),
        (nearly_perfect, (50, 2000, 4.0, 3.5)),
        (nearly_perfect, (20, 200, 3.0, 2.5)),
    ],
)
def test_each_end_of_a_difference_holds_where_few_subjects_carry_it(draw, settings):
    """Either end misses in 2.5 % of worlds at most; the test errs once in 1000 where it is exactly so many."""
    rng, times, missed = np.random.default_rng(22), 250, np.zeros(2)
    for _ in range(times):
        (attack, other), truth = draw(rng, *settings)
        found = auc_difference([attack], [other])
        missed += found.low > truth, found.high < truth
    assert missed.max() <= binom.isf(0.001, times, 0.025)


def test_pairing_narrows_the_interval_when_scores_agree():
    runs, others = pair(np.random.default_rng(12), 0.9, seeds=4)
    strangers = [ScoredSubjects(run.subjects + 10**6, run.score, run.truth) for run in others]
    paired, unpaired = auc_difference(runs, others), auc_difference(runs, strangers)
    assert paired.estimate == pytest.approx(unpaired.estimate)
    assert paired.high - paired.low < 0.6 * (unpaired.high - unpaired.low)


def test_rows_of_one_subject_count_as_one():
    """Each subject queried four times with the same answer: no narrower than once."""
    (run,) = world(np.random.default_rng(17))
    again = ScoredSubjects(np.tile(run.subjects, 4), np.tile(run.score, 4), np.tile(run.truth, 4))
    once, often = auc_finding([run]), auc_finding([again])
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=1e-3)
    assert often.members == 140


def test_difference_to_itself_is_zero_but_no_point():
    runs = world(np.random.default_rng(13), seeds=2)
    found = auc_difference(runs, runs, metric="undefended - undefended")
    assert (found.metric, found.estimate) == ("undefended - undefended", 0.0)
    assert found.high == -found.low == pytest.approx(1 - 0.025 ** (1 / 140))
    with pytest.raises(ValueError, match="2 runs beside 1"):
        auc_difference(runs, runs[:1])


def test_mean_difference_is_the_paired_t_interval():
    a, b = [0.81, 0.79, 0.84, 0.80], [0.78, 0.77, 0.80, 0.79]
    change = np.subtract(a, b)
    step = 3.182446 * change.std(ddof=1) / 2
    found = mean_difference(a, b)
    assert (found.low, found.high) == pytest.approx((change.mean() - step, change.mean() + step), abs=1e-6)
    assert found.seeds == 4
    alone = mean_difference([0.8], [0.7])
    assert (alone.estimate, alone.low, alone.validity) == (pytest.approx(0.1), None, "indicative")
    assert "one seed" in alone.note


# --- accuracy


def test_accuracy_of_one_seed_is_clopper_pearson():
    found = accuracy_finding([0.81], 1000)
    assert found.low == pytest.approx(beta.ppf(0.025, 810, 191))
    assert found.high == pytest.approx(beta.ppf(0.975, 811, 190))
    assert "one seed" in found.note
    assert accuracy_finding([1.0, 1.0, 1.0], 50).low == pytest.approx(0.025 ** (1 / 50))


@pytest.mark.parametrize("seeds", [1, 3, 5])
@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_accuracy_interval_covers_with_shared_test_nodes(seeds, drift):
    """Node i is right with probability Phi(0.9 + b_i + seed effect): the target is the mean over both."""
    spread = 1.0

    def make(rng):
        ease = rng.normal(0.9, spread, size=500)
        moved = drift * rng.normal(size=seeds) if seeds > 1 else np.zeros(1)
        right = rng.random((seeds, 500)) < norm.cdf(ease + moved[:, None])
        return accuracy_finding(right.mean(1), 500)

    target = norm.cdf(0.9 / np.sqrt(1 + spread**2 + (drift**2 if seeds > 1 else 0)))
    assert_covers(make, target, 600, seed=seeds)


# --- what is refused, what is said


@pytest.mark.parametrize(
    ("truth", "score", "words"),
    [
        ([True, True], [0.1, 0.2], "non-members are both needed"),
        ([False, False], [0.1, 0.2], "members and non-members"),
        ([True, False], [0.1, np.nan], "1 of 2 scores are NaN"),
        ([], [], "both needed"),
        ([2, 0], [0.1, 0.2], "only True and False"),
    ],
)
def test_unusable_scores_are_refused(truth, score, words):
    with pytest.raises(ValueError, match=words):
        auc(truth, score)
    run = ScoredSubjects(np.arange(len(truth)), np.array(score), np.array(truth))
    for measure in (auc_finding, average_precision_finding):
        with pytest.raises(ValueError, match=words):
            measure([run])
        with pytest.raises(ValueError, match="at least one run"):
            measure([])


def test_unequal_lengths_and_bad_settings_are_refused():
    with pytest.raises(ValueError, match="one length"):
        ScoredSubjects(np.arange(3), np.zeros(3), np.zeros(2, dtype=bool))
    with pytest.raises(ValueError, match="accuracies"):
        accuracy_finding([81.0], 1000)
    with pytest.raises(ValueError, match="accuracies"):
        accuracy_finding([np.nan], 1000)
    with pytest.raises(ValueError, match="test subject"):
        accuracy_finding([0.8], 0)
    with pytest.raises(ValueError, match="finite"):
        mean_difference([np.nan, 1.0], [0.0, 0.0])


def test_a_finding_says_what_it_covers():
    rng = np.random.default_rng(14)
    one = auc_finding(world(rng))
    assert (one.metric, one.members, one.non_members, one.seeds) == ("auc", 140, 1000, 1)
    assert (one.validity, one.note) == ("valid", "one seed: training randomness not covered")
    fresh = auc_finding(world(rng, seeds=2, subjects="fresh"))
    assert (fresh.members, fresh.non_members, fresh.seeds, fresh.note) == (280, 2000, 2, "")
    assert auc_finding(world(rng, members=5)).validity == "indicative"


def test_a_higher_level_is_wider():
    runs = world(np.random.default_rng(15), seeds=3)
    for measure in (auc_finding, average_precision_finding):
        narrow, wide = measure(runs, level=0.8), measure(runs, level=0.99)
        assert wide.low < narrow.low < narrow.high < wide.high


def test_finding_as_text_and_as_json():
    found = Finding("auc", 0.74161234, 0.70091, 0.78049, 0.95, "DeLong", "valid")
    assert found.text() == "0.742 [0.701, 0.780]"
    assert found.text(digits=1, percent=True) == "74.2 % [70.1 %, 78.0 %]"
    assert json.loads(json.dumps(found.as_dict()))["estimate"] == 0.741612
    assert Finding("x", 0.1, None, None, 0.95, "none", "indicative").text() == "0.100"
    measured = auc_finding(world(np.random.default_rng(16))).as_dict()
    assert json.loads(json.dumps(measured)) == measured


def test_an_interval_of_nearly_tied_scores_holds_chance():
    """Twenty of 1,000 subjects are flagged by lot, often none of the thirty members: a sign of nothing."""
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(200):
        truth = np.arange(1000) < 30
        score = (rng.permutation(1000) < 20).astype(float)
        found = auc_finding([ScoredSubjects(np.arange(1000), score, truth)])
        broken += not found.low <= 0.5 <= found.high
    assert broken <= 20  # 10 are expected; more than 20 with probability 0.1 %


# --- ends that a few subjects carry


def misses(find, make, truth=None, worlds=400):
    """How many lower ends lie above the truth, and how many upper ends below it; the truth may be the mean."""
    found = [find(make()) for _ in range(worlds)]
    middle = np.mean([f.estimate for f in found]) if truth is None else truth
    return sum(f.low > middle for f in found), sum(f.high < middle for f in found)


def many(worlds=400, end=0.025):
    """More misses than one end has but once in a thousand times."""
    return binom.isf(0.001, worlds, end)


@pytest.mark.parametrize(("members", "shift"), [(50, 3.0), (20, 2.5)])
def test_a_nearly_perfect_auc_is_not_surer_than_its_few_errors(members, shift):
    rng = np.random.default_rng(31)
    low, high = misses(auc_finding, lambda: world(rng, members=members, others=2000, shift=shift), true_auc(shift))
    assert max(low, high) <= many()


def test_with_many_errors_the_interval_of_an_auc_is_symmetric_on_the_logit_scale():
    """What few carriers add is gone where they are many."""
    found = auc_finding(world(np.random.default_rng(32), members=600, others=2000))
    middle, low, high = (np.log(x / (1 - x)) for x in (found.estimate, found.low, found.high))
    assert (middle - low) / (high - middle) == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize(("members", "others"), [(20, 200), (50, 2000)])
def test_average_precision_allows_for_members_at_the_top_that_the_sample_lacks(members, others):
    rng = np.random.default_rng(33)
    assert (
        misses(average_precision_finding, lambda: world(rng, members=members, others=others, shift=0))[1] <= many()
    )


def test_average_precision_counts_clusters_at_the_top():
    """Five communities that are members as wholes: which of them lies at the top is one throw of five."""
    rng, groups, size = np.random.default_rng(34), 5, 100

    def drawn():
        cluster = np.repeat(np.arange(2 * groups), size)
        score = 0.55 * rng.normal(size=2 * groups)[cluster] + 0.84 * rng.normal(size=len(cluster))
        return [ScoredSubjects(np.arange(len(cluster)), score, cluster < groups, clusters=cluster)]

    assert misses(average_precision_finding, drawn)[1] <= many()


def test_a_mean_over_seeds_says_what_so_few_seeds_may_have_missed():
    found = mean_difference([0.01] * 2 + [0.02], [0.0] * 3)
    assert found.validity == "indicative"
    assert f"3 seeds miss one in 10 that is far off in {100 * 0.9**3:.0f} % of cases, 29 in 5 %" in found.note
    enough = mean_difference([0.01, 0.02] * 20, [0.0] * 40)
    assert enough.validity == "indicative"
    assert "40 seeds miss one in 10" in enough.note
    assert enough.note.endswith("of cases")

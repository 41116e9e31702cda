"""The decision rule: its false alarms and its power, and what must be so before anything is decided."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from gaudit.audit.checks.baseline import Baseline
from gaudit.audit.checks.gate import Status, against_baseline, not_below_chance, within_budget, within_level
from gaudit.audit.checks.policy import Policy, PolicyFile
from gaudit.audit.checks.policy_checks import checked
from gaudit.audit.results.audit_result import Failure
from gaudit.audit.results.verdict import Verdict
from gaudit.audit.statistics.comparison import holm, paired
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.severity import Level
from gaudit.errors import InputError
from support.audits import simulated

ALPHA, RUNS = 0.05, 1500
MOST = binom.isf(0.001, RUNS, ALPHA)  # more false alarms than these are no chance
BASE, LEAKIER = {("none", None): (0.8, 0.8)}, {("none", None): (1.1, 0.8)}
TWO = {("none", None): (0.8, 0.8), ("ldp", 1.0): (0.2, 0.7)}
MARGIN = {"name": "members", "attack": "loss", "margin": 0.03}


def drawn(rng, rise: float, seeds: int, spread: float = 0.02):
    return paired(0.7 + rise + spread * rng.normal(size=seeds), np.full(seeds, 0.7))


def decided(rise: float, margin: float, seeds: int = 5, rng=None) -> list[Status]:
    rng = np.random.default_rng(1) if rng is None else rng
    return [against_baseline(drawn(rng, rise, seeds), "auc", margin, ALPHA, ALPHA).status for _ in range(RUNS)]


@pytest.mark.parametrize("seeds", [2, 5, 10])
def test_no_change_is_called_a_regression_at_most_as_often_as_alpha(seeds):
    assert decided(0.0, 1e-6, seeds).count(Status.REGRESSED) <= MOST


def test_a_rise_of_the_margin_passes_at_most_as_often_as_alpha():
    assert decided(0.02, 0.02).count(Status.PASS) <= MOST


def test_a_large_rise_is_seen_and_no_change_passes():
    assert decided(0.12, 0.02, 10).count(Status.REGRESSED) > 0.99 * RUNS
    assert decided(0.0, 0.05, 10).count(Status.PASS) > 0.99 * RUNS


def test_a_small_rise_beyond_doubt_is_no_regression():
    found = paired([0.701, 0.702, 0.701, 0.702, 0.701], [0.7] * 5)
    assert found.mean > found.reach(0.01)
    assert against_baseline(found, "auc", 0.02, ALPHA, ALPHA).status is Status.PASS


@pytest.mark.parametrize("checks", [2, 4])
def test_many_checks_together_make_no_more_false_alarms(checks):
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(RUNS):
        found = [drawn(rng, 0.0, 5) for _ in range(checks)]
        levels = holm([c.p for c in found], ALPHA)
        lows = [c.mean - c.reach(level) for c, level in zip(found, levels, strict=True)]
        assert all(low > 0 or c.p > level for low, c, level in zip(lows, found, levels, strict=True))
        alarms += any(c.p <= level for c, level in zip(found, levels, strict=True))
    assert alarms <= MOST


def test_holm_steps_down_and_stops():
    assert holm([0.2, 0.001, 0.02], 0.06) == pytest.approx([0.06, 0.02, 0.03])
    assert holm([0.5, 0.04, 0.03], 0.06) == pytest.approx([0.02, 0.02, 0.02])  # ends at the first
    assert holm([], 0.05) == []


def test_power_is_what_it_says():
    found = drawn(np.random.default_rng(3), 0.0, 5)
    known = replace(found, error=0.02 / np.sqrt(5), fall=0.0)  # the true spread, and Student's test alone
    promised = known.power(0.02, ALPHA)
    rng = np.random.default_rng(4)
    seen = np.mean([(c := drawn(rng, 0.02, 5)).mean > c.reach(ALPHA) for _ in range(RUNS)])
    assert seen == pytest.approx(promised, abs=4 * np.sqrt(0.25 / RUNS))
    needed = known.seeds_needed(0.02, ALPHA)
    assert known.power(0.02, ALPHA, needed - 1) < 0.8 <= known.power(0.02, ALPHA, needed)
    assert known.seeds_needed(1e-6, ALPHA) is None


def test_the_same_numbers_pass_whatever_their_number():
    for seeds in (1, 2, 5):
        assert (
            against_baseline(paired([0.6] * seeds, [0.6] * seeds), "auc", 0.01, ALPHA, ALPHA).status is Status.PASS
        )


def test_one_seed_that_differs_decides_nothing():
    found = against_baseline(paired([0.9], [0.6]), "auc", 0.01, ALPHA, ALPHA)
    assert found.status is Status.INCONCLUSIVE
    assert "one seed" in found.why
    assert "inf" not in found.size
    assert all(np.isfinite(v) for v in found.numbers.values())


def test_signs_are_flipped_for_few_seeds_alone():
    assert paired([0.8] * 4 + [0.9], [0.7] * 5).sign_flips() == pytest.approx(1 / 32)
    assert paired([0.6, 0.8], [0.7, 0.7]).sign_flips() == pytest.approx(0.75)
    assert paired([0.8] * 9, [0.7] * 9).sign_flips() is None


def finding(estimate, low=None, high=None, note=""):
    return Finding("auc", estimate, low, high, 0.95, "made up", "valid", note)


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (finding(0.6, 0.5, 0.65), Status.PASS),
        (finding(0.7, 0.66, 0.8), Status.OVER_BUDGET),
        (finding(0.66, 0.6, 0.7), Status.INCONCLUSIVE),
        (finding(0.7, 0.7), Status.OVER_BUDGET),  # a lower bound alone
        (finding(0.1, 0.1), Status.PASS),
        (finding(None, note="needs at least 1000 non-members"), Status.INVALID),
        (finding(0.5), Status.INVALID),
    ],
)
def test_a_budget_is_held_against_the_interval(found, status):
    decision = within_budget(found, "auc", 0.65)
    assert decision.status is status
    assert found.note in decision.why


@pytest.mark.parametrize(
    ("level", "status"),
    [
        (Level.NOT_FOUND, Status.PASS),
        (Level.LOW, Status.PASS),
        (Level.NOT_ATTRIBUTABLE, Status.PASS),
        (Level.MODERATE, Status.OVER_BUDGET),
        (Level.INCONCLUSIVE, Status.INCONCLUSIVE),
    ],
)
def test_a_level_is_held_against_the_highest_allowed(level, status):
    assert within_level(Verdict(level, 2.0, 1.5, 4.0, "so it is"), Level.LOW).status is status


def policy(*checks, **parts) -> PolicyFile:
    read = Policy.of({"check": list(checks), **parts}, "gaudit.toml")
    return PolicyFile(read, Path("gaudit.toml"), tuple(range(1, len(checks) + 1)))


def statuses(report) -> list[Status]:
    return [result.status for result in report.results]


def test_more_leak_than_was_accepted_regresses_and_less_passes():
    weak, strong = simulated(BASE, seeds=5), simulated({("none", None): (3.5, 0.8)}, seeds=5)
    up = checked(strong, policy(MARGIN), Baseline.of(weak, "first"))
    assert (statuses(up), up.exit_code) == ([Status.REGRESSED], 1)
    assert "'members'" in up.headline()
    down = checked(weak, policy(MARGIN), Baseline.of(strong, "first"))
    assert (statuses(down), down.exit_code) == ([Status.PASS], 0)
    same = checked(weak, policy(MARGIN), Baseline.of(weak, "first"))
    assert (statuses(same), same.exit_code) == ([Status.PASS], 0)


def skewed(rng, seeds: int, rare: float, rise: float, start: float):
    """Most seeds rise by ``rise`` from ``start``, a share ``rare`` falls so far that the mean rise is 0."""
    fall = rise * (1 - rare) / rare
    assert start - fall >= 0.5  # no leak can be smaller than none
    return paired(start + np.where(rng.random(seeds) < rare, -fall, rise), np.full(seeds, start))


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
@pytest.mark.parametrize(("rare", "rise"), [(0.1, 0.01), (0.1, 0.03), (0.2, 0.03), (0.2, 0.06), (0.4, 0.15)])
def test_rises_that_rare_falls_make_up_for_are_called_regressions_at_most_as_often_as_alpha(seeds, rare, rise):
    """Student's test of five such differences sounds an alarm in 59 of 100 cases: none of them shows a fall."""
    rng, margin, times = np.random.default_rng(8), 1e-6, 100
    found = [skewed(rng, seeds, rare, rise, 0.8) for _ in range(times)]
    statuses = [against_baseline(c, "auc", margin, ALPHA, ALPHA).status for c in found]
    assert statuses.count(Status.REGRESSED) <= binom.isf(0.001, times, ALPHA)


def test_a_leak_that_doubles_is_shown_by_five_seeds_and_a_smaller_one_by_more_or_by_a_smaller_fall():
    doubled = paired([0.70, 0.71, 0.70, 0.72, 0.71], [0.6] * 5)
    assert against_baseline(doubled, "auc", 0.02, ALPHA, ALPHA).status is Status.REGRESSED
    new, old = [0.65, 0.66, 0.65, 0.66, 0.65], [0.6] * 5
    some = against_baseline(paired(new, old), "auc", 0.02, ALPHA, ALPHA)
    assert some.status is Status.INCONCLUSIVE
    assert "seeds that rise as much show it" in some.why
    needed = next(k for k in range(2, 50) if f" {k} seeds that rise as much" in some.why)
    for seeds, status in ((needed - 1, Status.INCONCLUSIVE), (needed, Status.REGRESSED)):
        more = paired(([0.65, 0.66] * seeds)[:seeds], [0.6] * seeds)
        assert against_baseline(more, "auc", 0.02, ALPHA, ALPHA).status is status
    trusted = paired(new, old, most=0.04)
    assert against_baseline(trusted, "auc", 0.02, ALPHA, ALPHA).status is Status.REGRESSED
    assert paired([0.65, 0.5], [0.6, 0.6], most=0.04).fall == pytest.approx(0.1)  # it was seen to fall farther


def test_what_is_inconclusive_fails_where_that_is_asked_for():
    audit = simulated(BASE, seeds=5)
    estimate = audit.findings()[0].attack.auc.estimate
    unsure = policy({"name": "b", "attack": "loss", "budget": round(estimate, 3)})
    assert checked(audit, unsure, None).exit_code == 0
    assert checked(audit, unsure, None, strict=True).exit_code == 3
    in_policy = policy({"name": "b", "attack": "loss", "budget": round(estimate, 3)}, gate={"strict": True})
    assert checked(audit, in_policy, None).exit_code == 3


def test_both_parts_of_a_check_count():
    audit = simulated(BASE, seeds=5)
    found = checked(audit, policy({**MARGIN, "budget": 0.55}), Baseline.of(audit, "first"))
    assert statuses(found) == [Status.OVER_BUDGET]
    assert {name: part.status for name, part in found.results[0].parts.items()} == {
        "margin": Status.PASS,
        "budget": Status.OVER_BUDGET,
    }


def test_a_control_that_failed_leaves_no_verdict():
    audit = simulated(LEAKIER, seeds=3, planted=0.0)
    assert not audit.valid
    report = checked(audit, policy({"name": "b", "attack": "loss", "budget": 0.51}), None)
    assert (statuses(report), report.exit_code) == ([Status.INVALID], 4)
    assert "planted leak" in report.headline()


def test_a_baseline_of_another_plan_is_refused_with_both_fingerprints():
    audit = simulated(BASE, seeds=3)
    other = Baseline.of(replace(audit, fingerprint="f00dfeed"), "first")
    report = checked(audit, policy(MARGIN), other)
    assert report.exit_code == 4
    assert "f00dfeed" in report.headline()
    assert audit.fingerprint in report.headline()


def test_seeds_of_the_baseline_must_be_there():
    more, fewer = simulated(BASE, seeds=4), simulated(BASE, seeds=3)
    report = checked(fewer, policy(MARGIN), Baseline.of(more, "first"))
    assert report.exit_code == 4
    assert "not in the audit: 3" in report.results[0].decision.why


def test_a_finding_that_the_baseline_lacks_is_not_compared():
    before = simulated(BASE, seeds=3)
    both = simulated(BASE, seeds=3, attacks=("loss", "lira"))
    report = checked(both, policy({**MARGIN, "attack": "lira"}), Baseline.of(before, "first"))
    assert report.exit_code == 4
    assert "gaudit baseline update" in report.results[0].decision.why


@pytest.mark.parametrize("gone", ["missing", "failed"])
def test_trials_that_are_not_there_make_their_checks_invalid(gone):
    audit = simulated(BASE, seeds=3)
    planned = audit.plan.model_copy(update={"seeds": 4})
    part = {"missing": 1} if gone == "missing" else {"failures": (Failure("seed 3", "out of memory"),)}
    report = checked(
        replace(audit, plan=planned, **part), policy({"name": "b", "attack": "loss", "budget": 0.9}), None
    )
    assert (statuses(report), report.exit_code) == ([Status.INVALID], 4)
    assert ("out of memory" if gone == "failed" else "not run") in report.results[0].decision.why
    nothing = replace(audit, sections=(), **part)
    assert checked(nothing, policy({"name": "b", "attack": "loss", "budget": 0.9}), None).exit_code == 4


def test_too_few_subjects_for_a_metric_make_a_check_invalid():
    audit = simulated(BASE, seeds=3, members=50, others=150)
    rate = {**MARGIN, "metric": "tpr@fpr=0.01"}
    report = checked(audit, policy(rate), Baseline.of(audit, "first"))
    assert (statuses(report), report.exit_code) == ([Status.INVALID], 4)
    assert "at least 1000 non-members" in report.results[0].decision.why
    over_all = checked(
        audit, policy({"name": "b", "attack": "loss", "metric": "tpr@fpr=0.01", "budget": 0.5}), None
    )
    assert over_all.exit_code == 4


def test_nothing_checked_is_never_a_pass():
    audit = simulated(BASE, seeds=3)
    elsewhere = {"name": "b", "attack": "lira", "budget": 0.9}
    report = checked(audit, policy(elsewhere), None)
    assert (statuses(report), report.exit_code) == ([Status.NOT_APPLICABLE], 4)
    beside = checked(audit, policy(elsewhere, {"name": "c", "attack": "loss", "budget": 0.9}), None)
    assert (statuses(beside), beside.exit_code) == ([Status.NOT_APPLICABLE, Status.PASS], 0)


def test_a_check_must_mean_one_finding_and_is_told_how():
    audit = simulated(TWO, seeds=3, datasets=("citations", "digits"))
    with pytest.raises(
        InputError, match=r"4 findings.*dataset \('citations', 'digits'\).*defense \('ldp', 'none'\)"
    ):
        checked(audit, policy({"name": "b", "attack": "loss", "budget": 0.9}), None)
    chosen = {"name": "b", "attack": "loss", "budget": 0.9, "dataset": "digits", "defense": "ldp"}
    place = checked(audit, policy(chosen), None).results[0].place
    assert (place.section.dataset, place.outcome.defense) == ("digits", "ldp")


def test_a_strength_picks_its_outcome():
    audit = simulated({**TWO, ("ldp", 4.0): (0.5, 0.75)}, seeds=3)
    chosen = {"name": "b", "attack": "loss", "budget": 0.9, "defense": "ldp", "strength": 4}
    assert checked(audit, policy(chosen), None).results[0].place.outcome.strength == 4.0
    label = checked(audit, policy({**chosen, "strength": 1}), None).results[0].place.outcome.label
    by_label = {"name": "b", "attack": "loss", "budget": 0.9, "defense": label}
    assert checked(audit, policy(by_label), None).results[0].place.outcome.strength == 1.0


def test_a_metric_that_is_not_measured_is_a_mistake():
    audit = simulated(BASE, seeds=3)
    for wrong in ({"metric": "tpr@fpr=0.02", "budget": 0.5}, {"metric": "acu", "budget": 0.5}):
        with pytest.raises(InputError, match=r"metric in check 'b'.*known: .*auc"):
            checked(audit, policy({"name": "b", "attack": "loss", **wrong}), None)
    with pytest.raises(InputError, match="advantage"):  # has an interval, but no value per seed
        checked(audit, policy({**MARGIN, "metric": "advantage"}), Baseline.of(audit, "first"))


def test_cut_offs_of_the_policy_replace_those_of_the_plan():
    audit = simulated(LEAKIER, seeds=3)
    level = {"name": "l", "attack": "loss", "metric": "level", "max": "low"}
    lenient = checked(audit, policy(level, severity={"moderate": 50, "high": 60, "severe": 70}), None)
    stern = checked(audit, policy(level, severity={"moderate": 1.01}), None)
    assert [statuses(lenient), statuses(stern)] == [[Status.PASS], [Status.OVER_BUDGET]]
    with pytest.raises(InputError, match="in the plan"):
        checked(audit, policy(level, severity={"fpr": 0.1}), None)
    with pytest.raises(InputError, match="moderate < high < severe"):
        checked(audit, policy(level, severity={"moderate": 20}), None)


def test_an_attack_that_reads_nothing_has_no_level():
    audit = simulated(BASE, seeds=3, attacks=("blind",))
    report = checked(audit, policy({"name": "l", "attack": "blind", "metric": "level", "max": "low"}), None)
    assert statuses(report) == [Status.NOT_APPLICABLE]


def test_an_auc_below_chance_is_no_privacy():
    """Turned round it tells nearly everything: no budget is kept by it, and no fall to it passes."""
    turned = Finding("auc", 0.03, 0.01, 0.09, 0.95, "made up", "valid")
    assert within_budget(turned, "auc", 0.65).status is Status.INCONCLUSIVE
    assert turned.turned.low == pytest.approx(0.91)
    fell = against_baseline(paired([0.03, 0.02, 0.04], [0.7, 0.71, 0.69]), "auc", 0.02, 0.05, 0.05)
    assert fell.status is Status.PASS
    assert not_below_chance(fell, turned).status is Status.INCONCLUSIVE
    open_ = Finding("auc", 0.45, 0.38, 0.52, 0.95, "made up", "valid")
    assert not_below_chance(fell, open_).status is Status.PASS
    assert open_.turned is open_
    assert within_budget(open_, "auc", 0.65).status is Status.PASS


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"defense": "lpd"}, "ldp"),
        ({"defense": "ldp", "strength": 2.0}, "1.0"),
        ({"dataset": "citation"}, "citations"),
        ({"defense": "ldp", "observer": "pubic"}, "public"),
        ({"defense": "ldp", "game": "label_membership"}, "label-membership"),
    ],
)
def test_a_wrong_letter_switches_no_check_off(wrong, named):
    audit = simulated(TWO, seeds=3)
    with pytest.raises(InputError, match=named) as caught:
        checked(audit, policy({"name": "b", "attack": "loss", "budget": 0.6, **wrong}), None)
    assert "\n" not in str(caught.value)


def test_what_an_audit_has_not_is_not_applicable_all_the_same():
    report = checked(
        simulated(TWO, seeds=3), policy({"name": "b", "attack": "loss", "dataset": "PubMed", "budget": 0.6}), None
    )
    assert statuses(report) == [Status.NOT_APPLICABLE]


@pytest.mark.parametrize("most", ["not found", "low", "high"])
def test_a_leak_of_unknown_size_fails_whatever_level_is_allowed(most):
    audit = simulated({("none", None): (2.0, 0.8)}, seeds=3, members=100, others=200)
    (place,) = audit.findings()
    assert place.verdict.level is Level.UNSIZED
    report = checked(audit, policy({"name": "l", "attack": "loss", "metric": "level", "max": most}), None)
    assert (statuses(report), report.exit_code) == ([Status.OVER_BUDGET], 1)

"""Trials put together: sections, controls that make an audit invalid, curves, and what is still missing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gaudit.audit.planning.grid import Cell, Grid
from gaudit.audit.planning.plan import Plan
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.assemble import PLANTED_AUC, SHADOW_GAP, assemble, curve, named
from gaudit.audit.results.audit_result import Audit, Section
from gaudit.audit.results.outcome import AttackOutcome, DefenseOutcome
from gaudit.audit.running.ledger import Content
from gaudit.audit.running.trial import TrialResult
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.scored_subjects import ScoredSubjects
from gaudit.audit.statistics.severity import Level
from support import audits

LEAKS = {
    ("none", None): (1.5, 0.8),
    ("label-noise", 4.0): (1.0, 0.75),
    ("label-noise", 1.0): (0.4, 0.6),
    ("fewer-labels", 0.5): (0.7, 0.7),
    ("rounded-posteriors", 0.1): (1.4, 0.8),
}


def parts(leaks=None, **how) -> tuple[Plan, Grid, dict[str, TrialResult]]:
    """What an audit is made of, small."""
    return audits.parts(leaks or {("none", None): (1.5, 0.8)}, **{"members": 60, "others": 100, **how})


def audit_of(plan, grid, results, failures=None) -> Audit:
    return assemble(Content(plan, grid, results, failures or {}, {}, {}))


def failed(audit: Audit) -> list[tuple[str, str]]:
    """The controls that failed: name and what they are about."""
    return [(control.name, control.about) for control in audit.controls if not control.passed]


def with_attacked(result: TrialResult, **changes) -> TrialResult:
    return replace(result, attacked=tuple(replace(a, **changes) for a in result.attacked))


@pytest.fixture(scope="module")
def audit() -> Audit:
    return audits.simulated(LEAKS, seeds=3, members=60, others=100, attacks=("loss", "blind"))


# --- sections


def test_outcomes_are_those_of_the_simulation_with_the_control_first(audit):
    (section,) = audit.sections
    assert section.title == "classifier on citations"
    assert section.seeds == (0, 1, 2)
    assert [o.label for o in section.outcomes] == [
        *("none", "label-noise, epsilon 4", "label-noise, epsilon 1", "fewer-labels", "rounded-posteriors")
    ]
    for outcome, (leak, accuracy) in zip(section.outcomes, LEAKS.values(), strict=True):
        attack = outcome.attacks[0]
        assert attack.auc.seeds == 3
        assert attack.auc.low <= norm.cdf(leak / np.sqrt(2)) <= attack.auc.high
        assert outcome.accuracy.estimate == pytest.approx(accuracy, abs=0.03)
    costs = [o.cost.estimate for o in section.outcomes[1:]]
    assert costs == pytest.approx([0.05, 0.2, 0.1, 0.0], abs=0.03)
    assert section.outcomes[0].cost is None
    assert audit.valid


def test_the_control_comes_first_wherever_it_ran():
    plan, grid, results = parts(dict(reversed(LEAKS.items())), seeds=1)
    assert grid.tasks[1].plan.defense != "none"
    assert audit_of(plan, grid, results).sections[0].outcomes[0].defense == "none"


def test_an_attack_that_reads_no_message_is_a_baseline_without_a_verdict(audit):
    for outcome, verdicts in zip(audit.sections[0].outcomes, audit.sections[0].verdicts, strict=True):
        assert [a.plan.name for a in outcome.attacks] == ["loss", "blind"]
        assert verdicts[0] is not None
        assert verdicts[1] is None
    places = audit.findings()
    assert len(places) == 10
    assert [p.verdict is None for p in places] == [False, True] * 5
    assert [p.outcome.label for p in places[::2]] == [o.label for o in audit.sections[0].outcomes]


def test_two_strengths_of_one_defense_are_not_mixed():
    leaks = {("none", None): (1.5, 0.8), ("label-noise", 1.0): (0.0, 0.5), ("label-noise", 1.5): (3.0, 0.7)}
    (section,) = audits.simulated(leaks, seeds=2, members=60, others=100).sections
    weak, strong = section.outcomes[1:]
    assert (weak.label, strong.label) == ("label-noise, epsilon 1", "label-noise, epsilon 1.5")
    assert (weak.strength, strong.strength) == (1.0, 1.5)
    assert [o.attacks[0].auc.estimate for o in (weak, strong)] == pytest.approx([0.5, 0.98], abs=0.1)
    assert [o.accuracy.estimate for o in (weak, strong)] == pytest.approx([0.5, 0.7], abs=0.03)


def test_one_attack_asked_in_two_ways_is_two_findings():
    plan, grid, results = parts(seeds=2)
    other = AttackPlan("loss", neighbours="none")
    doubled = {
        key: replace(r, attacked=(*r.attacked, *(replace(a, plan=other, judged=a.blind) for a in r.attacked)))
        for key, r in results.items()
    }
    audit = audit_of(plan, grid, doubled)
    told, blind = audit.sections[0].outcomes[0].attacks
    assert (named(told), named(blind)) == ("loss by public", "loss by public, edges none")
    assert told.auc.low > blind.auc.high


def test_a_section_for_each_target_and_graph_that_has_run():
    plan, grid, results = parts(datasets=("citations", "a graph of <mine>"), seeds=2)
    audit = audit_of(plan, grid, results)
    assert [s.dataset for s in audit.sections] == ["citations", "a graph of <mine>"]
    first = {task.key: results[task.key] for task in grid.tasks if task.cell <= 0}
    audit = audit_of(plan, grid, first)
    assert [s.dataset for s in audit.sections] == ["citations"]
    assert audit.missing == 2
    assert audit_of(plan, grid, {}).sections == ()


def test_cells_that_share_trials_have_them_both_and_count_them_once():
    plan, grid, results = parts(seeds=2)
    again = tuple(replace(task, cell=1) for task in grid.tasks if task.cell == 0)
    cell = Cell("classifier", {}, "the same", "what is published", {"ldp": "it never sends gradients"})
    shared = replace(grid, cells=(*grid.cells, cell), tasks=(*grid.tasks, *again))
    audit = audit_of(plan, shared, results)
    assert len(audit.sections) == 2
    assert audit.sections[0].outcomes[0].as_dict() == audit.sections[1].outcomes[0].as_dict()
    assert audit.sections[1].refused == {"ldp": "it never sends gradients"}
    key = again[0].key
    without = {k: r for k, r in results.items() if k != key}
    assert audit_of(plan, shared, without).missing == 1
    assert len(audit_of(plan, shared, without, {key: "out of luck"}).failures) == 1


# --- what is missing


def test_missing_and_failed_trials_are_counted():
    plan, grid, results = parts(LEAKS, seeds=3)
    lost = [task for task in grid.tasks if task.plan.defense == "label-noise" and task.plan.index == 2]
    left = {key: r for key, r in results.items() if key not in {task.key for task in lost}}
    audit = audit_of(plan, grid, left, {lost[0].key: "out of memory"})
    assert audit.missing == 1
    assert [(f.trial, f.reason) for f in audit.failures] == [(lost[0].title, "out of memory")]
    seeds = {o.label: o.attacks[0].auc.seeds for o in audit.sections[0].outcomes}
    assert seeds["label-noise, epsilon 4"] == seeds["label-noise, epsilon 1"] == 2
    assert seeds["none"] == 3
    assert audit.sections[0].outcomes[1].cost.seeds == 2  # paired with the control's same seeds
    assert audit.sections[0].seeds == (0, 1, 2)
    assert audit.valid


def test_without_its_control_a_defense_has_no_cost():
    plan, grid, results = parts(LEAKS, seeds=2)
    control = {task.key for task in grid.tasks if task.plan.defense == "none" and task.cell >= 0}
    audit = audit_of(plan, grid, {key: r for key, r in results.items() if key not in control})
    assert audit.missing == 2
    assert all(outcome.cost is None for outcome in audit.sections[0].outcomes)


# --- controls


@pytest.mark.parametrize(
    ("planted", "valid"),
    [(4.0, True), (norm.isf(1 - 0.85) * np.sqrt(2), True), (norm.isf(1 - 0.65) * np.sqrt(2), False), (0.0, False)],
)
def test_a_planted_leak_that_is_missed_makes_the_audit_invalid(planted, valid):
    audit = audits.simulated({("none", None): (0.0, 0.8)}, planted=planted, members=150, others=150)
    assert audit.valid is valid
    assert failed(audit) == ([] if valid else [("planted leak", "loss by public")])
    assert 0.65 < PLANTED_AUC < 0.85


def test_every_attack_must_find_the_planted_leak():
    plan, grid, results = parts(attacks=("loss", "lira"))
    found = results["planted"].attacked
    missed = replace(found[1], judged=found[1].blind)
    audit = audit_of(plan, grid, {**results, "planted": replace(results["planted"], attacked=(found[0], missed))})
    assert failed(audit) == [("planted leak", "lira by public")]


def test_a_planted_trial_that_could_not_be_run_makes_the_audit_invalid():
    plan, grid, results = parts()
    left = {key: r for key, r in results.items() if key != "planted"}
    audit = audit_of(plan, grid, left, {"planted": "no party 'client:12' in this run"})
    assert not audit.valid
    (control,) = (control for control in audit.controls if not control.passed)
    assert control.detail == "it could not be tried: no party 'client:12' in this run"
    waiting = audit_of(plan, grid, left)
    assert (waiting.valid, waiting.missing) == (True, 1)  # it has not run yet


def test_an_attack_that_was_not_tried_on_the_planted_leak_is_not_believed_elsewhere():
    plan, grid, results = parts(attacks=("loss", "lira"))
    planted = results["planted"]
    refusing = replace(planted, attacked=planted.attacked[:1], refused={"lira": "it needs shadow models"})
    audit = audit_of(plan, grid, {**results, "planted": refusing})
    assert failed(audit) == [("planted leak", "lira by public")]
    assert "it could not be tried: it needs shadow models" in [c.detail for c in audit.controls]
    nowhere = {key: replace(r, attacked=r.attacked[:1]) for key, r in results.items()}
    assert audit_of(
        plan, grid, {**nowhere, "planted": refusing}
    ).valid  # where nothing rests on it, nothing is lost


def test_a_score_that_knows_the_permuted_truth_fails_the_null_control():
    """Such scoring would find a leak in anything."""
    plan, grid, results = parts(seeds=2)
    key = grid.tasks[1].key
    judged = results[key].attacked[0].judged
    knowing = ScoredSubjects(
        judged.subjects, np.random.default_rng(0).permutation(judged.truth).astype(float), judged.truth
    )
    alone = {"planted": results["planted"], key: with_attacked(results[key], judged=knowing)}
    audit = audit_of(plan, grid, alone)
    assert failed(audit) == [("null", "loss by public, classifier on citations, none")]
    assert not audit.valid


def test_null_controls_of_sound_audits_pass():
    """Each is wrong once in 1000; of 40 more than one fails by chance once in 1000."""
    leaks = {("none", None): (1.0, 0.8)} | {("label-noise", 1.0 + i): (0.0, 0.7) for i in range(19)}
    misses = 0
    for size in (30, 40):
        plan, grid, results = parts(leaks, seeds=1, members=size, others=60)
        audit = audit_of(plan, grid, results)
        nulls = [control for control in audit.controls if control.name == "null"]
        assert len(nulls) == 20
        misses += sum(not control.passed for control in nulls)
    assert misses <= 1


@pytest.mark.parametrize(
    ("accuracies", "valid"),
    [
        (None, True),
        ((0.8, 0.8), True),
        ((0.8, 0.8 - SHADOW_GAP + 0.01), True),
        ((0.8, 0.8 - SHADOW_GAP - 0.01), False),
        ((0.5, 0.5 + SHADOW_GAP + 0.01), False),  # better is as wrong as worse
    ],
)
def test_shadow_models_far_from_the_target_make_the_audit_invalid(accuracies, valid):
    plan, grid, results = parts()
    audit = audit_of(plan, grid, {key: with_attacked(r, accuracies=accuracies) for key, r in results.items()})
    assert audit.valid is valid
    about = "loss by public, classifier on citations, none"
    assert failed(audit) == ([] if valid else [("shadow accuracy", about)])


def test_defended_targets_may_be_worse_than_shadow_models():
    plan, grid, results = parts({("none", None): (1.0, 0.8), ("label-noise", 1.0): (0.5, 0.5)})
    keys = {task.key for task in grid.tasks if task.plan.defense == "label-noise"}
    far = {key: with_attacked(r, accuracies=(0.4, 0.8)) if key in keys else r for key, r in results.items()}
    assert audit_of(plan, grid, far).valid


# --- curves


def test_a_curve_goes_by_family_and_strength_and_says_what_each_point_is(audit):
    identity = audit.sections[0].outcomes[0].attacks[0].plan.identity
    points = curve(audit.sections[0], identity)
    assert [(p.family, p.strength, p.role) for p in points] == [
        ("none", None, "control"),
        ("label-noise", 1.0, "defense"),
        ("label-noise", 4.0, "defense"),
        ("fewer-labels", 0.5, "alternative"),
        ("rounded-posteriors", 0.1, "defense"),
    ]
    by_label = {o.label: o for o in audit.sections[0].outcomes}
    for point in points:
        assert point.utility is by_label[point.label].accuracy
        assert point.leak is by_label[point.label].attacks[0].auc
    assert curve(audit.sections[0], ("absent", "public", "true", "{}")) == []


def finding(estimate: float | None) -> Finding:
    return Finding("made up", estimate, None, None, 0.95, "made up", "indicative")


def section_of(points: list[tuple[float | None, float | None]]) -> Section:
    """A section with a defense at several strengths: accuracy and AUC of each."""
    made = []
    for strength, (utility, leak) in enumerate(points):
        attack = AttackOutcome(
            AttackPlan("loss"), 1, "", finding(leak), finding(0.5), finding(0.1), (), finding(0.5), {}
        )
        settings = {"epsilon": float(strength)}
        made.append(
            DefenseOutcome(
                *(
                    "label-noise",
                    "",
                    None,
                    settings,
                    finding(utility),
                    finding(utility),
                    None,
                    (attack,),
                    (),
                    {},
                    {},
                ),
                *((), (), {}, "epsilon", f"label-noise, epsilon {strength}"),
            )
        )
    return Section("classifier", {}, "made up", "", (0,), tuple(made), tuple((None,) for _ in made), {})


SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]) | st.floats(0, 1)


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=12))
def test_the_front_is_that_of_brute_force(points):
    found = curve(section_of(points), AttackPlan("loss").identity)
    assert [(p.utility.estimate, p.leak.estimate) for p in found] == points
    for point, (utility, leak) in zip(found, points, strict=True):
        beaten = any(u >= utility and v <= leak and (u, v) != (utility, leak) for u, v in points)
        assert point.on_front is not beaten
    assert any(point.on_front for point in found)


def test_points_without_a_number_are_left_out():
    points = curve(section_of([(None, 0.1), (0.5, None), (0.4, 0.6)]), AttackPlan("loss").identity)
    assert [(p.utility.estimate, p.leak.estimate, p.on_front) for p in points] == [(0.4, 0.6, True)]


def test_levels_follow_the_plans_scale():
    plan, grid, results = parts(seeds=3, members=300, others=1000)
    level = audit_of(plan, grid, results).sections[0].verdicts[0][0].level
    assert level in (Level.MODERATE, Level.HIGH)
    severe = plan.model_copy(update={"severity": plan.severity.model_copy(update={"severe": 2.0, "high": 1.5})})
    assert audit_of(severe, grid, results).sections[0].verdicts[0][0].level is Level.SEVERE
    rate = plan.model_copy(update={"severity": plan.severity.model_copy(update={"fpr": 0.1})})
    assert audit_of(rate, grid, results).sections[0].outcomes[0].attacks[0].decisive.metric == "tpr@fpr=0.1"

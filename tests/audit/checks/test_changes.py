"""Two audits side by side: what is called better or worse, how often by mistake, and what is not compared."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from gaudit.audit.checks.changes import ALPHA, Direction, changes
from gaudit.audit.results.audit_result import Audit
from support.audits import simulated

BASE = {("none", None): (0.8, 0.8), ("ldp", 1.0): (0.4, 0.7)}


@pytest.fixture(scope="module")
def audit() -> Audit:
    return simulated(BASE, attacks=("loss", "nearest"), seeds=5, members=60, others=60)


def measured(audit: Audit, by_seed: list[dict[int, float]]) -> Audit:
    """The audit with other AUCs by seed, one dictionary for each finding."""
    values = iter(by_seed)
    (section,) = audit.sections
    outcomes = tuple(
        replace(
            o,
            attacks=tuple(replace(a, by_seed={i: {"auc": v} for i, v in next(values).items()}) for a in o.attacks),
        )
        for o in section.outcomes
    )
    return replace(audit, sections=(replace(section, outcomes=outcomes),))


def drawn(rng: np.random.Generator, *means: float, seeds: int = 5) -> list[dict[int, float]]:
    return [dict(enumerate(mean + 0.03 * rng.normal(size=seeds))) for mean in means]


def test_two_audits_of_the_same_are_the_same(audit):
    found = changes(audit, audit)
    assert [c.direction for c in found.found] == [Direction.SAME] * 4
    assert (found.added, found.dropped, found.remarks) == ((), (), ())


def test_a_rise_is_worse_a_fall_is_better_and_the_worst_comes_first(audit):
    rng = np.random.default_rng(0)
    before = measured(audit, drawn(rng, 0.6, 0.6, 0.6, 0.6))
    now = measured(audit, drawn(rng, 0.6, 0.4, 0.8, 0.6))
    found = changes(now, before).found
    assert [c.direction for c in found[:2]] == [Direction.WORSE, Direction.BETTER]
    assert {c.direction for c in found[2:]} == {Direction.OPEN}
    assert found[0].auc.mean == pytest.approx(0.2, abs=0.05)


def test_where_nothing_changed_a_change_is_called_in_at_most_alpha_of_audits(audit):
    """Four findings, five seeds, other randomness in each audit: the tests together are to err in one of twenty."""
    rng, runs = np.random.default_rng(1), 400
    alarms = 0
    for _ in range(runs):
        found = changes(measured(audit, drawn(rng, *[0.6] * 4)), measured(audit, drawn(rng, *[0.6] * 4)))
        alarms += any(c.direction in (Direction.WORSE, Direction.BETTER) for c in found.found)
    assert alarms <= binom.isf(0.001, runs, ALPHA)


def test_skewed_differences_that_mean_nothing_are_no_change(audit):
    """Mostly +.01, one in ten -.09: a t-test of five seeds alone takes most of them for a rise."""
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(100):
        rises = [dict(enumerate(0.6 + rng.choice([0.01, -0.09], 5, p=[0.9, 0.1]))) for _ in range(4)]
        found = changes(measured(audit, rises), measured(audit, [dict.fromkeys(range(5), 0.6)] * 4))
        alarms += found.count(Direction.WORSE)
    assert alarms == 0


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ([{7: 0.6}] * 4, "the two audits have no seed in common"),
        ([{0: 0.6}] * 4, "one seed in common has no spread to compare with"),
    ],
)
def test_what_cannot_be_compared_is_said_to(audit, now, why):
    found = changes(measured(audit, now), measured(audit, [{0: 0.5, 1: 0.5}] * 4))
    assert {(c.direction, c.why) for c in found.found} == {(Direction.UNKNOWN, why)}


def test_below_chance_less_is_not_better(audit):
    now = measured(audit, [dict.fromkeys(range(5), 0.2)] * 4)
    (section,) = now.sections
    outcomes = tuple(
        replace(o, attacks=tuple(replace(a, auc=replace(a.auc, high=0.3)) for a in o.attacks))
        for o in section.outcomes
    )
    turned = replace(now, sections=(replace(section, outcomes=outcomes),))
    found = changes(turned, measured(audit, [dict.fromkeys(range(5), 0.6)] * 4))
    assert {c.direction for c in found.found} == {Direction.UNKNOWN}


def test_findings_of_one_audit_alone_and_other_differences_are_named(audit):
    (section,) = audit.sections
    alone = replace(section, outcomes=section.outcomes[:1], verdicts=section.verdicts[:1])
    part = replace(
        audit,
        sections=(alone,),
        fingerprint="other",
        plan=audit.plan.model_copy(update={"seed": 3}),
        versions={"gaudit": "0.0.1"},
        missing=1,
    )
    found = changes(audit, part)
    assert len(found.found) == 2
    assert {place.outcome.label for place in found.added} == {"ldp"}
    assert {place.outcome.label for place in changes(part, audit).dropped} == {"ldp"}
    told = " ".join(found.remarks)
    assert all(
        part in told for part in ("did not measure the same", "3 then, 0 now", "gaudit 0.0.1", "not complete")
    )

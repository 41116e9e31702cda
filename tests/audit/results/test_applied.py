"""Whether an audit attacked anything at all."""

from dataclasses import replace

import pytest

from gaudit.audit.results.applied import nothing_attacked
from gaudit.audit.results.audit_result import Audit
from support.audits import simulated


@pytest.fixture(scope="module")
def audit() -> Audit:
    return simulated({("none", None): (0.5, 0.8)}, seeds=1, members=40, others=40)


def changed(audit: Audit, refused: dict[str, str], judged: bool) -> Audit:
    """The audit with attacks refused, and its finding a leak or a baseline that reads nothing."""
    (section,) = audit.sections
    outcomes = tuple(replace(outcome, refused=refused) for outcome in section.outcomes)
    verdicts = section.verdicts if judged else tuple((None,) * len(row) for row in section.verdicts)
    return replace(audit, sections=(replace(section, outcomes=outcomes, verdicts=verdicts),))


def test_it_says_why_where_all_that_read_something_were_refused(audit):
    said = nothing_attacked(changed(audit, {"mia": "it needs a client"}, judged=False))
    assert said.startswith("no attack applied, so nothing was measured: mia on classifier on citations: it needs a")
    assert "gaudit list attacks" in said


@pytest.mark.parametrize(
    ("refused", "judged"),
    [({}, True), ({"mia": "it needs a client"}, True), ({}, False)],
    ids=["all apply", "another applies", "a baseline alone was asked for"],
)
def test_it_is_silent_where_something_was_measured_or_nothing_refused(audit, refused, judged):
    assert nothing_attacked(changed(audit, refused, judged)) is None


def test_an_unfinished_audit_says_so_elsewhere(audit):
    part = changed(audit, {"mia": "it needs a client"}, judged=False)
    assert nothing_attacked(replace(part, missing=1)) is None

"""Advice and numbers agree: what is recommended is shown to help, what is shown to harm is called harmful."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gaudit.audit.results.audit_result import Audit, Section
from gaudit.audit.results.outcome import AttackOutcome
from gaudit.audit.results.verdict import Verdict
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.severity import Level, Scale
from gaudit.reports.figures.charts import identities
from gaudit.reports.figures.evidence_tables import counts_table, named_share
from gaudit.reports.figures.marks import marks
from gaudit.reports.figures.roc_chart import RocCurve
from gaudit.reports.formats.html import as_html
from gaudit.reports.formats.markdown import as_markdown
from gaudit.reports.text.answers import rate_at
from gaudit.reports.text.comparison import compared, help_for
from gaudit.reports.text.overview import overall
from gaudit.reports.text.tables import attackers_table
from support.audits import simulated

LEAKS = {
    ("none", None): (1.2, 0.8),
    ("ldp", 1.0): (0.0, 0.5),
    ("ldp", 10.0): (0.6, 0.75),
    ("fewer-labels", 0.5): (0.3, 0.7),
}
LEVELS = list(Level)
RECOMMENDS = re.compile(
    r"(?:(?:costs least of those shown to help,?|leaks least|A trivial alternative is shown to help:)(?: is)? "
    r"|The recommended defense is |The trivial alternative )(fewer-labels|ldp, epsilon 10|ldp, epsilon 1)(?=[ ,.])"
)


@pytest.fixture(scope="module")
def audit() -> Audit:
    return simulated(LEAKS, attacks=("loss", "nearest"), seeds=3, listed=("ldp",))


def around(metric: str, value: float, reach: float) -> Finding:
    low, high = max(0.0, value - reach), min(1.0, value + reach)
    return Finding(metric, value, low, high, 0.95, "made up", "valid")


def made_up(section: Section, rng: np.random.Generator) -> Section:
    """The section with numbers drawn at random: levels, AUCs, rates and costs that need not go together."""

    def attack(old: AttackOutcome) -> AttackOutcome:
        rate = around("tpr@fpr=0.01", rng.uniform(0, 0.3), rng.uniform(0, 0.1))
        auc = around("auc", rng.uniform(0.3, 0.95), rng.uniform(0.005, 0.15))
        return replace(old, auc=auc, tpr=(rate,), decisive=rate)

    def judged() -> Verdict:
        return Verdict(LEVELS[rng.integers(len(LEVELS))], 1.0, 0.5, 2.0, "made up")

    outcomes = tuple(
        replace(
            o,
            attacks=tuple(map(attack, o.attacks)),
            accuracy=around("accuracy", rng.uniform(0.2, 0.9), 0.03),
            cost=None if o.cost is None else around("accuracy", rng.uniform(0, 0.6), 0.1),
        )
        for o in section.outcomes
    )
    return replace(
        section, outcomes=outcomes, verdicts=tuple(tuple(judged() for _ in row) for row in section.verdicts)
    )


def found(section: Section, label: str, identity: tuple[str, ...]) -> tuple[AttackOutcome, Verdict]:
    pairs = zip(section.outcomes, section.verdicts, strict=True)
    return next(
        (a, v)
        for o, row in pairs
        for a, v in zip(o.attacks, row, strict=True)
        if o.label == label and a.plan.identity == identity
    )


def less(one: AttackOutcome, other: AttackOutcome) -> bool:
    """Whether an attack is shown to tell less than another, whichever way round its scores are read."""

    def ends(auc: Finding) -> tuple[float, float]:
        return (1 - auc.high, 1 - auc.low) if auc.high < 0.5 else (auc.low, auc.high)

    return ends(one.auc)[1] < ends(other.auc)[0]


def test_no_sentence_recommends_what_is_not_shown_to_help_or_has_a_worse_level(audit):
    rng, recommended, harmful = np.random.default_rng(0), 0, 0
    for _ in range(300):
        section = made_up(audit.sections[0], rng)
        drawn = replace(audit, sections=(section,))
        for identity in identities(section):
            control, now = found(section, "none", identity)
            place = next(p for p in drawn.findings() if p.attack is control)
            said = [*compared(section, identity), *help_for(place, Scale())]
            for label in RECOMMENDS.findall(" ".join(said)):
                attack, after = found(section, label, identity)
                assert less(attack, control), (label, said)
                assert after.level.severity <= now.level.severity, (label, said)
                others = (i for i in identities(section) if i != identity)
                assert not any(less(found(section, "none", i)[0], found(section, label, i)[0]) for i in others)
                recommended += 1
            raised = {o.label for o in section.outcomes[1:] if less(control, found(section, o.label, identity)[0])}
            told = " ".join(compared(section, identity))
            assert {label for label in raised if f"Do not use {label}: it raises the AUC" in told} == raised
            harmful += len(raised)
    assert recommended > 100
    assert harmful > 100


def at(section: Section, label: str, **numbers: object) -> Section:
    """The section with other numbers for the first attack under one defense."""
    outcomes = []
    for o in section.outcomes:
        first = replace(o.attacks[0], **numbers) if o.label == label else o.attacks[0]  # type: ignore[arg-type]
        outcomes.append(replace(o, attacks=(first, *o.attacks[1:])))
    return replace(section, outcomes=tuple(outcomes))


def test_a_defense_that_raises_the_leak_is_called_harmful_with_its_cost(audit):
    section = at(audit.sections[0], "none", auc=around("auc", 0.58, 0.02))
    section = at(section, "ldp, epsilon 1", auc=around("auc", 0.68, 0.02))
    said = " ".join(compared(section, identities(section)[0]))
    assert (
        "Do not use ldp, epsilon 1: it raises the AUC of loss by public from 0.58 [0.56, 0.60] to 0.68 [0.66, 0.70]"
        in said
    )
    assert re.search(r"0\.70\], at a cost of [\d.]+ \[[\d., -]+\] points of accuracy", said)
    for text in (as_html(replace(audit, sections=(section,))), as_markdown(replace(audit, sections=(section,)))):
        assert "Do not use ldp, epsilon 1: it raises" in re.sub("<[^>]+>", "", text)


def test_a_defense_that_raises_what_another_attack_tells_is_not_recommended(audit):
    section = audit.sections[0]
    other = identities(section)[1]
    raised = at(section, "none", auc=around("auc", 0.58, 0.02))
    raised = at(raised, "ldp, epsilon 1", auc=around("auc", 0.68, 0.02))
    said = " ".join(compared(raised, other))
    assert "Not recommended: ldp, epsilon 1 (AUC" in said
    assert "It is shown to raise the AUC of loss by public from 0.58" in said
    assert "ldp, epsilon 1" not in RECOMMENDS.findall(said)


def test_help_tells_the_level_now_and_after_and_only_differences_that_are_shown(audit):
    section = audit.sections[0]
    twelve, eleven = around("tpr@fpr=0.01", 0.12, 0.03), around("tpr@fpr=0.01", 0.11, 0.03)
    section = at(section, "none", auc=around("auc", 0.76, 0.03), tpr=(twelve,), decisive=twelve)
    section = at(section, "fewer-labels", auc=around("auc", 0.70, 0.02), tpr=(eleven,), decisive=eleven)
    high, moderate = (Verdict(level, 1.0, 0.5, 2.0, "made up") for level in (Level.HIGH, Level.MODERATE))
    rows = [[v or high for v in row] for row in section.verdicts]
    rows[0][0] = high
    rows[[o.label for o in section.outcomes].index("fewer-labels")][0] = moderate
    section = replace(section, verdicts=tuple(map(tuple, rows)))
    place = replace(audit, sections=(section,)).findings()[0]
    (said,) = [text for text in help_for(place, Scale()) if "trivial alternative" in text]
    assert "The trivial alternative fewer-labels is shown to help. With it the level is moderate" in said
    assert ", where it is high now, at a cost of " in said
    assert "The AUC falls from 0.76 [0.73, 0.79] to 0.70 [0.68, 0.72], by at least 0.01." in said
    assert (
        "That fewer people are named at few false accusations is not shown: 11 in 100 (95 %: 8 to 14) with it, 12"
        in said
    )


def test_one_rate_is_one_number_in_answers_and_tables_of_the_curve():
    """Answers in whole numbers leave ties: a curve that flags nobody at 1 % stood beside a rate by lot."""
    audit = simulated({("none", None): (1.0, 0.8)}, seeds=2)
    section, outcome = audit.sections[0], audit.sections[0].outcomes[0]
    attack = outcome.attacks[0]
    tied = replace(attack.roc, fpr=np.array([0.0, 0.5, 1.0]), tpr=np.array([0.0, 0.8, 1.0]))
    rate = rate_at(attack, 0.01)
    curve = RocCurve("none", marks(section)["none"], tied, ((0.01, rate),))
    assert named_share(curve, 0.01) == rate.estimate
    (row,) = [row for row in counts_table([curve], 0.01).rows if row[1] == "1 %"]
    assert row[3] == f"{100 * rate.estimate:.1f} %"
    assert row[4] == f"{round(rate.estimate * tied.members)} of {tied.members}"


def test_the_attacker_is_told_as_it_was_granted():
    """Loss thresholds are an auditor's, who knows the labels of all in question: no mere outsider."""
    audit = simulated({("none", None): (1.2, 0.8)}, seeds=1)
    for text in (as_html(audit), as_markdown(audit)):
        assert (
            "Someone who holds what is published of the trained model and knows every edge and the labels" in text
        )
        assert "An outsider who holds" not in text
        assert "This attacker knows nothing." in text  # as the simulated grant says


def test_a_defense_that_leaves_a_lower_level_is_recommended_before_a_cheaper_one(audit):
    """What is recommended at the top, in the answers and in Markdown is one defense, with one level."""
    section = at(audit.sections[0], "ldp, epsilon 10", auc=around("auc", 0.66, 0.02))
    rows = [list(row) for row in section.verdicts]
    low, none = (Verdict(level, 1.0, 0.5, 2.0, "made up") for level in (Level.UNSIZED, Level.INCONCLUSIVE))
    for outcome, row in zip(section.outcomes, rows, strict=True):
        row[:] = [low if outcome.label in ("none", "ldp, epsilon 10") else none for _ in row]
    section = at(section, "none", auc=around("auc", 0.9, 0.02))
    section = at(section, "ldp, epsilon 1", auc=around("auc", 0.5, 0.02))
    made = replace(audit, sections=(replace(section, verdicts=tuple(map(tuple, rows))),))
    (line,) = overall(made)
    assert line.after.startswith("With ldp, epsilon 1 the level is inconclusive")
    assert "Whether any leak is left is then open." in line.after
    said = help_for(made.findings()[0], Scale())[0]
    assert said.startswith("The recommended defense is ldp, epsilon 1. With it the level is inconclusive")
    assert "ldp, epsilon 10 also helps" in said
    assert 'with it the level is "leak found, size not measurable"' in said


def test_who_is_granted_all_labels_is_never_called_an_outsider():
    audit = simulated({("none", None): (1.2, 0.8)}, seeds=1)
    (row,) = attackers_table(audit).rows
    assert row[1] == "Someone who knows every edge and the labels of all people in question"
    assert "An outsider" not in as_html(audit)

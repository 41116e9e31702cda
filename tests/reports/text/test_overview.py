"""The top of a report, what changed, and the links to the meaning of words."""

import json
from dataclasses import replace

import pytest

from gaudit.audit.results.audit_result import Audit, AuditControl
from gaudit.audit.statistics.severity import Level
from gaudit.errors import InputError
from gaudit.reports.formats.exports import as_json, as_table
from gaudit.reports.formats.html import as_html
from gaudit.reports.formats.markdown import as_markdown
from gaudit.reports.text.explanations import GLOSSARY
from gaudit.reports.text.overview import facts, overall
from gaudit.reports.text.terms import USES, anchor, linked
from support.audits import simulated

SIZE = {"nodes": 2708, "edges": 5278, "classes": 7}


@pytest.fixture(scope="module")
def audit() -> Audit:
    made = simulated({("none", None): (1.2, 0.8)}, datasets=("citations", "digits"), seeds=3)
    sections = tuple(replace(section, size=SIZE) for section in made.sections)
    return replace(made, sections=sections)


def test_each_question_has_one_verdict_and_it_is_the_worst(audit):
    first, second = audit.sections
    severe = replace(second.verdicts[0][0], level=Level.SEVERE)
    worst = replace(audit, sections=(first, replace(second, verdicts=((severe,),))))
    (line,) = overall(worst)
    assert (line.question, line.level) == ("Was this person's label trained on?", Level.SEVERE)
    assert line.attacker.startswith("Someone who holds what is published of the trained model and knows every edge")
    assert line.promised == "Without a defense: nothing that can be checked."
    assert (
        line.basis
        == "loss by public against classifier on digits, without a defense; the worst of 2 pipelines and graphs."
    )
    for text in (as_html(worst), as_markdown(worst)):
        assert text.index("the worst of 2 pipelines and graphs") < text.index(
            "Answers</h2>" if "</h2>" in text else "## Answers"
        )


NOISE = ("label-noise", 1.0)


@pytest.mark.parametrize(
    ("leaks", "sizes", "decision", "after"),
    [
        ({("none", None): (3.0, 0.8)}, {}, "Do not release it as it is.", "No defense was tried."),
        (
            {("none", None): (3.0, 0.8), NOISE: (0.0, 0.7)},
            {"members": 1000, "others": 4000},
            "Do not release it as it is.",
            'With label-noise the level is "not found", at a cost of',
        ),
        (
            {("none", None): (3.0, 0.8), NOISE: (3.0, 0.7)},
            {},
            "Do not release it as it is.",
            "No defense that was tried is shown to help.",
        ),
        (
            {("none", None): (0.0, 0.8)},
            {"members": 1000, "others": 4000},
            "The attacks that were tried found nothing that speaks against a release.",
            "",
        ),
    ],
)
def test_the_top_says_what_to_do_and_what_helps(leaks, sizes, decision, after):
    made = simulated(leaks, listed=("label-noise",) if NOISE in leaks else (), **sizes)
    (line,) = overall(made)
    assert line.decision == decision
    assert line.after.startswith(after)
    assert bool(line.after) == bool(after)
    for text in (as_html(made), as_markdown(made)):
        assert decision in text


def test_what_is_left_is_told_of_the_strongest_attack_on_the_defense():
    """A defense that stops the strongest attack of all may leave another one."""
    leaks = {("none", None): (3.0, 0.8), NOISE: (0.0, 0.7)}
    made = simulated(leaks, attacks=("loss", "mia"), listed=("label-noise",), members=1000, others=4000)
    (section,) = made.sections
    first, second = section.verdicts[1]
    other = replace(section, verdicts=(section.verdicts[0], (replace(first, level=Level.HIGH), second)))
    (line,) = overall(replace(made, sections=(other,)))
    assert line.after.startswith("With label-noise the level is high (loss by public), at a cost of")


def test_an_invalid_audit_has_no_verdict_at_the_top(audit):
    broken = replace(audit, controls=(*audit.controls, AuditControl("null", "loss", False, "AUC 0.9")))
    assert overall(broken) == []


def test_the_top_names_date_size_and_version(audit):
    told = dict(facts(replace(audit, date="2026-01-31")))
    assert told["Date of this report"] == "2026-01-31"
    assert told["Graph citations"] == "2 708 nodes, 5 278 edges, 7 classes"
    assert told["gaudit"] == "0.0.0"
    assert dict(facts(audit))["Date of this report"].startswith("not given")
    for text in (as_html(audit), as_markdown(audit)):
        assert "2 708 nodes, 5 278 edges, 7 classes" in text.split("Answers")[0] + text.split("Answers")[1]


def test_what_changed_is_told_in_every_format_that_has_room(audit):
    leakier = simulated({("none", None): (2.5, 0.8)}, datasets=("citations", "digits"), seeds=3)
    both = replace(leakier, before=audit)
    for text in (as_html(both), as_markdown(both)):
        assert "What has changed" in text
        assert "Both audits have 2 findings in common: 2 became worse, and 0 became better." in text
    first = json.loads(as_json(both))["changes"][0]
    assert first["change"] == "worse"
    assert first["difference_low"] < first["difference"] < first["difference_high"]
    assert first["difference"] == pytest.approx(first["auc"] - first["auc_before"], abs=0.02)
    with pytest.raises(InputError, match="compare two in html"):
        as_table(both)
    assert "What has changed" not in as_html(audit)
    assert "changes" not in json.loads(as_json(audit))


def test_an_invalid_audit_is_not_compared(audit):
    bad = replace(audit, controls=(*audit.controls, AuditControl("null", "loss", False, "AUC 0.9")))
    assert "The audit before is invalid: its numbers cannot be compared." in as_markdown(replace(audit, before=bad))
    assert "This audit is invalid: its numbers cannot be compared." in as_markdown(replace(bad, before=audit))


def test_every_word_of_the_glossary_is_linked_from_its_use(audit):
    assert set(USES) == {word for word, _ in GLOSSARY}
    page = as_html(audit)
    for word in USES:
        assert f'<dt id="{anchor(word)}">' in page
        assert f'<a class="term" href="#{anchor(word)}">' in page, word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("an AUC of an AUC", 'an <a class="term" href="#word-auc">AUC</a> of an AUC'),
        (
            "2 trivial alternatives",
            '2 <a class="term" href="#word-trivial-alternative">trivial alternatives</a>',
        ),
        ("remembered, AUCs &amp; more", "remembered, AUCs &amp; more"),
    ],
)
def test_the_first_use_of_a_whole_word_is_linked(text, shown):
    assert linked(text) == shown

"""Reports of audits in which something is missing, failed or odd: the top is true, and in whole plain sentences."""

import re
from dataclasses import replace

import pytest

from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.audit.results.assemble import assemble
from gaudit.audit.results.audit_result import Audit
from gaudit.audit.running.ledger import Content
from gaudit.audit.statistics.severity import Level
from gaudit.reports.console.brief_console import notes
from gaudit.reports.formats.cards import cards
from gaudit.reports.formats.html import as_html
from gaudit.reports.formats.markdown import as_markdown
from gaudit.reports.text.answers import answers, nothing_answered, warnings
from gaudit.reports.text.comparison import compared, help_for
from gaudit.reports.text.effects import effects
from gaudit.reports.text.overview import overall
from gaudit.reports.text.sentences import actor, level_called
from support.audits import parts, simulated

CONTROL, NOISE = ("none", None), ("label-noise", 1.0)
LEAKS = {CONTROL: (1.2, 0.8), NOISE: (0.0, 0.7)}


def with_failures(*failing: str, reason: str = "the service did not answer within 30 s", **how) -> Audit:
    """An audit of which every trial failed whose key has one of some texts in it."""
    plan, grid, results = parts(**{"leaks": LEAKS, "listed": ("label-noise",), **how})
    lost = {key for key in results if any(text in key for text in failing)}
    kept = {key: result for key, result in results.items() if key not in lost}
    return assemble(Content(plan, grid, kept, dict.fromkeys(lost, reason), {"gaudit": "0.0.0"}, {}))


def test_a_defense_that_failed_is_not_told_as_never_tried():
    audit = with_failures("label-noise")
    ((place, _),) = answers(audit)
    (line,) = overall(audit)
    said = [line.after, *help_for(place, audit.plan.severity), *compared(place.section, place.attack.plan.identity)]
    assert set(said) == {"No defense has a result: none of those that were planned has run."}
    assert warnings(audit) == [
        "3 trials could not be run: the service did not answer within 30 s.",
        "The defense label-noise at 1 has no result on classifier on citations.",
    ]


def test_a_pipeline_of_which_nothing_ran_is_named_before_the_verdict_of_the_others():
    audit = with_failures("digits-", datasets=("citations", "digits"))
    for text in (as_html(audit), as_markdown(audit)):
        said = text.index("There is no answer on classifier on digits: none of its trials has a result.")
        assert said < text.index("Do not release it as it is.")


def test_an_audit_of_which_everything_failed_says_so_and_why():
    audit = with_failures("citations-")
    first, second = warnings(audit)
    assert first.startswith("Nothing has been measured, since every trial failed.")
    assert second == "6 trials could not be run: the service did not answer within 30 s."
    page = re.sub("<[^>]+>", "", as_html(audit))
    assert "None: no trial has a result." in page
    assert "Nobody: no attack has a result." in page
    assert "the service did not answer" in cards(audit)


def test_what_was_measured_of_a_defense_alone_is_no_answer_and_not_nothing():
    audit = with_failures("citations-none")
    assert nothing_answered(audit) == "None: the pipeline without a defense has no result."
    for text in (as_html(audit), as_markdown(audit), cards(audit)):
        assert "nothing was measured" not in text
        assert "the pipeline without a defense has no result." in text


@pytest.mark.parametrize("level", Level)
def test_a_level_of_several_words_is_no_part_of_the_sentence(level):
    """ "The level is not found" would say that there is no level."""
    assert level_called(level) == (f'"{level}"' if " " in str(level) else str(level))


@pytest.mark.parametrize(
    ("leak", "sizes"), [(1.2, {}), (0.0, {"members": 1000, "others": 4000}), (0.05, {"others": 150})]
)
def test_no_sentence_of_an_answer_is_long_and_each_is_whole(leak, sizes):
    for seeds in (1, 3):
        ((place, text),) = answers(simulated({CONTROL: (leak, 0.8)}, seeds=seeds, **sizes))
        for sentence in re.split(r"(?<=[a-z\d)])\. ", f"{text} {place.verdict.reason}."):
            assert len(sentence.split()) <= 30, sentence
            assert sentence[0].isupper()


def test_whoever_knows_something_of_each_person_is_no_outsider():
    attack = simulated({CONTROL: (1.2, 0.8)}).findings()[0].attack
    about_people = replace(attack, plan=AttackPlan("refinement"), game="identity")
    assert actor(about_people, "the published graph") == (
        "Someone who holds the published graph and knows something of each person beforehand"
    )


def test_a_trivial_alternative_alone_is_no_defense_that_was_tried():
    audit = with_failures("label-noise", leaks={**LEAKS, ("fewer-labels", 0.5): (1.2, 0.7)})
    ((place, _),) = answers(audit)
    assert effects(place.section, place.attack.plan.identity).tried
    assert help_for(place, audit.plan.severity)[0].startswith("No defense has a result")


def test_a_promise_that_is_the_same_at_each_strength_is_printed_once():
    leaks = {CONTROL: (1.2, 0.8), ("k-degree", 2): (1.0, 0.8), ("k-degree", 5): (0.5, 0.7)}
    (section,) = simulated(leaks, listed=("k-degree",)).sections
    promises = [line for line in notes(section.outcomes) if "promises" in line]
    assert len(promises) == 1

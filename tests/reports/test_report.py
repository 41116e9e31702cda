"""Reports of an audit: what they say, in which order, and what they never do."""

import base64
import csv
import hashlib
import io
import json
import re
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from click.testing import CliRunner

from gaudit.audit.planning.grid import laid_out
from gaudit.audit.planning.plan import Plan
from gaudit.audit.results.audit_result import AuditControl, Failure
from gaudit.audit.results.verdict import verdict
from gaudit.audit.running.ledger import Ledger
from gaudit.audit.running.serialization import dumps
from gaudit.audit.running.trial import TrialResult
from gaudit.audit.statistics.finding import Finding
from gaudit.audit.statistics.severity import Level, Scale
from gaudit.commands.report import report_command
from gaudit.reports.figures.charts import identities
from gaudit.reports.formats.exports import as_json, as_table, data_block, records
from gaudit.reports.formats.html import as_html
from gaudit.reports.formats.markdown import as_markdown, escaped
from gaudit.reports.text.answers import answers, base_for, warnings
from gaudit.reports.text.comparison import compared, help_for
from gaudit.reports.text.explanations import GLOSSARY
from gaudit.reports.text.reproduction import plan_text
from gaudit.targets.target import Utility
from support import audits

EVIL = "<script>alert(1)</script>"
LEAKS = {("none", None): (1.2, 0.8), ("ldp", 1.0): (0.0, 0.5), ("ldp", 10.0): (0.2, 0.75)}


@pytest.fixture(scope="module")
def audit():
    return audits.simulated(LEAKS, attacks=("loss", "nearest"), datasets=("citations", EVIL), seeds=3)


@pytest.fixture(scope="module")
def page(audit):
    return as_html(audit)


@pytest.fixture(scope="module")
def broken(audit):
    """The same with a control that failed."""
    bad = AuditControl("planted leak", "loss by public", False, "AUC 0.51 where every member is learned by heart")
    return replace(audit, controls=(*audit.controls, bad))


@pytest.fixture(scope="module")
def all_levels(audit):
    """An audit for each level."""
    section = audit.sections[0]

    def with_level(level):
        outcome = section.outcomes[0]
        first = replace(section.verdicts[0][0], level=level)
        alone = replace(outcome, attacks=outcome.attacks[:1])
        return replace(audit, sections=(replace(section, outcomes=(alone,), verdicts=((first,),)),))

    return {level: with_level(level) for level in Level}


class Outline(HTMLParser):
    """Tags with their attributes in order, headings with their text, and what may load something."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.inside = tag
            self.headings.append((int(tag[1]), ""))

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)


# what it says


def test_an_answer_counts_people_and_tells_the_truth(audit):
    place, text = answers(audit)[0]
    rate = place.attack.tpr[0]
    named, low, high = (round(100 * v) for v in (rate.estimate, rate.low, rate.high))
    assert f"names about {named} in 100 of the people" in text
    assert f"trained on (95 %: {low} to {high}), while it wrongly accuses 1 in 100 non-members." in text
    assert "Guessing would name 1 in 100." in text
    assert "AUC" not in text


def test_there_is_one_answer_for_each_graph_and_question(audit):
    found = answers(audit)
    assert [place.section.dataset for place, _ in found] == ["citations", EVIL]
    assert all(place.outcome.defense == "none" for place, _ in found)
    assert all("strongest of 2 attacks" in text for _, text in found)


def test_what_is_open_is_told_before_what_is_shown_to_be_small(audit):
    """ "At most so many" must hold for every attack, so it is not said while one of them is open."""
    section = audit.sections[0]
    (a, b), *rest = section.verdicts
    small = replace(a, level=Level.NOT_FOUND, ratio=0.9, low=0.4, high=1.4)
    larger = replace(small, high=2.5)
    open_ = replace(a, level=Level.INCONCLUSIVE, ratio=2.3, low=0.2, high=8.7)

    def told(*verdicts):
        changed = replace(section, verdicts=(verdicts, *rest))
        place, _ = answers(replace(audit, sections=(changed,)))[0]
        return place.verdict

    assert told(small, open_) is open_
    assert told(open_, small) is open_
    assert told(small, larger) is larger
    assert told(small, replace(b, level=Level.LOW)).level is Level.LOW


def test_the_answer_is_that_of_the_most_severe_finding(audit):
    section = audit.sections[0]
    (a, b), *rest = section.verdicts
    severe = replace(section, verdicts=((a, replace(b, level=Level.SEVERE)), *rest))
    ((place, _),) = answers(replace(audit, sections=(severe,)))
    assert place.attack is section.outcomes[0].attacks[1]


@pytest.mark.parametrize(("share", "fpr", "base"), [(0.07, 0.01, 100), (0.013, 0.01, 1000), (0.0, 0.001, 10_000)])
def test_people_are_counted_in_groups_that_show_the_difference(share, fpr, base):
    assert base_for(share, fpr) == base


def test_nothing_shown_is_not_called_a_finding():
    nothing = audits.simulated({("none", None): (0.0, 0.8)}, members=300, others=2000, seeds=6)
    ((place, text),) = answers(nothing)
    assert place.verdict.level is Level.NOT_FOUND
    assert "Nothing shows that the attack" in text
    assert "at most" in text
    assert help_for(place, Scale()) == []


def test_too_few_people_give_no_rate():
    few = audits.simulated({("none", None): (2.5, 0.8)}, members=60, others=60, seeds=4)
    ((_, text),) = answers(few)
    assert "picks the right one in 9" in text
    assert "cannot be told" in text


def test_members_that_are_flagged_are_told_even_where_the_level_is_open(audit):
    section = audit.sections[0]
    attack = section.outcomes[0].attacks[0]
    attack = replace(attack, auc=replace(attack.auc, estimate=0.5, low=0.45, high=0.55), top=None)
    judged = verdict(attack, Scale())
    assert (judged.level, judged.low > 1) == (Level.INCONCLUSIVE, True)
    alone = replace(section.outcomes[0], attacks=(attack,))
    ((_, text),) = answers(replace(audit, sections=(replace(section, outcomes=(alone,), verdicts=((judged,),)),)))
    assert "names about" in text
    assert "Whether the public graph explains that cannot be told." in text


def test_what_the_public_graph_explains_is_not_blamed_on_the_release(audit):
    section = audit.sections[0]
    chance = Finding("auc difference", 0.0, -0.05, 0.05, 0.95, "made up", "valid")
    blind = Finding("auc", 0.7, 0.6, 0.8, 0.95, "made up", "valid")
    attack = replace(section.outcomes[0].attacks[0], beyond_blind=chance, blind=blind, top=None)
    judged = verdict(attack, Scale())
    assert judged.level is Level.NOT_ATTRIBUTABLE
    alone = replace(section.outcomes[0], attacks=(attack,))
    ((_, text),) = answers(replace(audit, sections=(replace(section, outcomes=(alone,), verdicts=((judged,),)),)))
    assert "no evidence that the release gives it away" in text


def test_defenses_are_compared_by_what_is_shown(audit):
    section = audit.sections[0]
    said = " ".join(compared(section, identities(section)[0]))
    assert "The defense that costs least of those shown to help is ldp, epsilon 10 (AUC" in said
    assert "The defense that leaks least is ldp, epsilon 1 (AUC" in said
    place, _ = answers(audit)[0]
    assert "The recommended defense is ldp, epsilon 10. With it the level is " in help_for(place, Scale())[0]


@pytest.mark.parametrize("seeds", [1, 3])
def test_what_the_interval_of_a_cost_rests_on_is_said(seeds):
    """A defense that only costs is listed by its cost, not as proven to cost something by a few repetitions."""
    made = audits.simulated({("none", None): (1.0, 0.9), ("ldp", 1.0): (1.0, 0.6)}, seeds=seeds)
    said = " ".join(compared(made.sections[0], identities(made.sections[0])[0]))
    assert ("The interval of a cost takes seeds to differ normally: 3 seeds miss" in said) == (seeds == 3)
    assert ("had a cost in these repetitions: ldp" in said) == (seeds == 3)
    assert "shown to cost" not in said


def test_a_defense_that_does_nothing_is_not_recommended():
    useless = audits.simulated({("none", None): (1.0, 0.8), ("ldp", 1.0): (1.0, 0.8)})
    section = useless.sections[0]
    assert "No defense that was tried is shown to leak less" in compared(section, identities(section)[0])[0]
    ((place, _),) = answers(useless)
    assert "None of the defenses" in help_for(place, Scale())[0]


ALTERNATIVE = ("fewer-labels", 0.5)  # trivial by its class


@pytest.mark.parametrize("leak", [0.0, 1.2])
def test_a_trivial_alternative_that_the_plan_lists_counts_as_tried(leak):
    leaks = {("none", None): (1.2, 0.8), ALTERNATIVE: (leak, 0.7)}
    section = audits.simulated(leaks, listed=("fewer-labels",)).sections[0]
    said = " ".join(compared(section, identities(section)[0]))
    place, _ = answers(audits.simulated(leaks, listed=("fewer-labels",)))[0]
    if leak:
        assert "No defense that was tried is shown to leak less" in said
        assert help_for(place, Scale()) == ["None of the defenses that were tried is shown to help."]
    else:
        assert "costs least of those shown to help, is fewer-labels" in said
        assert help_for(place, Scale())[0].startswith("The recommended defense is fewer-labels. ")


@pytest.mark.parametrize("leak", [0.0, 1.2])
def test_a_trivial_alternative_that_helps_is_named_beside_defenses(leak):
    leaks = {("none", None): (1.2, 0.8), ("ldp", 1.0): (leak, 0.8), ALTERNATIVE: (0.0, 0.7)}
    made = audits.simulated(leaks, listed=("ldp",))
    said = " ".join(compared(made.sections[0], identities(made.sections[0])[0]))
    assert "A trivial alternative is shown to help: fewer-labels (AUC " in said
    told = " ".join(help_for(answers(made)[0][0], Scale()))
    assert told.startswith("None of the defenses" if leak else "The recommended defense is ldp. ")
    assert " The trivial alternative fewer-labels is shown to help. With it " in told


def test_an_invalid_audit_says_so_first_and_gives_no_verdict(broken):
    for text in (as_html(broken), as_markdown(broken)):
        assert "INVALID" in text
        assert text.index("INVALID") < text.index("Answers")
        assert "learned by heart" in text
        assert "names about" not in text
        assert "What helps" not in text
    body = as_html(broken).partition("What the levels mean")[0].partition("<body>")[2]
    assert 'class="level' not in body
    assert "no verdict" in body
    content = json.loads(as_json(broken))
    assert content["valid"] is False
    assert content["answers"] == []
    assert all(a["verdict"] is None for s in content["sections"] for o in s["outcomes"] for a in o["attacks"])
    assert {row["level"] for row in csv.DictReader(io.StringIO(as_table(broken)))} == {""}
    assert all(f["level"] is None for f in json.loads(data_block(broken))["findings"])


def test_missing_and_failed_trials_are_told_at_the_top(audit):
    part = replace(audit, missing=3, failures=(Failure("classifier on karate", f"no room {EVIL}"),))
    for text in (as_html(part), as_markdown(part)):
        assert text.index("3 trials have not run yet") < text.index(
            "Answers</h2>" if "</h2>" in text else "## Answers"
        )
        assert text.index("One trial could not be run") < text.index(
            "1. Answers" if "</h2>" in text else "## Answers"
        )
        assert "no room" in text


def test_an_empty_audit_does_not_look_safe(audit):
    empty = replace(audit, sections=(), controls=(), missing=10)
    for text in (as_html(empty), as_markdown(empty)):
        assert "says nothing about privacy" in text
        assert "nothing was measured" in text


def test_a_section_without_its_control_has_no_answer(audit):
    section = audit.sections[0]
    headless = replace(section, outcomes=section.outcomes[1:], verdicts=section.verdicts[1:])
    part = replace(audit, sections=(headless, audit.sections[1]))
    assert [place.section for place, _ in answers(part)] == [audit.sections[1]]
    for text in (as_html(part), as_markdown(part)):
        assert (
            "There is no answer on classifier on citations: the pipeline without a defense has no result." in text
        )


def test_an_audit_without_planted_leaks_says_so(audit):
    without = replace(audit, controls=tuple(c for c in audit.controls if c.name != "planted leak"))
    assert any("planted leak" in warning for warning in warnings(without))
    assert warnings(audit) == []


@pytest.mark.parametrize("level", Level)
def test_every_level_is_named_in_words(all_levels, level):
    body = as_html(all_levels[level]).partition("What the levels mean")[0]
    slug = str(level).replace(",", "").replace(" ", "-")
    assert re.search(rf'<span class="level {slug}">{str(level).capitalize()}</span>', body)


def test_attacks_that_have_no_place_are_told_with_the_reason(audit):
    section = replace(audit.sections[0], refused={"ib": "there is no training to change"})
    outcomes = tuple(replace(o, refused={"mia": "it needs the server"}) for o in section.outcomes[:1])
    part = replace(audit, sections=(replace(section, outcomes=(*outcomes, *section.outcomes[1:])),))
    for text in (as_html(part), as_markdown(part)):
        assert "Not tested: ib: there is no training to change." in text
        assert "Not tested: mia: it needs the server (none)." in text


def test_notes_are_told_with_what_they_are_about(audit):
    section = audit.sections[0]
    outcomes = tuple(
        replace(o, notes=("seen by all", *(("only here",) if o.strength else ()))) for o in section.outcomes
    )
    part = replace(audit, sections=(replace(section, outcomes=outcomes),))
    for text in (as_html(part), as_markdown(part)):
        assert "seen by all\n" in text.replace("</li>", "\n")
        assert "only here (ldp, epsilon 1; ldp, epsilon 10)" in text


def test_what_the_public_graph_tells_stands_beside_the_attack(audit, page):
    baselines = audit.findings()[0].attack.baselines
    table = page.partition("What is told without the release")[2].partition("</table>")[0]
    assert all(f'<th scope="row">{name}</th>' in table for name in baselines)


def test_a_baseline_that_reads_nothing_gets_no_level(audit):
    section = audit.sections[0]
    verdicts = tuple((row[0], None) for row in section.verdicts)
    part = replace(audit, sections=(replace(section, verdicts=verdicts),))
    assert "baseline, reads nothing" in as_html(part)
    assert len(identities(part.sections[0])) == 1
    assert "nearest" not in as_html(part).partition('id="claims"')[2].partition("</section>")[0]


# the page


def test_the_page_keeps_the_order_of_the_questions(page):
    headings = [text for level, text in Outline(page).headings if level == 2]
    assert [h.partition(". ")[2] for h in headings] == [
        "Answers",
        "Findings",
        "Who could do this",
        "Evidence",
        "Claim and measurement",
        "Checks on the audit itself",
        "What to do",
        "Method and reproduction",
        "Limits",
        "Words",
    ]


def test_the_outline_has_one_title_and_no_gaps(page, broken):
    for text in (page, as_html(broken)):
        levels = [level for level, _ in Outline(text).headings]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))


def test_nothing_can_be_loaded_and_nothing_runs_but_its_own_script(page):
    tags = Outline(page).tags
    (policy,) = [a["content"] for tag, a in tags if tag == "meta" and "Policy" in a.get("http-equiv", "")]
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert EVIL not in script
    assert not re.search(r"innerHTML|eval|fetch|XMLHttp|import\b|insertAdjacent", script)
    assert {tag for tag, _ in tags}.isdisjoint({"img", "link", "iframe", "object", "embed", "form", "base"})
    assert [a.get("type") for tag, a in tags if tag == "script"] == ["application/json", None]
    assert not any(name.startswith("on") for _, a in tags for name in a)
    assert all(a["href"].startswith("#") for _, a in tags if "href" in a)
    assert not any("src" in a for _, a in tags)
    assert "url(" not in page
    assert "@import" not in page
    assert ("html", {"lang": "en"}) in tags


def test_links_lead_somewhere_and_ids_are_unique(page):
    tags = Outline(page).tags
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for _, a in tags if "href" in a} <= set(ids)


def test_untrusted_names_stay_text(audit, page):
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    name = "</title><img src=x onerror=alert(1)>"
    named = as_html(replace(audit, plan=audit.plan.model_copy(update={"name": name})))
    assert name not in named
    assert "<img" not in named
    assert EVIL not in as_markdown(audit)
    assert EVIL.lower() not in data_block(audit).lower()


def test_every_figure_has_a_table_of_the_same(page):
    figures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert len(figures) == 2 * 2 * 3  # graphs x attacks x (ROC, groups, trade-off)
    for figure in figures:
        assert figure.count("<svg") >= 1
        assert figure.count("<table>") == 1
        assert "The same as a table" in figure
    assert page.count('role="img"') == len(figures)


def test_the_numbers_are_in_the_page(audit, page):
    text = re.search(r'<script type="application/json" id="audit-data">(.*?)</script>', page, re.DOTALL)[1]
    content = json.loads(text)
    assert len(content["findings"]) == len(audit.findings())
    first = audit.findings()[0].attack.auc
    assert content["findings"][0]["auc"] == pytest.approx([first.estimate, first.low, first.high], abs=1e-4)


def test_the_same_audit_gives_the_same_bytes(audit, page):
    again = audits.simulated(LEAKS, attacks=("loss", "nearest"), datasets=("citations", EVIL), seeds=3)
    assert as_html(again) == page
    for write in (as_markdown, as_json, as_table, records):
        assert write(again) == write(audit)


def test_an_audit_of_200_trials_stays_small():
    """3 graphs, 9 strengths and the control, 7 seeds, 3 attacks; measured once and repeated under other names."""
    made = audits.simulated(
        {("none", None): (1.0, 0.8), ("ldp", 1.0): (0.5, 0.7)}, seeds=7, attacks=("loss", "nearest", "rmia")
    )
    section = made.sections[0]
    control, defended = section.outcomes
    outcomes = [control]
    for step in range(9):
        settings = {**defended.settings, defended.knob: float(step + 1)}
        outcomes.append(replace(defended, settings=settings, label=f"ldp, {defended.knob} {step + 1}"))
    verdicts = (section.verdicts[0], *[section.verdicts[1]] * 9)
    large = replace(section, outcomes=tuple(outcomes), verdicts=verdicts)
    names = ("Cora", "CiteSeer", "PubMed")
    whole = replace(made, sections=tuple(replace(large, dataset=name) for name in names))
    assert len(whole.findings()) == 3 * 10 * 3
    assert len(as_html(whole).encode()) < 500_000
    assert len(as_markdown(whole).encode()) < 60_000


def test_a_timeline_is_drawn_where_there_are_rounds(audit):
    section = audit.sections[0]

    def over_rounds(outcome):
        attack = outcome.attacks[0]
        timeline = tuple(replace(attack, round=r) for r in (1, 2, 5))
        return replace(outcome, timeline=timeline, curve=dict.fromkeys((1, 2, 5), outcome.accuracy))

    part = replace(section, outcomes=tuple(map(over_rounds, section.outcomes)))
    text = as_html(replace(audit, sections=(part,)))
    assert text.count("Over rounds, ") == 2
    assert "by round" in text


# colours


def luminance(colour):
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    """Of two colours by WCAG 2: from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def themes(page):
    blocks = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    assert len(blocks) == 2
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(page, theme):
    colours = themes(page)[theme]
    pairs = [(text, ground) for text in ("text", "muted", "link") for ground in ("page", "panel")]
    pairs += [("text", "bad-panel"), ("text", "warn-panel"), ("muted", "zone"), ("text", "zone")]
    pairs += [("bad", "bad-panel"), ("warn", "warn-panel"), ("good", "good-panel")]
    for text, ground in pairs:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for curve in (f"c{i}" for i in range(6)):
        assert contrast(colours[curve], colours["page"]) >= 3, curve


def test_both_themes_define_the_same_colours(page):
    light, dark = themes(page)
    assert set(light) == set(dark)
    assert set(re.findall(r"var\(--([\w-]+)\)", page)) <= set(light)


def test_the_glossary_is_short():
    assert len(GLOSSARY) <= 8


# other formats


def test_json_is_plain_sorted_and_complete(audit):
    content = json.loads(as_json(audit))
    assert content["schema"] == "gaudit-audit/1"
    assert list(content) == sorted(content)
    found = [a for s in content["sections"] for o in s["outcomes"] for a in o["attacks"]]
    assert len(found) == len(audit.findings())
    assert [a["verdict"]["level"] for a in found] == [str(p.verdict.level) for p in audit.findings()]
    assert "exposed" not in found[0]
    assert Plan(**content["plan"]) == audit.plan


def test_csv_has_a_row_for_each_finding(audit):
    rows = list(csv.DictReader(io.StringIO(as_table(audit))))
    for row, place in zip(rows, audit.findings(), strict=True):
        assert row["dataset"] == place.section.dataset
        assert float(row["auc"]) == pytest.approx(place.attack.auc.estimate, rel=1e-5)
        assert row["level"] == str(place.verdict.level)
        assert row["strength"] == ("" if place.outcome.strength is None else f"{place.outcome.strength:g}")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\tx"])
def test_a_spreadsheet_computes_nothing(audit, name):
    part = replace(audit, sections=(replace(audit.sections[0], dataset=name),))
    for text in (as_table(part), records(part)):
        assert {row["dataset"] for row in csv.DictReader(io.StringIO(text))} == {f"'{name}"}


def test_records_are_in_no_report(audit, page):
    rows = list(csv.DictReader(io.StringIO(records(audit))))
    assert {row["node"] for row in rows if row["attack"] == "loss"} == {str(i) for i in range(150)}
    for text in (page, as_markdown(audit), as_json(audit), as_table(audit)):
        assert "mean_fpr" not in text


def test_markdown_is_in_the_same_order_and_has_whole_tables(audit):
    text = as_markdown(audit)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[:4] == ["Answers", "Findings", "Who could do this", "Claim and measurement"]
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_markdown_shows_text_as_it_is():
    assert escaped("a|b\nc") == "a\\|b c"
    assert escaped("[x](http://y) `z` <b>") == "\\[x\\](http://y) \\`z\\` &lt;b&gt;"


def test_a_plan_reads_back_from_its_text():
    plan = Plan.of(
        {
            "name": 'quotes " and \\ and \x7f and \U0001f600',
            "preset": "paper",
            "datasets": ["karate", "digits"],
            "seeds": 7,
            "timeline": True,
            "target": [{"name": "classifier", "settings": {"recipe": {"hidden": 8, "dropout": 0.25}}}],
            "defense": [{"name": "ldp", "strengths": [1.0, 10.0]}],
            "attack": [{"name": "loss", "neighbours": ["true", "none"]}, {"name": "nearest"}],
            "severity": {"fpr": 0.05},
        },
        "test",
    )
    assert Plan.of(tomllib.loads(plan_text(plan)), "again") == plan
    defaults = Plan.of({"target": [{"name": "classifier"}], "attack": [{"name": "loss"}]}, "test")
    assert Plan.of(tomllib.loads(plan_text(defaults)), "again") == defaults


# the command


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger with simulated guesses for every trial of a plan."""
    plan = Plan.of(
        {"datasets": ["karate"], "target": [{"name": "classifier"}], "attack": [{"name": "loss"}]}, "test"
    )
    grid, path = laid_out(plan), tmp_path_factory.mktemp("report") / "audit.db"
    with Ledger(path, write=True) as opened:
        opened.begin(plan, grid)
        for task in grid.tasks:
            rng = np.random.default_rng(task.plan.index)
            found = tuple(audits.attacked(a, 4.0 if task.cell < 0 else 1.0, rng) for a in task.plan.attacks)
            result = TrialResult(task.plan, (Utility(1, 0.8, 0.8, 0.8),), 0, found, {}, (), (), 100)
            opened.note_result(task.key, dumps(result), 1.0)
    return path


def report(*arguments):
    return CliRunner().invoke(report_command, [str(a) for a in arguments])


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.html", "<!DOCTYPE html>"), ("r.md", "# Privacy audit"), ("r.json", "{"), ("r.csv", "target,dataset")],
)
def test_the_format_follows_the_name(ledger, tmp_path, name, start):
    result = report(ledger, "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_text().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_format_that_is_named_wins_and_goes_to_the_output_stream(ledger, tmp_path):
    result = report(ledger, "-o", tmp_path / "r.txt", "--format", "markdown")
    assert result.exit_code == 0, result.output
    assert report(ledger, "--format", "markdown").stdout == (tmp_path / "r.txt").read_text()


def test_records_are_written_only_where_asked_for(ledger, tmp_path):
    result = report(ledger, "-o", tmp_path / "r.html", "--records", tmp_path / "who.csv")
    assert result.exit_code == 0, result.output
    assert "Keep it as safe as the graph" in result.stderr
    assert (tmp_path / "who.csv").read_text().startswith("target,dataset,defense,attack,observer,neighbours,node,")


@pytest.mark.parametrize("case", ["no ledger", "no folder"])
def test_a_refusal_is_one_line_and_leaves_nothing_behind(ledger, tmp_path, case):
    place = tmp_path / "missing" / "r.html" if case == "no folder" else tmp_path / "r.html"
    result = report(tmp_path / "missing.db" if case == "no ledger" else ledger, "-o", place)
    assert result.exit_code == 2
    assert result.stderr.startswith("gaudit: error: ")
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def dated(ledger, *arguments, epoch=None):
    arguments = [str(a) for a in (ledger, "--format", "markdown", *arguments)]
    return CliRunner(env={"SOURCE_DATE_EPOCH": epoch}).invoke(report_command, arguments)


def test_a_report_has_the_date_that_it_is_given_and_else_the_same_bytes(ledger):
    assert "- Date of this report: 2026-01-31\n" in dated(ledger, "--date", "2026-01-31").stdout
    assert "- Date of this report: 1970-01-02\n" in dated(ledger, epoch="86400").stdout
    assert "- Date of this report: 2026-01-31\n" in dated(ledger, "--date", "2026-01-31", epoch="86400").stdout
    today = str(datetime.now(UTC).date())
    assert f"- Date of this report: {today}\n" in dated(ledger, "--date", "today").stdout
    undated = dated(ledger).stdout
    assert "Date of this report: not given" in undated
    assert dated(ledger).stdout == undated


@pytest.mark.parametrize(
    ("arguments", "epoch", "said"),
    [
        (["--date", "31.1.2026"], None, "--date '31.1.2026' is no date: write 2026-01-31, or today"),
        ([], "yesterday", "SOURCE_DATE_EPOCH 'yesterday' is no number of seconds"),
        ([], "9" * 30, "SOURCE_DATE_EPOCH '999"),
        (["--against", "none.db"], None, "there is no ledger none.db"),
    ],
)
def test_a_date_or_ledger_that_is_none_is_refused_in_one_line(ledger, arguments, epoch, said):
    result = dated(ledger, *arguments, epoch=epoch)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_top_tells_the_graph_s_size_that_the_ledger_holds(ledger):
    assert "- Graph karate: 34 nodes, 78 edges, 4 classes\n" in dated(ledger).stdout


def test_two_ledgers_are_compared(ledger, tmp_path):
    result = report(ledger, "--against", ledger, "-o", tmp_path / "r.html")
    assert result.exit_code == 0, result.output
    assert (
        "One finding is in both: 0 became worse, and 0 became better. The numbers are the same for 1 of them."
        in (tmp_path / "r.html").read_text()
    )
    refused = report(ledger, "--against", ledger, "-o", tmp_path / "r.csv")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]

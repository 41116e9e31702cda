"""What is printed without -v: the answer, a table of 80 columns, and whether it can be relied on."""

from dataclasses import replace
from io import StringIO

from gaudit.reports.console.brief_console import Shown, print_results
from gaudit.reports.console.plain_console import PlainConsole
from gaudit.reports.text.sentences import INVALID
from gaudit.reports.text.short_answer import short_answer
from support.audits import simulated

LEAKS = {("none", None): (1.5, 0.8), ("label-noise", 1.0): (0.3, 0.7)}


def printed(audit, change=lambda outcomes: outcomes, verbose=False):
    (section,) = audit.sections
    text = StringIO()
    shown = Shown(section.title, change(section.outcomes), section.release_phrase, audit.controls, ("A remark.",))
    print_results(PlainConsole(file=text, width=140), shown, verbose)
    return text.getvalue().splitlines()


def table_of(lines):
    start = next(k for k, line in enumerate(lines) if line.startswith("defense"))
    return lines[start : start + 5]


def test_the_answer_comes_first_and_a_narrow_table_after():
    audit = simulated(LEAKS, attacks=("loss", "mia"), listed=("label-noise",))
    lines = printed(audit)
    (section,) = audit.sections
    assert lines[:3] == short_answer(section.outcomes, section.release_phrase)
    assert len(lines) <= 25
    header, *rows = table_of(lines)
    assert [len(row) <= 80 for row in (header, *rows)] == [True] * 5
    attacks = [a for o in section.outcomes for a in o.attacks]
    for row, attack in zip(rows, attacks, strict=True):
        assert f" {attack.plan.name} " in row
        assert f"{attack.auc.estimate:.2f}  {attack.auc.low:.2f} to {attack.auc.high:.2f}" in row
    assert f"{-100 * section.outcomes[1].cost.estimate:+.1f}" in rows[2]
    assert not set("│┃━┏┌") & set("".join(lines))
    assert not [line for line in lines if line != line.rstrip()]
    assert any(line.startswith("Checked: ") for line in lines)


def test_an_audit_whose_control_failed_answers_nothing():
    lines = printed(simulated(LEAKS, planted=0.0, listed=("label-noise",)))
    assert lines[0].startswith("FAILED planted leak")
    assert INVALID in lines
    assert not any("100 cases" in line or line.startswith("Checked") for line in lines)


def test_what_does_not_apply_is_said_and_counted():
    def refusing(outcomes):
        return [replace(o, refused={f"attack-{k}": "it sees nothing" for k in range(5)}) for o in outcomes]

    audit = simulated(LEAKS, listed=("label-noise",))
    lines = printed(audit, refusing)
    assert sum("does not apply: it sees nothing" in line for line in lines) == 3
    assert "-v lists the other attacks that do not apply as well (2)." in lines
    assert sum("not applicable" in line for line in printed(audit, refusing, verbose=True)) == 10


def test_what_a_run_noted_is_said_once_for_all_defenses():
    def noting(outcomes):
        return [replace(o, notes=("nothing was asked", o.called)) for o in outcomes]

    lines = printed(simulated(LEAKS, listed=("label-noise",)), noting)
    assert sum("nothing was asked" in line for line in lines) == 1


def test_everything_is_there_when_asked_for():
    audit = simulated(LEAKS, listed=("label-noise",))
    assert any("TPR at 1 %" in line for line in printed(audit, verbose=True))
    assert not any("TPR at 1 %" in line for line in printed(audit))

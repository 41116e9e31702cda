"""JUnit XML: one test case per check, for the many tools that show it."""

import re
from xml.etree import ElementTree

from ...audit.checks.gate import Status
from ...audit.checks.gate_report import CheckResult, GateReport

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""


def junit(report: GateReport) -> str:
    """The report as JUnit XML.

    A check that regressed or is over budget is a failure, one that says nothing an error; one that does not apply,
    or is inconclusive where that does not fail, was skipped. No time is in it: the same report, the same bytes.
    """
    cases = [_case(result, report) for result in report.results]
    totals = {"tests": str(len(cases))}
    for kind, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        totals[plural] = str(sum(case.find(kind) is not None for case in cases))
    suites = ElementTree.Element("testsuites", {"name": "gaudit", **totals})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _clean(report.audit.plan.name), **totals})
    suite.extend(cases)
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _case(result: CheckResult, report: GateReport) -> ElementTree.Element:
    check, decision = result.check, result.decision
    about = {"name": _clean(check.name), "classname": _clean(f"gaudit.{check.attack}.{check.metric}")}
    case = ElementTree.Element("testcase", {**about, "file": _clean(str(report.policy)), "line": str(result.line)})
    kind = _kind(result.status, report.strict)
    if kind is not None:
        said = {"message": _clean(decision.why)}
        of_kind = said if kind == "skipped" else {**said, "type": str(result.status)}
        found = ElementTree.SubElement(case, kind, of_kind)
        found.text = _clean("\n".join([decision.why, *decision.details, f"To repeat it: {report.reproduction}"]))
    output = ElementTree.SubElement(case, "system-out")
    output.text = _clean("\n".join(filter(None, [f"{result.status}: {decision.size}", *decision.details])))
    return case


def _kind(status: Status, strict: bool) -> str | None:
    """The element that a status becomes; None for one that passes."""
    if status.fails:
        return "failure"
    if status is Status.INVALID:
        return "error"
    if status is Status.INCONCLUSIVE:
        return "failure" if strict else "skipped"
    return "skipped" if status is Status.NOT_APPLICABLE else None


def _clean(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)

"""A Markdown summary of a check, for the page that a CI job shows (GitHub's step summary, a merge request)."""

import re

from ...audit.checks.gate import Status
from ...audit.checks.gate_report import CheckResult, GateReport
from ..text.changes import COMPARING
from .markdown import escaped

LARGEST = 60_000
"""Bytes. A comment on GitHub holds 64 kB, a step summary 1 MB; beyond that it is not shown at all."""
LONGEST_CELL = 600
LINKS = re.compile(r"(?=[@$]|://)|(?<=www)(?=\.)")
"""Before what GitHub makes mentions, formulas and links of without being asked."""
MARKS = {
    Status.PASS: "pass",
    Status.REGRESSED: "**REGRESSED**",
    Status.OVER_BUDGET: "**OVER BUDGET**",
    Status.INCONCLUSIVE: "inconclusive",
    Status.NOT_APPLICABLE: "not applicable",
    Status.INVALID: "**INVALID**",
}


def step_summary(report: GateReport) -> str:
    """The report as Markdown of at most 60 kB: failing checks first, details folded away, no images."""
    head = [f"## gaudit check: {_outcome(report)}", "", plain(report.headline()), ""]
    tail = ["", f"To repeat it: `{report.reproduction.replace('`', '')}`", ""]
    if Status.REGRESSED in report.statuses:
        tail[-1:] = ["", f"To see what changed: `{COMPARING}`", ""]
    worst_first = sorted(report.results, key=lambda result: list(Status).index(result.status))
    room = LARGEST - _size([*head, *tail]) - 400  # for the headers and the note on what is left out
    rows = _fitting([_row(result) for result in worst_first], room)
    details = _fitting([_details(result) for result in worst_first if result.decision.details], room - _size(rows))
    table = ["| check | status | size | why |", "| --- | --- | --- | --- |", *rows] if rows else []
    left_out = len(worst_first) - len(rows)
    table += ["", f"{left_out} more checks are left out for want of room."] if left_out else []
    folded = ["", "<details><summary>Details</summary>", "", *details, "", "</details>"] if details else []
    return "\n".join([*head, *table, *folded, *tail])


def _outcome(report: GateReport) -> str:
    names = {0: "passed", 1: "failed", 3: "inconclusive", 4: "invalid"}
    return names[report.exit_code]


def _row(result: CheckResult) -> str:
    cells = (
        plain(result.check.name),
        MARKS[result.status],
        plain(result.decision.size),
        plain(result.decision.why),
    )
    return f"| {' | '.join(cells)} |"


def _details(result: CheckResult) -> str:
    return f"- {plain(result.check.name)}: {'; '.join(plain(line) for line in result.decision.details)}"


def plain(text: str) -> str:
    """Text of others, shortened, on one line, with nothing left that Markdown or HTML would read."""
    short = text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 3] + "..."
    shown = "".join(letter if letter.isprintable() else " " for letter in short)
    return LINKS.sub(r"\\", escaped(shown))


def _size(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _fitting(lines: list[str], room: int) -> list[str]:
    """As many of the first lines as there is room for."""
    kept: list[str] = []
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    return kept

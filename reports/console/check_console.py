"""What `gaudit check` prints."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...audit.checks.gate import Status
from ...audit.checks.gate_report import GateReport
from ..text.changes import COMPARING

STYLES = {
    Status.PASS: "green",
    Status.REGRESSED: "bold red",
    Status.OVER_BUDGET: "bold red",
    Status.INVALID: "bold red",
    Status.INCONCLUSIVE: "yellow",
    Status.NOT_APPLICABLE: "dim",
}


def print_report(console: Console, report: GateReport) -> None:
    """A table of the checks, what lies behind those that did not simply pass, and all of it in a line."""
    table = Table(title=Text(f"{report.audit.plan.name}: what the policy asks for"), title_justify="left")
    for column in ("check", "status", "size", "why"):
        table.add_column(column, overflow="fold")
    for result in report.results:
        decision = result.decision
        status = Text(str(result.status), style=STYLES[result.status])
        table.add_row(Text(result.check.name), status, Text(decision.size), Text(decision.why))
    console.print(table)
    for result in report.results:
        if result.status not in (Status.PASS, Status.NOT_APPLICABLE):
            for line in result.decision.details:
                _plain(console, f"{result.check.name}: {line}")
    if report.exit_code == 0 and Status.INCONCLUSIVE in report.statuses:
        _plain(console, "Inconclusive checks do not fail without --strict; give the plan more seeds.", "yellow")
    _plain(console, report.headline(), "bold")
    if report.exit_code:
        _plain(console, f"To repeat it: {report.reproduction}")
    if Status.REGRESSED in report.statuses:
        _plain(console, f"To see what changed: {COMPARING}")


def _plain(console: Console, line: str, style: str | None = None) -> None:
    console.print(line, style=style, highlight=False, soft_wrap=True, markup=False)

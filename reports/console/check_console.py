"""What `gaudit check` prints."""

from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...audit.checks.gate import Status
from ...audit.checks.gate_report import GateReport
from ..text.changes import COMPARING
from .plain_console import say_on

STYLES = {
    Status.PASS: "green",
    Status.REGRESSED: "bold red",
    Status.OVER_BUDGET: "bold red",
    Status.INVALID: "bold red",
    Status.INCONCLUSIVE: "yellow",
    Status.NOT_APPLICABLE: "dim",
}


def print_report(console: Console, report: GateReport) -> None:
    """All of it in a line, why each check got its status, a table of the sizes, and what lies behind them."""
    say = partial(say_on, console)
    say(report.headline(), "bold")
    for result in report.results:
        if not report.problems:  # the line above has them
            say(f"'{result.check.name}' ({result.status}): {result.decision.why}.", STYLES[result.status])
    if any(result.decision.size for result in report.results):
        console.print(_sizes(report))
    for result in report.results:
        if result.status not in (Status.PASS, Status.NOT_APPLICABLE):
            for line in result.decision.details:
                say(f"'{result.check.name}': {line}")
    if report.exit_code == 0 and Status.INCONCLUSIVE in report.statuses:
        say("Inconclusive checks do not fail without --strict. Give the plan more seeds.", "yellow")
    if report.exit_code:
        say(f"To repeat it: {report.reproduction}")
    if Status.REGRESSED in report.statuses:
        say(f"To see what changed: {COMPARING}")


def _sizes(report: GateReport) -> Table:
    """The number that was judged of each check, with its interval."""
    table = Table(title=Text(f"{report.audit.plan.name}: what was measured"), title_justify="left")
    for column in ("check", "status", "size"):
        table.add_column(column, overflow="fold")
    for result in report.results:
        status = Text(str(result.status), style=STYLES[result.status])
        table.add_row(Text(result.check.name), status, Text(result.decision.size))
    return table

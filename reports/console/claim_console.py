"""Results of claims on a terminal: put to the test, or looked over."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ...audit.claims.claim_check import ClaimCheck
    from ...audit.lint.claim_remark import Lint

STYLES = {"wrong": "bold red", "doubt": "yellow", "note": "dim"}


def claim_table(check: "ClaimCheck") -> "Table":
    """One row: what is claimed, what was measured and how, and the verdict."""
    from rich.table import Table

    table = Table()
    for title in (
        "mechanism",
        "unit",
        "claimed epsilon",
        "delta",
        "measured, at least",
        "can show at most",
        "verdict",
        "how",
    ):
        table.add_column(title)
    measured, claim = check.measured, check.guarantee
    table.add_row(
        check.mechanism,
        f"one {claim.unit} ({claim.adjacency}, {claim.model})",
        f"{float(claim.epsilon):g}",
        f"{float(claim.delta):g}",
        "not measurable" if measured.low is None else f"{measured.low:.2f}",
        "no limit" if check.ceiling is None else f"{check.ceiling:.2f}",
        "refuted" if check.refuted else "not refuted",
        f"{measured.method}; {measured.note}; {100 * measured.level:g} % confidence, {measured.validity}",
    )
    return table


def print_lint(console: "Console", found: "Lint") -> None:
    """Each remark with what to do and who showed it, and the verdict in the last line."""
    from rich.text import Text

    if found.statement.claim.title:
        console.print(Text(found.statement.claim.title, style="bold"), soft_wrap=True)
    for remark in found.remarks:
        line = Text.assemble((remark.severity, STYLES[remark.severity]), f" {remark.rule}, {remark.where}: ")
        console.print(line.append(remark.says), soft_wrap=True, highlight=False)
        console.print(Text(f"    {remark.do} [{remark.source}]"), soft_wrap=True, highlight=False)
    style = "bold red" if found.wrong else "bold"
    console.print(Text(found.sentence(), style=style), soft_wrap=True, highlight=False)

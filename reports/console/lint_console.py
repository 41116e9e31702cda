"""What a linter has to say about a claim of privacy, on a terminal."""

from typing import TYPE_CHECKING

from ...audit.lint.claim_remark import Lint

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"wrong": "bold red", "doubt": "yellow", "note": "dim"}


def print_lint(console: "Console", found: Lint) -> None:
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

"""`gaudit report`: what an audit found, for people and for programs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from ..output_files import check_outputs, write
from ..registry import find, registered
from .terminal import clear_errors

if TYPE_CHECKING:
    from ..audit.results.audit_result import Audit

ENDINGS = {"md": "markdown"}
"""Formats whose files do not end in their name."""


@click.command(name="report")
@click.argument("ledger_file", metavar="LEDGER", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write here. Default: the output stream.",
)
@click.option(
    "--format",
    "format_",
    metavar="NAME",
    help="html (one file, no script, no network), markdown, json, csv, or another that is installed (gaudit list "
    "formats). Default: by FILE's ending, html where it has none.",
)
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write how exposed each single member is too (CSV; itself sensitive).",
)
@clear_errors
def report_command(ledger_file: Path, output: Path | None, format_: str | None, records: Path | None) -> None:
    """Write the report of an audit: answers, findings, evidence, what to do, limits.

    Example: gaudit report audit.db -o report.html
    """
    check_outputs([output, records], [ledger_file])
    writer = _writer(format_ or _by_ending(output))
    from ..audit.results.assemble import read_audit

    audit = read_audit(ledger_file)
    text = writer(audit)
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text)
        click.echo(f"Report written to {output}", err=True)
    if records is not None:
        from ..reports.formats.exports import records as by_record

        write(records, by_record(audit))
        click.echo(f"Written to {records}: how exposed each member is. Keep it as safe as the graph.", err=True)


def _by_ending(output: Path | None) -> str:
    """The format that a file's ending stands for; html where it has none.

    Raises:
        InputError: no format has that ending.
    """
    ending = "" if output is None else output.suffix.lower().removeprefix(".")
    name = ENDINGS.get(ending, ending)
    if name and name not in registered("formats"):
        known = ", ".join(sorted({*registered("formats"), *ENDINGS} - {*ENDINGS.values()}))
        raise InputError(
            f"{output}: no report format has the ending .{ending}: choose one of {known}, or name one with --format"
        )
    return name or "html"


def _writer(format_: str) -> "Callable[[Audit], str]":
    """The function that is registered under a name; only what the format needs is imported."""
    found: Callable[[Audit], str] = find("formats", format_)
    return found

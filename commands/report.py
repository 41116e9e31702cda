"""`gaudit report`: what an audit found, for people and for programs."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from datetime import date as Date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import InputError
from ..output_files import check_outputs, write
from ..registry import find, registered
from .terminal import clear_errors, trust_code_option

if TYPE_CHECKING:
    from ..audit.results.audit_result import Audit

ENDINGS = {"md": "markdown"}
"""Formats whose files do not end in their name."""


@click.command(name="report", short_help="Write the report of an audit.")
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
    help="html (one file, no network), markdown, json, csv, timings, or another that is installed (gaudit list "
    "formats). Default: by FILE's ending, html where it has none.",
)
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write how exposed each single member is too (CSV; itself sensitive).",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="LEDGER",
    help="Say what became better or worse since the audit in another ledger, seed by seed.",
)
@click.option(
    "--date",
    metavar="DATE",
    help="The date that the report names: 2026-01-31, or today. Default: that of SOURCE_DATE_EPOCH, else none, so "
    "that the same ledger gives the same bytes.",
)
@trust_code_option
@clear_errors
def report_command(
    ledger_file: Path,
    output: Path | None,
    format_: str | None,
    records: Path | None,
    against: Path | None,
    date: str | None,
    trust_code: bool,
) -> None:
    """Write the report of an audit: answers, findings, evidence, what to do, limits.

    Example: gaudit report audit.db -o report.html
    """
    check_outputs([output, records], [ledger_file, *([] if against is None else [against])])
    writer = _writer(format_ or _by_ending(output))
    named = date_of(date, os.environ.get("SOURCE_DATE_EPOCH"))
    from ..audit.results.assemble import read_audit

    before = None if against is None else read_audit(against, trust_code)
    audit = replace(read_audit(ledger_file, trust_code), date=named, before=before)
    text = writer(audit)
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text)
        click.echo(f"Report written to {output}", err=True)
    if records is not None:
        from ..reports.formats.exports import records as by_record

        write(records, by_record(audit), private=True)
        click.echo(f"Written to {records}: how exposed each member is. Keep it as safe as the graph.", err=True)


def date_of(given: str | None, epoch: str | None) -> str:
    """The date that a report names, as in 2026-01-31; empty for none.

    Args:
        given: a date, ``today``, or None.
        epoch: seconds since 1970 (SOURCE_DATE_EPOCH of reproducible-builds.org), where no date is given.

    Raises:
        InputError: one of them is no date.
    """
    try:
        if given is not None:
            return str(datetime.now(UTC).date() if given == "today" else Date.fromisoformat(given))
        return "" if not epoch else str(datetime.fromtimestamp(int(epoch), UTC).date())
    except (ValueError, OverflowError, OSError) as error:
        if given is not None:
            raise InputError(f"--date {given[:40]!r} is no date: write 2026-01-31, or today") from error
        raise InputError(f"SOURCE_DATE_EPOCH {(epoch or '')[:40]!r} is no number of seconds since 1970") from error


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

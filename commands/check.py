"""`gaudit check` and `gaudit baseline`: the side of gaudit that a build server sees."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..output_files import check_outputs, write
from .terminal import clear_errors, console, trust_code_option

if TYPE_CHECKING:
    from ..audit.checks.gate_report import GateReport

UNUSABLE = 4

_ledger = click.argument("ledger", required=False, type=click.Path(path_type=Path))
_policy = click.option(
    "--policy",
    type=click.Path(path_type=Path),
    default=Path("gaudit.toml"),
    show_default=True,
    metavar="FILE",
    help="What must hold.",
)
_baseline = click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What was accepted. Default: .gaudit-baseline.json beside the policy.",
)


@click.command(name="check", short_help="Hold an audit against a policy, as a build does.")
@_ledger
@_policy
@_baseline
@click.option("--strict", is_flag=True, help="An inconclusive check fails (exit code 3).")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF 2.1.0.")
@click.option("--summary", type=click.Path(path_type=Path), metavar="FILE", help="Append a Markdown summary.")
@trust_code_option
@clear_errors
def check_command(
    ledger: Path | None,
    policy: Path,
    baseline: Path | None,
    strict: bool,
    junit: Path | None,
    sarif: Path | None,
    summary: Path | None,
    trust_code: bool,
) -> None:
    """Hold an audit against a policy and the accepted baseline; nothing is trained.

    Exit codes: 0 pass; 1 regressed or over budget; 2 something in a command or file is wrong; 3 inconclusive, with
    --strict; 4 invalid audit, a baseline of another plan, or no check applies; 130 interrupted.

    A policy is a TOML file with a table for each check, such as this one:

    \b
        [[check]]
        name = "who was trained on"
        attack = "loss"
        budget = 0.9

    Example: gaudit check audit.db --policy gaudit.toml --junit junit.xml
    """
    from ..audit.checks.check_files import check_files, files_of

    check_outputs([junit, sarif, summary], files_of(ledger, policy, baseline))
    report = check_files(ledger, policy, baseline, strict, trust_code)
    _write_files(report, junit, sarif, summary)
    from ..reports.console.check_console import print_report

    print_report(console(), report)
    sys.exit(report.exit_code)


def _write_files(report: "GateReport", junit: Path | None, sarif: Path | None, summary: Path | None) -> None:
    from ..reports.formats import junit as junit_format
    from ..reports.formats import sarif as sarif_format
    from ..reports.formats.summary import step_summary

    if junit is not None:
        write(junit, junit_format.junit(report))
    if sarif is not None:
        write(sarif, sarif_format.sarif(report))
    if summary is not None:
        before = summary.read_text(encoding="utf-8") if summary.is_file() else ""
        write(summary, before + step_summary(report))


@click.group(name="baseline")
def baseline_group() -> None:
    """Keep what was accepted of an audit, and for what reason."""


@baseline_group.command(short_help="Accept what an audit found.")
@_ledger
@_policy
@_baseline
@click.option("--reason", required=True, metavar="TEXT", help="Why these numbers are acceptable.")
@trust_code_option
@clear_errors
def update(ledger: Path | None, policy: Path, baseline: Path | None, reason: str, trust_code: bool) -> None:
    """Accept what an audit found: the only command that writes a baseline. Commit what it writes.

    Exit codes: 0 written; 2 something in a command or file is wrong; 4 the audit is invalid or incomplete.

    Example: gaudit baseline update audit.db --reason "first audit"
    """
    from ..audit.checks.check_files import RefusedBaselineError, update_baseline

    try:
        written = update_baseline(ledger, reason, policy, baseline, trust_code)
    except RefusedBaselineError as error:
        click.echo(f"gaudit: error: {error}", err=True)
        sys.exit(UNUSABLE)
    click.echo(f"Accepted in {written}: commit it.")

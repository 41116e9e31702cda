"""`gaudit score`, `gaudit release` and `gaudit published`: what users bring is audited at once."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..output_files import check_apart, check_outputs
from .terminal import auxiliary_options, clear_errors, console, verbose_option, windows_options

if TYPE_CHECKING:
    from ..api.result import Result

INVALID, OVER = 4, 1


def kept(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that end in a result."""
    options = (
        click.option(
            "--ledger",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Keep the results, for gaudit report and gaudit check. They tell who is a member: keep them safe.",
        ),
        click.option(
            "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write the report (an HTML page)."
        ),
        click.option(
            "--below",
            multiple=True,
            metavar="LIMIT",
            help="Fail with exit code 1 unless every attack is shown to stay below: auc=0.6, tpr_at_1=0.05. "
            "Repeatable.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness."
        ),
        verbose_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(name="score", short_help="Judge scores that another tool made.")
@click.argument("table", type=click.Path())
@click.option("--id", "id_", default="id", show_default=True, help="Column that names each person.")
@click.option("--member", default="member", show_default=True, help="Column that says who is a member: 1 or 0.")
@click.option("--score", default="score", show_default=True, help="Column of scores: higher, likelier a member.")
@click.option(
    "--run", default="run", show_default=True, help="Column that tells repetitions apart, if there is one."
)
@click.option("--blind", default="blind", show_default=True, help="Column of scores made without the release.")
@click.option("--stratum", default="stratum", show_default=True, help="Column to compare within, such as a class.")
@click.option(
    "--game",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "label-membership", "node-presence", "edge-presence"]),
    help="What the scores are about; auto takes pairs for edges.",
)
@kept
@clear_errors
def score_command(table: str, id_: str, **options: Any) -> None:
    """Judge scores that another tool made: TABLE has a row for each person, with id, member and score.

    TABLE is a file in CSV, TSV, Parquet or npz. Without a score, columns label, p0, p1, ... are scored by the
    probability of the label. With id and id2 the rows are pairs. Exit codes: 0 done; 1 over a limit; 2 something in
    the table or the command is wrong; 4 a control of the audit failed, or no attack applied.

    Example: gaudit score scores.csv --report report.html --below tpr_at_1=0.05
    """
    _end(options, [Path(table)], "score", table, {"id": id_, **_without_outputs(options)})


@click.command(name="release", short_help="Audit a condensed graph that was released.")
@click.argument("file", type=click.Path())
@click.option("--original", required=True, metavar="GRAPH", help="The private graph: a file, or a dataset's name.")
@click.option(
    "--labels", type=click.Path(), metavar="FILE", help="Labels of the release, if in a file of their own."
)
@click.option("--adjacency", type=click.Path(), metavar="FILE", help="Its adjacency, if in a file of its own.")
@click.option("--no-edges", is_flag=True, help="The release is meant to be without edges.")
@click.option(
    "--attack", "attacks", multiple=True, metavar="NAME", help="Attack, repeatable. Default: nearest, mia."
)
@click.option(
    "--game",
    default="label-membership",
    show_default=True,
    type=click.Choice(["label-membership", "node-presence"]),
    help="What is secret.",
)
@kept
@clear_errors
def release_command(file: str, **options: Any) -> None:
    """Audit a condensed graph that was released: FILE is .npz, .pt or .safetensors.

    It holds features x, and labels y and an adjacency if the release has them. Members are the train nodes of the
    original graph. Exit codes: 0 done; 1 over a limit; 2 something in the files or the command is wrong; 4 a
    control of the audit failed, or no attack applied.

    Example: gaudit release condensed.npz --original graph.npz --report report.html
    """
    inputs = [Path(options[name]) for name in ("original", "labels", "adjacency") if options[name]]
    given = _without_outputs(options)
    given["attacks"] = given["attacks"] or "auto"
    _end(options, [Path(file), *inputs], "release", file, given)


@click.command(name="published", short_help="Audit a network that any tool anonymised.")
@click.argument("after", type=click.Path())
@click.option("--original", required=True, metavar="GRAPH", help="The network before: a file, or a dataset's name.")
@click.option(
    "--same",
    type=click.Path(),
    metavar="FILE",
    help="Who is who: a table with the columns original and published. Without it nodes kept their names.",
)
@auxiliary_options
@click.option("--sensitive", type=click.IntRange(0), help="Type of edge that is secret. Default: all edges.")
@windows_options
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    metavar="NAME",
    help="Attack, repeatable. Default: refinement, hub-fingerprint, seedless-matching; with --windows also "
    "temporal-refinement.",
)
@click.option(
    "--at-risk",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write who is alone before and after, by the original's names (CSV): keep it safe.",
)
@kept
@clear_errors
def published_command(after: str, **options: Any) -> None:
    """Audit a network that any tool anonymised: can persons be found in AFTER?

    AFTER is an edge list (.txt, .tsv, .csv, .edges, each also .gz), .npz or .graphml. In the table of who is who a
    row without an original names a node that stands for nobody. Exit codes: 0 done; 1 over a limit; 2 something in
    the files or the command is wrong; 4 a control of the audit failed, or no attack applied.

    Example: gaudit published after.txt --original before.txt --same same.csv
    """
    files = ("original", "same", "auxiliary", "auxiliary_same")
    inputs = [Path(options[name]) for name in files if options[name]]
    given = _without_outputs(options)
    given["attacks"] = given["attacks"] or "auto"
    place = given.pop("at_risk")
    if place is not None:
        from .publishing.published_risk import list_at_risk

        check_outputs([place, options["report"]], [Path(after), *inputs])
        told = {name: options[name] for name in ("same", "windows")} | {"by": options["windows_by"]}
        list_at_risk(place, options["original"], {"after": after, **told})
        click.echo(f"Who is alone is in {place}: keep it as safe as the graph.", err=True)
    _end(options, [Path(after), *inputs], "published", after, given)


def _without_outputs(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("report", "below", "verbose")}


def _limits(below: tuple[str, ...]) -> dict[str, Any]:
    from ..api.result import LIMITS
    from ..audit.checks.metric_range import beyond_range

    found = {}
    for text in below:
        name, _, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError as error:
            raise InputError(f"--below {text}: write a limit as in tpr_at_1=0.05") from error
        if not math.isfinite(found[name.strip()]):
            raise InputError(f"--below {text}: a limit is a number")
        if name.strip() not in LIMITS:
            raise InputError(f"--below {text}: the limits are {', '.join(LIMITS)}")
        beyond = beyond_range(LIMITS[name.strip()], found[name.strip()], None)
        if beyond is not None:
            raise InputError(f"--below {text}: {beyond}")
    return found


def _end(options: dict[str, Any], inputs: list[Path], way: str, what: str, given: dict[str, Any]) -> None:
    """Audits, prints, writes what is asked for, and leaves with what the limits say."""
    from ..audit.results.applied import nothing_attacked
    from ..reports.console.brief_console import Shown, print_results

    report, limits = options["report"], _limits(options["below"])
    check_apart(filter(None, [report, options["ledger"]]), inputs)
    check_outputs([report], inputs)
    result = _audited(way, what, given)
    (section,) = result.audit.sections
    seen = Shown(section.title, section.outcomes, section.release_phrase, result.audit.controls)
    print_results(console(), seen, options["verbose"])
    if report is not None:
        result.report(report)
        click.echo(f"Report written to {report}", err=True)
    if options["ledger"] is not None:
        click.echo(f"All of it is in {options['ledger']}, with who is a member: keep it safe.", err=True)
    nothing = nothing_attacked(result.audit)
    if nothing is not None:
        click.echo(f"gaudit: {nothing}", err=True)
    if nothing is not None or not result.valid:
        sys.exit(INVALID)
    if limits:
        try:
            result.assert_below(**limits)
        except AssertionError as error:
            click.echo(f"gaudit: over a limit: {'; '.join(str(error).splitlines())}", err=True)
            sys.exit(OVER)


def _audited(way: str, what: str, given: dict[str, Any]) -> "Result":
    from ..api.releases import published, release
    from ..api.tables import score

    ways: dict[str, Callable[..., Result]] = {"score": score, "release": release, "published": published}
    return ways[way](what, **given)

"""`gaudit anonymize`: a defense as a tool."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from ..terminal import clear_errors, console, several, windows_options
from ..written_settings import read_defense, read_pairs

if TYPE_CHECKING:
    from rich.console import Console

    from .anonymise_command import Anonymised, AnonymiseRequest
    from .people import PeopleRequest

PLACE = click.Path(path_type=Path)
_told_options = several(
    click.option(
        "--keep",
        multiple=True,
        type=click.Choice(["weights", "types", "directions"]),
        help="Publish these of edges too; they are dropped otherwise, and times always.",
    ),
    click.option(
        "--weights",
        metavar="HOW",
        help="Publish weights in part: rounded:10 (to multiples of 10), binned:3 (3 classes), noised:5 (noise of "
        "scale 5).",
    ),
    windows_options,
    click.option("--merge-directions", "merge", is_flag=True, help="Take a directed graph as an undirected one."),
)
_people_options = several(
    click.option(
        "--people",
        type=PLACE,
        metavar="FILE",
        help="A table of people (CSV, Parquet): ids of nodes, then attributes.",
    ),
    click.option("--attributes", metavar="NAMES", help="Its columns by which people are known, as in age,city."),
    click.option(
        "--sensitive", metavar="NAMES", help="Its columns that are published as they are, such as a diagnosis."
    ),
    click.option(
        "--hierarchy",
        "hierarchies",
        multiple=True,
        metavar="NAME=HOW",
        help="How a column is told coarsely: interval:10, date, prefix, or a file (rows value;level1;level2).",
    ),
    click.option("--write-people", type=PLACE, metavar="FILE", help="Write what is published of people (CSV)."),
)
_owner_options = several(
    click.option(
        "--write-map",
        type=PLACE,
        metavar="FILE",
        help="Write who is who (CSV), for gaudit published --same. It undoes the renaming: keep it safe.",
    ),
    click.option(
        "--at-risk",
        type=PLACE,
        metavar="FILE",
        help="Write who is alone before and after, by the file's ids (CSV): keep it safe.",
    ),
    click.option(
        "--report", type=PLACE, metavar="FILE", help="Write what was done and what it keeps (an HTML page)."
    ),
)


@click.command(name="anonymize", short_help="Change a graph file, check the guarantee, write it.")
@click.argument("source", type=PLACE)
@click.option("--defense", required=True, metavar="NAME", help="What to do to the graph, as in k-degree:k=10.")
@click.option("--k", type=int, help="The k of defenses that have one.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any setting of the defense.")
@click.option("-o", "--output", "destination", type=PLACE, required=True, metavar="FILE")
@click.option("--rename", is_flag=True, help="Write random numbers instead of the file's ids, in their order.")
@_told_options
@_people_options
@_owner_options
@click.option("--no-utility", is_flag=True, help="Do not measure what is kept (faster).")
@click.option("--seed", type=click.IntRange(0), help="Repeats a result; who knows it can undo what was random.")
@clear_errors
def anonymise_command(
    source: Path,
    defense: str,
    k: int | None,
    settings: tuple[str, ...],
    no_utility: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Anonymise a graph file, check the guarantee on the result, and say what changed.

    The ending of a file tells its format: .txt, .tsv, .csv, .edges (each also .gz), .npz or .graphml; .parquet,
    .gexf, .gml and node-link .json are read too. The ids of the file are kept unless --rename is given: rename
    before you publish. The order of its nodes is kept too, but a private graph has them in the order of their ids.
    Weights and types of edges are dropped unless --keep or --weights names them, and times always: --windows
    publishes windows of time in their place. What will be kept and dropped is printed before the work. Without
    --seed the randomness is fresh each time.

    Example: gaudit anonymize graph.txt --defense k-degree --k 10 -o out.txt
    """
    from ...output_files import check_outputs, write
    from .anonymise_command import AnonymiseRequest, anonymise

    name, own = read_defense(defense)
    asked = _said_once(own, read_pairs(settings), {} if k is None else {"k": k})
    people = _people_of(options)
    outputs = [options["destination"], options["write_map"], options["at_risk"], people.destination, report]
    check_outputs(outputs, [source, people.source])
    options["people"] = people
    request = AnonymiseRequest(
        source, defense=name, settings=asked, measure=not no_utility, count_risk=report is not None, **options
    )
    screen = console()

    def tell(line: str) -> None:
        screen.print(line, highlight=False, soft_wrap=True, markup=False)
        screen.file.flush()

    with screen.status(f"{name} on {source.name}"):
        done = anonymise(request, tell)
    _print_result(screen, name, done)
    if report is not None:
        from .page import page_of

        write(report, page_of(request, done))
    _print_files(request, report)


def _print_result(screen: "Console", name: str, done: "Anonymised") -> None:
    """What came of it: what changed, what holds, who is at risk, what is kept."""
    from ...graphs.measures.at_risk import COLUMNS
    from ...reports.console.kept_console import kept_lines

    def say(line: str, style: str | None = None) -> None:
        screen.print(line, highlight=False, soft_wrap=True, markup=False, style=style)

    for line in (*done.remarks, done.changed):
        say(line)
    if done.verified is not None:
        say(f"Verified on the output: {done.verified.guarantee} ({done.verified.detail})", "bold")
        for line in filter(None, (done.verified.knowledge, done.verified.note)):
            say(line)
    elif done.promise is not None:
        say(done.promise.sentence(), "bold")
    else:
        say(f"No guarantee: {name} changes the graph and promises nothing.")
    if done.scope and (done.verified is not None or done.promise is not None):
        say(done.scope)
    if done.risk is not None:
        for by, (before, after) in {by: done.risk.alone(by) for by in done.risk.before}.items():
            say(f"Alone by {COLUMNS[by]}: {before:,} of {done.people:,} people before, {after:,} after.")
    if done.kept:
        screen.print(kept_lines(done.kept))


def _print_files(request: "AnonymiseRequest", report: Path | None) -> None:
    """What was written, and what must be done with it."""
    if request.seed is not None:
        click.echo("Drawn with a seed: publish without --seed.", err=True)
    if not request.rename:
        click.echo("The ids of the file were kept: publish with --rename.", err=True)
    if request.write_map is not None:
        renamed = "it undoes the renaming"
        told = renamed if request.rename else "nodes kept their ids, so that it tells which were added"
        click.echo(f"Who is who is in {request.write_map}: {told}. Keep it as safe as the graph.", err=True)
    if request.people.destination is not None:
        click.echo(f"People's attributes written to {request.people.destination}", err=True)
    if request.at_risk is not None:
        click.echo(f"Who is alone is in {request.at_risk}: keep it as safe as the graph.", err=True)
    if report is not None:
        click.echo(f"Report written to {report}", err=True)
    click.echo(f"Written to {request.destination}", err=True)


def _people_of(options: dict[str, Any]) -> "PeopleRequest":
    """What is asked for of people, taken out of the options."""
    from .people import PeopleRequest

    names = ("people", "write_people", "attributes", "sensitive", "hierarchies")
    return PeopleRequest(*(options.pop(name) for name in names))


def _said_once(*parts: dict[str, Any]) -> dict[str, Any]:
    """Settings from all places where they can be written."""
    asked: dict[str, Any] = {}
    for name, value in (pair for part in parts for pair in part.items()):
        if asked.setdefault(name, value) != value:
            raise InputError(f"the setting '{name}' is given twice, as {asked[name]} and as {value}: give it once")
    return asked

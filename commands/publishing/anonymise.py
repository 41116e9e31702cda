"""`gaudit anonymize`: a defense as a tool."""

from pathlib import Path
from typing import Any

import click

from ...errors import InputError
from ..terminal import clear_errors, console
from ..written_settings import read_defense, read_pairs


@click.command(name="anonymize", short_help="Change a graph file, check the guarantee, write it.")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--defense", required=True, metavar="NAME", help="What to do to the graph, as in k-degree:k=10.")
@click.option("--k", type=int, help="The k of defenses that have one.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any setting of the defense.")
@click.option("-o", "--output", "destination", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--rename", is_flag=True, help="Write random numbers instead of the file's ids, in their order.")
@click.option(
    "--write-map",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write who is who (CSV), for gaudit published --same. It undoes the renaming: keep it safe.",
)
@click.option(
    "--keep",
    multiple=True,
    type=click.Choice(["weights", "types", "directions"]),
    help="Publish these of edges too; they are dropped otherwise, and times always.",
)
@click.option("--merge-directions", "merge", is_flag=True, help="Take a directed graph as an undirected one.")
@click.option("--no-utility", is_flag=True, help="Do not measure what is kept (faster).")
@click.option("--seed", type=click.IntRange(0), help="Repeats a result; who knows it can undo what was random.")
@clear_errors
def anonymise_command(
    source: Path,
    defense: str,
    k: int | None,
    settings: tuple[str, ...],
    destination: Path,
    rename: bool,
    write_map: Path | None,
    keep: tuple[str, ...],
    merge: bool,
    no_utility: bool,
    seed: int | None,
) -> None:
    """Anonymise a graph file, check the guarantee on the result, and say what changed.

    The ending of a file tells its format: .txt, .tsv, .csv, .edges (each also .gz), .npz or .graphml. The ids of
    the file, and the order of its nodes, are kept unless --rename is given: rename before you publish. Weights
    and types of edges are dropped unless --keep names them, and times always. Without --seed the randomness is
    fresh each time.

    Example: gaudit anonymize graph.txt --defense k-degree --k 10 -o out.txt
    """
    from ...output_files import check_outputs
    from .anonymise_command import AnonymiseRequest, anonymise

    name, own = read_defense(defense)
    asked = _said_once(own, read_pairs(settings), {} if k is None else {"k": k})
    check_outputs([destination, write_map], [source])
    request = AnonymiseRequest(
        source, destination, name, asked, rename, keep, merge, not no_utility, seed, write_map
    )
    screen = console()
    with screen.status(f"{name} on {source.name}"):
        done = anonymise(request)
    from ...reports.console.kept_console import kept_lines

    for line in (*done.remarks, done.changed):
        screen.print(line, highlight=False, soft_wrap=True, markup=False)
    if done.verified is not None:
        line = f"Verified on the output: {done.verified.guarantee} ({done.verified.detail})"
        screen.print(line, highlight=False, soft_wrap=True, style="bold", markup=False)
        for line in filter(None, (done.verified.knowledge, done.verified.note)):
            screen.print(line, highlight=False, soft_wrap=True, markup=False)
    elif done.promise is not None:
        screen.print(done.promise.sentence(), highlight=False, soft_wrap=True, style="bold", markup=False)
    else:
        screen.print(f"No guarantee: {name} changes the graph and promises nothing.", highlight=False, markup=False)
    if done.scope and (done.verified is not None or done.promise is not None):
        screen.print(done.scope, highlight=False, markup=False)
    if done.kept:
        screen.print(kept_lines(done.kept))
    if seed is not None:
        click.echo("Drawn with a seed: publish without --seed.", err=True)
    if not rename:
        click.echo("The ids of the file were kept: publish with --rename.", err=True)
    if write_map is not None:
        told = "it undoes the renaming" if rename else "nodes kept their ids, so that it tells which were added"
        click.echo(f"Who is who is in {write_map}: {told}. Keep it as safe as the graph.", err=True)
    click.echo(f"Written to {destination}", err=True)


def _said_once(*parts: dict[str, Any]) -> dict[str, Any]:
    """Settings from all places where they can be written."""
    asked: dict[str, Any] = {}
    for name, value in (pair for part in parts for pair in part.items()):
        if asked.setdefault(name, value) != value:
            raise InputError(f"the setting '{name}' is given twice, as {asked[name]} and as {value}: give it once")
    return asked

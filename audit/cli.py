"""The command line. Only what a command needs is imported, when it runs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..targets.errors import InputError
from ..targets.registry import GROUPS, find, registered, summary

if TYPE_CHECKING:
    from rich.console import Console


def _clear_errors(command: Callable[..., None]) -> Callable[..., None]:
    """One line and exit code 2 for what the user can mend."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except InputError as error:
            click.echo(f"gaudit: error: {error}", err=True)
            sys.exit(2)

    return wrapped


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="gaudit")
def main() -> None:
    """Privacy attack-and-defense auditing for graph learning.

    Runs a graph pipeline, attacks what it lets out, compares defenses, and says how sure it is.

    Example: gaudit attack --target fedgc --attack mia
    """


def _pairs(values: tuple[str, ...]) -> dict[str, Any]:
    """``a=1 b.c=x`` as nested settings; numbers, booleans and lists are read as such."""
    import json

    settings: dict[str, Any] = {}
    for item in values:
        key, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"--set '{item}': expected KEY=VALUE, for example hops=0")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        into = settings
        *path, last = key.split(".")
        for part in path:
            into = into.setdefault(part, {})
            if not isinstance(into, dict):
                raise InputError(f"--set '{item}': '{part}' was given a value of its own before")
        into[last] = value
    return settings


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


_pipeline = _options(
    click.option("--target", required=True, metavar="NAME", help="Pipeline to run (gaudit list targets)."),
    click.option("--dataset", default="citations", show_default=True, metavar="NAME", help="gaudit list datasets."),
    click.option(
        "--graph", type=click.Path(), metavar="FILE", help="A graph of your own (.npz or .graphml) instead."
    ),
    click.option(
        "--defense",
        "defenses",
        multiple=True,
        metavar="NAME",
        help="Defense, repeatable. By default as published. The undefended control always runs too.",
    ),
    click.option("--strength", type=float, help="Strength of the defense, in its own unit."),
    click.option(
        "--preset",
        default="quick",
        show_default=True,
        help="quick (a minute or so) or paper (the paper's settings).",
    ),
    click.option("--ratio", type=float, help="Size of the condensed graph as a share."),
    click.option("--ratio-of", type=click.Choice(["nodes", "labelled"]), help="Share of what."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any target setting."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness."),
    click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1, ..."),
)


@main.command()
@_pipeline
@click.option(
    "--attack", "attacks", multiple=True, required=True, metavar="NAME", help="Attack, repeatable, or 'all'."
)
@click.option("--observer", metavar="WHO", help="public, server, client:3, or several joined by +.")
@click.option(
    "--neighbours",
    type=click.Choice(["true", "partial", "none", "apart", "all"]),
    default="true",
    show_default=True,
    help="Edges to ask with: all, half, none (0-hop), or none across members and non-members.",
)
@click.option(
    "--attack-set", "attack_settings", multiple=True, metavar="KEY=VALUE", help="Any attack setting: shadows=64."
)
@click.option("--seeds", type=click.IntRange(1), help="Repetitions. Default: 1 for quick, 5 for paper.")
@click.option("--timeline", is_flag=True, help="Attack every release, not only the one validation chose.")
@click.option("--transfer", is_flag=True, help="Train other architectures on the release too.")
@click.option("--transcript", type=click.Path(), metavar="FILE", help="Attack a recorded run instead.")
@click.option("--save-transcripts", type=click.Path(), metavar="FOLDER", help="Record what was sent.")
@click.option("--workers", type=click.IntRange(1), help="Trials at a time. Default: one per core.")
@click.option(
    "--per-node",
    type=click.Path(),
    metavar="FILE",
    help="Write how exposed each member is (CSV; itself sensitive).",
)
@click.option("--json", "json_file", type=click.Path(), metavar="FILE", help="Write all results.")
@_clear_errors
def attack(**options: Any) -> None:
    """Run a pipeline with and without defenses, attack what it lets out, and say what that means.

    Example: gaudit attack --target fedgc --attack mia --attack nearest --dataset Cora --preset paper
    """
    from .attack_command import AttackRequest, run_attack

    json_file, per_node = options.pop("json_file"), options.pop("per_node")
    options["settings"] = _pairs(options["settings"])
    options["attack_settings"] = _pairs(options["attack_settings"])
    for file in filter(None, (json_file, per_node)):
        _check_writable(Path(file))
    console = _console()
    request: AttackRequest = AttackRequest(**options)
    with _progress() as report:
        audit = run_attack(request, report)
    from ..reports.console import print_outcomes
    from ..reports.sentences import last_line

    if json_file is not None:
        _write(Path(json_file), audit.to_json(last_line(audit.outcomes, audit.release_phrase)))
    if per_node is not None:
        _write(Path(per_node), audit.per_node())
    console.print(audit.headline(), highlight=False, soft_wrap=True, markup=False)
    print_outcomes(console, audit.outcomes, audit.release_phrase)
    if json_file is not None:
        click.echo(f"Results written to {json_file}", err=True)
    if per_node is not None:
        click.echo(f"Written to {per_node}: how exposed each member is. Keep it as safe as the graph.", err=True)


@main.command()
@_pipeline
@click.option(
    "--observer",
    "observers",
    multiple=True,
    metavar="WHO",
    help="Repeatable. Default: public, server and client:0.",
)
@click.option("--transcript", type=click.Path(), metavar="FILE", help="Inspect a recorded run instead.")
@_clear_errors
def inspect(**options: Any) -> None:
    """Show who sees what: message kinds, how many, how large, in which rounds.

    Example: gaudit inspect --target fedgc --observer server --observer client:3
    """
    from ..reports.console import exposure_table
    from .attack_command import run_inspection

    options["settings"] = _pairs(options["settings"])
    console = _console()
    with _progress() as report:
        rows = run_inspection(options, report)
    console.print(exposure_table(rows))


@main.command(name="list")
@click.argument("what", type=click.Choice([*GROUPS, "datasets"]))
@_clear_errors
def list_(what: str) -> None:
    """List what is there, with a line about each.

    Example: gaudit list attacks
    """
    if what == "datasets":
        from ..targets.datasets import dataset_names

        lines = dataset_names()
    else:
        lines = {name: summary(find(what, name)) for name in registered(what)}
    width = max(map(len, lines))
    for name, text in lines.items():
        click.echo(f"{name:<{width}}  {text}")


def _console() -> "Console":
    from rich.console import Console

    console = Console()
    # files and pipes have no width of their own: tables must not be squeezed into 80 columns there
    return console if console.is_terminal else Console(width=140)


@contextmanager
def _progress() -> Iterator[Callable[[str, str, int, int], None]]:
    """Bars on the error stream, one per trial; yields ``report(trial, stage, done, total)``."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[trial]}"),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def report(trial: str, stage: str, done: int, total: int) -> None:
            if trial not in tasks:
                tasks[trial] = progress.add_task(stage, total=total, trial=trial)
            progress.update(tasks[trial], description=stage, completed=done, total=total)

        yield report


def _check_writable(path: Path) -> None:
    """Refuses before hours of work what would fail after them."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder, give a file name")
    if not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.absolute().parent} does not exist")
    trial = path.with_name(f".{path.name}.part")
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _write(path: Path, text: str) -> None:
    """The file appears whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error

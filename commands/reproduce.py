"""`gaudit reproduce`: a published table or figure, measured beside what its paper prints."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..output_files import check_outputs, write
from .terminal import clear_errors, console, running_options

if TYPE_CHECKING:
    from ..reproductions.experiment import Experiment
    from ..reproductions.records import Record

LIST = "list"


@click.command(name="reproduce", short_help="Measure a published table or figure again.")
@click.argument("item", metavar="ITEM")
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME", help="Graph, repeatable. Default: all we have."
)
@click.option("--row", "rows", multiple=True, metavar="NAME", help="Row of the table, repeatable. Default: all.")
@click.option("--seeds", type=click.IntRange(1), help="Repetitions. Default: as the plan says, 3 or 5.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="Where seeds begin.")
@click.option("--quick", is_flag=True, help="Short runs for a first look; their numbers are no reproduction.")
@click.option("--recorded", is_flag=True, help="Show what is recorded, and run nothing.")
@click.option(
    "--ledger",
    "ledger_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where every trial is kept; what is in it is not run again. Default: reproduce-fedgc.db, one "
    "for each paper, since its tables and figures have trials in common.",
)
@click.option(
    "--records",
    "records_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Add a line of JSON for each trial here; trials that it holds are not run again, whatever code made them.",
)
@running_options
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the figure here (SVG); of a whole paper the folder that all its figures are drawn in.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write Markdown here.")
@clear_errors
def reproduce_command(item: str, **options: Any) -> None:
    """Measure a published table or figure again, beside the printed values.

    ITEM is a table or a figure, such as fedgc:table2, a paper with all of them, such as fedgc, or the word list,
    which shows every table and figure with its state.

    Example: gaudit reproduce fedgc:table2 --recorded
    """
    from ..reports.console.reproduction_console import print_catalogue
    from ..reproductions.catalogue import experiment_of, experiments, papers, records_of

    if item == LIST:
        print_catalogue(console(), [(one, records_of(one)) for one in experiments()])
        return
    whole = item in papers()
    asked = experiments(item) if whole else (experiment_of(item),)
    output, figure = options.pop("output"), options.pop("figure")
    _check_files(output, None if whole else figure, options)
    if whole and not options["recorded"]:
        raise InputError(
            f"{item} has {len(asked)} tables and figures, which may take days: name one, or --recorded"
        )
    if whole and figure is not None and not figure.is_dir():
        raise InputError(f"--figure {figure} is no folder: a whole paper has several figures")
    if not whole and figure is not None and asked[0].axis is None:
        raise InputError(f"{asked[0].name} has no figure to draw: nothing is measured along an axis")
    asked = tuple(one.only(options["datasets"], options["rows"]) for one in asked)
    _show([(one, _records(one, options)) for one in asked], whole, output, figure)
    if options["quick"]:
        click.echo("gaudit: these were short runs for a first look: their numbers are no reproduction", err=True)


def _check_files(output: Path | None, figure: Path | None, options: dict[str, Any]) -> None:
    """Records are read where nothing is run, and written where something is."""
    records = options["records_file"]
    if not options["recorded"]:
        check_outputs([output, figure, records])
        return
    check_outputs([output, figure], [records])
    if records is not None and not records.is_file():
        raise InputError(f"there is no file of records {records}: without --recorded a run makes it")


def _show(
    found: "list[tuple[Experiment, list[Record]]]", whole: bool, output: Path | None, figure: Path | None
) -> None:
    from ..reports.console.reproduction_console import print_catalogue, print_reproduction
    from ..reports.formats.reproduction_page import page_of, part_of

    drawn = {} if figure is None else _drawn(found, whole, figure)
    if output is not None:
        places = {name: os.path.relpath(file, output.parent) for name, file in drawn.items()}
        page = page_of(found[0][0].paper, found, places) if whole else "\n".join(part_of(*found[0], places)) + "\n"
        write(output, page)
    elif whole:
        print_catalogue(console(), found)
    else:
        print_reproduction(console(), *found[0])


def _drawn(found: "list[tuple[Experiment, list[Record]]]", whole: bool, place: Path) -> dict[str, Path]:
    """Draws what was measured along an axis; where, by the name of the table or figure."""
    from ..reports.figures.series_figure import series_figure

    files = {}
    for experiment, records in found:
        drawing = series_figure(experiment, records)
        if drawing:
            files[experiment.name] = place / f"{experiment.name.replace(':', '-')}.svg" if whole else place
            write(files[experiment.name], drawing)
    if not files:
        click.echo("gaudit: nothing was measured along an axis yet, so no figure is drawn", err=True)
    return files


def _records(experiment: "Experiment", options: dict[str, Any]) -> "list[Record]":
    """What is recorded, or what is measured now."""
    from ..reproductions.catalogue import records_of
    from ..reproductions.records import read_records

    if options["recorded"]:
        file = options["records_file"]
        return records_of(experiment) if file is None else read_records(file)
    return _measured(experiment, options)


def _measured(experiment: "Experiment", options: dict[str, Any]) -> "list[Record]":
    from ..reports.console.progress import counted
    from ..reproductions.records import add_records, read_records
    from ..reproductions.running import counted as counts
    from ..reproductions.running import planned_trials, run_trials

    if not experiment.datasets or not experiment.row:
        raise InputError(f"{experiment.name} cannot be run: {_why_not(experiment)}")
    if experiment.kind == "statistics":
        sizes = counts(experiment)
        if options["records_file"] is not None:
            add_records(options["records_file"], sizes)
        return sizes
    last = options["first_seed"] + (options["seeds"] or experiment.seeds)
    seeds, file = range(options["first_seed"], last), options["records_file"]
    trials, graphs = planned_trials(experiment, seeds, options["quick"])
    kept = [] if file is None else read_records(file)
    held = {r.name: r for r in kept if not (r.refused and options["retry"])}
    missing = [t for t in trials if t.name not in held]
    click.echo(f"gaudit: {len(missing)} trials to run of {len(trials)}", err=True)
    ledger = options["ledger_file"] or Path(f"reproduce-{experiment.paper}.db")
    how = {name: options[name] for name in ("workers", "executor", "retry", "timeout")}
    added: set[object] = set()
    with counted("trials", len(missing)) as step:

        def noted(title: str, record: "Record") -> None:
            if file is not None:
                add_records(file, [record])
                added.add(record.name)
            step(title)

        found = run_trials(experiment, missing, graphs, last, ledger, how, noted) if missing else []
    if file is not None:  # also those that the ledger held already
        add_records(file, [record for record in found if record.name not in added])
    return [*(held[t.name] for t in trials if t.name in held), *found]


def _why_not(experiment: "Experiment") -> str:
    if experiment.kind == "drawing":
        return "it is a drawing, in which nothing is measured"
    return f"it needs data that gaudit lacks ({', '.join(experiment.lacking)})"

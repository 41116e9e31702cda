"""`gaudit record`: audits runs that took place elsewhere and were recorded."""

from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..output_files import check_apart
from .audit import run_plan
from .terminal import clear_errors
from .written_settings import read_pairs


@click.command(name="record", short_help="Audit runs that took place elsewhere.")
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING...", type=click.Path())
@click.option("--graph", required=True, type=click.Path(), metavar="FILE", help="The graph (.npz or .graphml).")
@click.option(
    "--holders",
    type=click.Path(),
    metavar="FILE",
    help="Who holds which node (.npy, numbers of clients); else 'holders' of the recording or the graph.",
)
@click.option("--attack", "attacks", multiple=True, metavar="NAME", help="Repeatable. By default all that apply.")
@click.option(
    "--observer", metavar="WHO", help="public, server, client:3. By default who sees what an attack reads."
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="What is not recorded: recipe.hidden=64."
)
@click.option(
    "--preset", type=click.Choice(["quick", "paper"]), default="quick", show_default=True, help="Of the attacks."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Root of all randomness.")
@click.option(
    "--ledger",
    "ledger_file",
    type=click.Path(path_type=Path),
    default=Path("audit.db"),
    show_default=True,
    metavar="FILE",
    help="Where every trial is kept; what is in it is not run again.",
)
@click.option("--workers", type=click.IntRange(1), help="Trials at a time. Default: one per core.")
@clear_errors
def record_command(
    recordings: tuple[str, ...], graph: str, ledger_file: Path, workers: int | None, **asked: Any
) -> None:
    """Audit recorded runs: folders that gaudit.recording wrote, or transcript files.

    Several recordings are taken for repetitions of one run.

    Exit codes: 0 all done; 1 a trial failed; 2 something in the command is wrong; 4 a control of the audit failed
    or no attack applied.

    Example: gaudit record runs/0 runs/1 runs/2 --graph g.npz --holders holders.npy --ledger audit.db
    """
    from ..audit.planning.recorded_plan import recorded_plan

    inputs = [graph, *recordings, *filter(None, [asked["holders"]])]
    check_apart([ledger_file], [Path(file) for file in inputs])
    if len(set(recordings)) < len(recordings):
        raise InputError("the same recording is given twice: each run is one repetition")
    asked["settings"] = read_pairs(asked["settings"])
    plan = recorded_plan(recordings, graph, **asked)
    how = {"workers": workers, "executor": "local", "retry": False, "timeout": None, "anyway": True}
    run_plan(plan, ledger_file, False, how)

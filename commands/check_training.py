"""`gaudit check-training`: one run of a private training, against its promise."""

from pathlib import Path

import click

from ..output_files import check_outputs
from ..reports.console.progress import counted
from .claim_ending import end_with
from .terminal import clear_errors
from .written_settings import read_pairs


@click.command(name="check-training", short_help="Test the promise of a private training by one run.")
@click.argument("target")
@click.option("--dataset", default="citations", show_default=True, help="Graph to train on (gaudit list datasets).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the target, repeatable.")
@click.option(
    "--canaries",
    default=500,
    show_default=True,
    help="Training nodes, or graphs, that a coin puts in or leaves out.",
)
@click.option("--guesses", default=300, show_default=True, help="Canaries that are guessed, half in and half out.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of coins and training.")
@click.option("--level", default=0.95, show_default=True, help="Confidence of the bound.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the result.")
@clear_errors
def check_training_command(
    target: str,
    dataset: str,
    settings: tuple[str, ...],
    canaries: int,
    guesses: int,
    seed: int,
    level: float,
    json_file: Path | None,
) -> None:
    """Put the promise of a private training to the test, in one run with many canaries.

    TARGET is one that promises differential privacy for nodes (dp-mlp, dp-gnn, gap-ndp), or for whole graphs
    (dp-graph-classifier, on a collection of graphs). A coin says of each canary whether it is trained on; who
    guesses more of them right than the promise allows refutes it. Exit codes: 0 not refuted; 1 refuted; 2 something
    in the command is wrong.

    Example: gaudit check-training dp-mlp --set epsilon=2
    """
    from ..audit.claims.one_run import check_training
    from ..audit.planning.resolve import graph_of, target_of

    check_outputs([json_file])
    data = graph_of(dataset, False)
    made = target_of(target, "quick", data, {**read_pairs(settings), "split": "dataset"})
    with counted("training", 1) as step:
        found = check_training(made, data, canaries, guesses, seed, level=level)
        step(made.name)
    end_with(found, json_file)

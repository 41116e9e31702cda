"""What FedC4's messages and its graph rebuilder are worth, and what is left of a graph's shape (Table 3, Figure 3).

    python benchmarks/rebuilt_links.py run --dataset Cora --seeds 3
    python benchmarks/rebuilt_links.py show

Accuracy is that of FedC4 with the paper's settings, undefended. Rows differ in who is told what (all of what a
cluster's mean is like, everything, nothing), and in how links are rebuilt.
"""

from functools import partial
from typing import Any

import click
import numpy as np
from trial_records import TrialRecords, percent, points, records_option

ROWS: dict[str, dict[str, Any]] = {
    "chosen": {},
    "alone": {"delta": 0.0},
    "all told": {"broadcast": "full"},
    "unit rows": {"rows": "unit"},
    "-GR": {"rebuild": False},
    "-NS": {"tau": -1.0},
}
"""What differs from the paper's settings, by row."""
FIGURES = ("degree divergence", "density", "homophily")


@click.group()
def main() -> None:
    """Run trials, or show those that are recorded."""


@main.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer", "Physics"]), default="Cora", show_default=True)
@click.option("--row", "rows", multiple=True, type=click.Choice(list(ROWS)), help="Only these rows.")
@click.option("--seeds", default=3, show_default=True)
@records_option("rebuilt_links")
def run(dataset: str, rows: tuple[str, ...], seeds: int, records: TrialRecords) -> None:
    """Run the trials that are not recorded yet."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    for row in rows or ROWS:
        for seed in range(seeds):
            records.make(f"{dataset}: {row} {seed}", partial(_trial, data, row, seed))


def _trial(data: Any, row: str, seed: int) -> dict[str, Any]:
    from gaudit.registry import find

    target = find("targets", "fedc4")
    made = target(**{**target.preset("paper", data), **ROWS[row]})
    result = made(data, find("defenses", "none")(), np.random.SeedSequence(seed), lambda message: False)
    alone = sum("alone in its cluster" in note for note in result.notes)
    return {"accuracy": result.utility.test, "figures": result.figures, "alone": alone}


@main.command()
@records_option("rebuilt_links")
def show(records: TrialRecords) -> None:
    """Print the tables."""
    for dataset in ("Cora", "CiteSeer", "Physics"):
        found = {row: records.seeds(f"{dataset}: {row}") for row in ROWS}
        found = {row: trials for row, trials in found.items() if trials}
        if found:
            _accuracies(dataset, found)
            _shapes(dataset, found)


def _accuracies(dataset: str, found: dict[str, list[dict[str, Any]]]) -> None:
    click.echo(f"\n**{dataset}, accuracy.**\n")
    click.echo(
        "| row | seeds | accuracy % | against alone, points | clients alone in the end |\n|---|---|---|---|---|"
    )
    for row, trials in found.items():
        accuracy = [t["accuracy"] for t in trials]
        against = [t["accuracy"] for t in found.get("alone", [])]
        same = row != "alone" and len(against) == len(accuracy)
        apart = points([a - b for a, b in zip(accuracy, against, strict=True)]) if same else ""
        alone = float(np.mean([t["alone"] for t in trials]))
        click.echo(f"| {row} | {len(trials)} | {percent(accuracy)} | {apart} | {alone:.1f} of 5 |")


def _shapes(dataset: str, found: dict[str, list[dict[str, Any]]]) -> None:
    click.echo(f"\n**{dataset}, shape.**\n")
    click.echo(f"| graphs | {' | '.join(FIGURES)} |\n|---|---|---|---|")
    for kind in ("original", "condensed"):
        click.echo(_shape(kind, next(iter(found.values())), kind))
    for row, trials in found.items():
        click.echo(_shape(f"{row}, rebuilt", trials, "rebuilt"))


def _shape(name: str, trials: list[dict[str, Any]], kind: str) -> str:
    means = [np.mean([t["figures"][f"{figure}, {kind}"] for t in trials]) for figure in FIGURES]
    return f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} |"


if __name__ == "__main__":
    main()

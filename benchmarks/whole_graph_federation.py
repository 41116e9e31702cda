"""Federations of clients who hold whole graphs: accuracy, and what their published answers tell of members.

    python benchmarks/whole_graph_federation.py run --dataset MUTAG --seeds 3
    python benchmarks/whole_graph_federation.py show --dataset MUTAG

Four clients, graphs divided by class (Dirichlet, beta 1), half of a client's graphs to train on, a fifth for
validation and the rest to test. 100 rounds of one local epoch in batches of 16; else the targets' defaults.
The round is chosen by validation graphs. Each trial is recorded when it is done and not run again.
"""

from functools import partial
from typing import Any

import click
from trial_records import TrialRecords, percent, records_option
from update_ownership import Case, ran, scored

SETTINGS = {
    **{"clients": 4, "partition": "dirichlet", "beta": 1.0, "train": 0.5, "test": 0.3},
    **{"rounds": 100, "batch": 16, "local_epochs": 1},
}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "each client alone": ("graph-fedavg", {"shared": "nothing", "publish": ("posteriors",)}),
    "`graph-fedavg`": ("graph-fedavg", {"publish": ("posteriors",)}),
    "`graph-fedprox`, `mu=0.01`": ("graph-fedprox", {"publish": ("posteriors",), "mu": 0.01}),
    "`gcfl`": ("gcfl", {}),
    "`gcfl+`": ("gcfl+", {}),
    "`fedstar`": ("fedstar", {}),
}
"""Ways of training by their label: the target, and what it is told beside `SETTINGS`."""
RECORDS = records_option("whole_graph_federation")
DATASET = click.option("--dataset", default="MUTAG", show_default=True, help="A collection of graphs.")


def trial(dataset: str, target: str, more: dict[str, Any], index: int) -> dict[str, Any]:
    """Accuracy on test graphs, the AUC of `loss`, and in how many clusters clients are in the end."""
    case = Case(target, target, {**SETTINGS, **more}, attacks=("loss",), observers=("public",))
    done = ran(dataset, case, index)
    told = scored(done, "loss", "public")["AUC"]
    return {"accuracy": done.run.utility.test, "AUC": told, "clusters": done.run.figures.get("clusters", 1.0)}


@click.group()
def main() -> None:
    """Run what is not recorded yet, or print what is."""
    from gaudit.audit.running.trial import use_one_thread

    use_one_thread()


@main.command()
@DATASET
@click.option("--seeds", default=3, show_default=True)
@RECORDS
def run(dataset: str, seeds: int, records: TrialRecords) -> None:
    """Each way of training."""
    for index in range(seeds):
        for label, (target, more) in WAYS.items():
            records.make(f"{dataset}, {label}: {index}", partial(trial, dataset, target, more, index))
    table(dataset, TrialRecords(records.file))


@main.command()
@DATASET
@RECORDS
def show(dataset: str, records: TrialRecords) -> None:
    """What is recorded."""
    table(dataset, records)


def table(dataset: str, records: TrialRecords) -> None:
    """A row for each way of training: means over seeds in percent, with 95 % intervals by Student's t."""
    click.echo("| | seeds | accuracy | AUC of `loss` | clusters |")
    click.echo("| --- | --- | --- | --- | --- |")
    for label in WAYS:
        found = records.seeds(f"{dataset}, {label}:")
        cells = [percent([one[key] for one in found]) for key in ("accuracy", "AUC") if found]
        groups = " ".join(str(int(one["clusters"])) for one in found)
        click.echo(f"| {label} | {len(found)} | {' | '.join(cells)} | {groups} |")


if __name__ == "__main__":
    main()

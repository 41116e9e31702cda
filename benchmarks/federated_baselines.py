"""Baselines that the tables of FedC4 and FedGC name: accuracy, measured beside published.

Each trial (dataset, method, seed) is recorded when it is done, and not run again:

    python benchmarks/federated_baselines.py run --dataset Cora --method feddc --seeds 3
    python benchmarks/federated_baselines.py show

Where a method has several settings here, the table says which one validation prefers.
"""

import time
from functools import partial
from typing import Any

import click
import numpy as np
from condensed_graphs import BESIDE_FEDC4
from trial_records import TrialRecords, percent, records_option

BESIDE_FEDGC: dict[str, Any] = {"clients": 10, "partition": "dirichlet", "beta": 1.0, "split": "dataset"}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {  # target and settings
    "bns-gcn, p = 0.1": ("bns-gcn", BESIDE_FEDGC),
    "bns-gcn, p = 0.5": ("bns-gcn", BESIDE_FEDGC | {"share": 0.5}),
    "feddc, alpha = 0.1": ("feddc", BESIDE_FEDC4),
    "feddc, alpha = 0.01": ("feddc", BESIDE_FEDC4 | {"alpha": 0.01}),
    "fgssl": ("fgssl", BESIDE_FEDC4),
    "feddep": ("feddep", BESIDE_FEDC4),
    "random": ("fedavg-reduced", BESIDE_FEDC4),
    "herding": ("fedavg-reduced", BESIDE_FEDC4 | {"reduction": "herding"}),
    "coarsening": ("fedavg-reduced", BESIDE_FEDC4 | {"reduction": "coarsening"}),
}
PUBLISHED = {  # accuracy %: BDS-GCN of FedGC's table 1, all others of FedC4's, reductions at the ratio 4 %
    "Cora": {"bns-gcn": 76.0, "feddc": 84.79, "fgssl": 84.97, "feddep": 85.01}
    | {"random": 80.61, "herding": 80.63, "coarsening": 81.81},
    "CiteSeer": {"bns-gcn": 67.1, "feddc": 71.94, "fgssl": 74.89, "feddep": 73.83}
    | {"random": 65.89, "herding": 67.52, "coarsening": 66.83},
}
RECORDS = records_option("federated_baselines")


@click.group()
def main() -> None:
    """Accuracy of federated baselines."""


@main.command()
@click.option("--dataset", type=click.Choice(list(PUBLISHED)), required=True)
@click.option("--method", "methods", multiple=True, help="by its name, or all that begin so; all by default")
@click.option("--seeds", default=3, show_default=True)
@RECORDS
def run(dataset: str, methods: tuple[str, ...], seeds: int, records: TrialRecords) -> None:
    """Run the trials that are not recorded yet, one after another on one thread."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    data = load_dataset(dataset)
    for method in (name for name in METHODS if not methods or name.startswith(methods)):
        for seed in range(seeds):
            records.make(f"{dataset}: {method}: {seed}", partial(_trial, data, method, seed))


def _trial(data: Any, method: str, seed: int) -> dict[str, Any]:
    from gaudit.registry import find
    from gaudit.targets.defense import Defense

    name, settings = METHODS[method]
    began = time.process_time()
    found = find("targets", name)(**settings)(data, Defense(), np.random.SeedSequence(seed), lambda message: False)
    spent = time.process_time() - began
    return {"accuracy": found.utility.test, "validation": found.utility.validation, "seconds": spent}


@main.command()
@RECORDS
def show(records: TrialRecords) -> None:
    """Print what is recorded as Markdown."""
    click.echo("| dataset | method | seeds | accuracy % | validation % | published | CPU s |\n" + "|---" * 7 + "|")
    for dataset, published in PUBLISHED.items():
        for method in METHODS:
            if trials := records.seeds(f"{dataset}: {method}:"):
                accuracy, validation = ([t[key] for t in trials] for key in ("accuracy", "validation"))
                cells = [dataset, method, len(trials), percent(accuracy), f"{100 * np.mean(validation):.1f}"]
                cells += [published[method.partition(",")[0]], f"{np.mean([t['seconds'] for t in trials]):.0f}"]
                click.echo(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()

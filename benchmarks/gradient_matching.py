"""Links from the gradients of the first round, on clients that the attack's defaults were not tuned on.

    python benchmarks/gradient_matching.py --dataset Cora --dataset CiteSeer --seeds 3

The defaults were picked with the truth in sight on one METIS client of Cora (seed 0); here the partitions are
others: METIS and Louvain of Cora and CiteSeer from seed 11 on. Features alone stand beside.
"""

import time
from typing import Any

import click
import numpy as np

FIRST = 11


@click.command()
@click.option("--dataset", "datasets", multiple=True, default=("Cora", "CiteSeer"))
@click.option("--partition", "partitions", multiple=True, default=("metis", "louvain"))
@click.option("--clients", default=4, show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(datasets: tuple[str, ...], partitions: tuple[str, ...], clients: int, seeds: int) -> None:
    """Print one table."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset

    use_one_thread()
    click.echo("| graph | clients | AUC | features | AP | features | precision at E | features | CPU s |")
    click.echo("| --- |" + " --- |" * 8)
    for dataset in datasets:
        data = load_dataset(dataset)
        for partition in partitions:
            rows = [_trial(data, partition, clients, FIRST + seed) for seed in range(seeds)]
            mean = [f"{np.mean([row[name] for row in rows]):.3f}" for name in rows[0]]
            click.echo(f"| {dataset} | {clients}, {partition} | {' | '.join(mean)} |")


def _trial(data: Any, partition: str, clients: int, index: int) -> dict[str, float]:
    """Mean over the clients of one run of two rounds, of which the first is attacked."""
    from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
    from gaudit.audit.running.trial import run_trial
    from gaudit.registry import find

    kind = find("targets", "fedavg")
    settings = kind.preset("quick", data) | {
        "upload": "gradients",
        "clients": clients,
        "partition": partition,
        "rounds": 2,
    }
    began = time.process_time()
    plan = TrialPlan("fedavg", settings, "none", {}, (AttackPlan("gradient-matching", {}, "server"),), 0, index)
    result = run_trial(plan, data)
    if not result.attacked:
        raise click.ClickException(f"the attack does not apply: {result.refused}")
    (attacked,) = result.attacked
    seconds = time.process_time() - began
    owners = attacked.attributes["client"]
    found = [_metrics(attacked.judged.where(owners == c)) for c in np.unique(owners)]
    blind = [_metrics(attacked.blind.where(owners == c)) for c in np.unique(owners)]
    row: dict[str, float] = {}
    for name in found[0]:
        row[name] = float(np.mean([f[name] for f in found]))
        row[f"{name} of features"] = float(np.mean([b[name] for b in blind]))
    return row | {"seconds": seconds}


def _metrics(judged: Any) -> dict[str, float]:
    from gaudit.audit.statistics.average_precision import average_precision_finding, precision_at_members
    from gaudit.audit.statistics.metrics import auc

    return {
        "auc": auc(judged.truth, judged.score),
        "ap": float(average_precision_finding([judged]).estimate or 0),
        "precision": precision_at_members(judged),
    }


if __name__ == "__main__":
    main()

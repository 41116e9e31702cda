"""Links from explanations (`explanation-similarity`), over all pairs of nodes.

    python benchmarks/explanations.py --dataset Cora --dataset CiteSeer --seeds 3

The target is a GCN with 16 hidden units, trained on the dataset's own training nodes for 200 epochs. All pairs of
nodes are scored, so AUC and AP are those at true prevalence. The time is that of explaining all nodes.
"""

import time
from collections.abc import Iterator
from typing import Any

import click
import numpy as np


@click.command()
@click.option("--dataset", "datasets", multiple=True, default=("Cora", "CiteSeer"), show_default=True)
@click.option("--seeds", default=1, show_default=True)
def main(datasets: tuple[str, ...], seeds: int) -> None:
    """Print one table."""
    import torch

    from gaudit.graphs.datasets.loading import load_dataset

    torch.set_num_threads(1)
    click.echo("| graph | score | AUC | AP | CPU s |\n" + "| --- " * 5 + "|")
    for name in datasets:
        data = load_dataset(name)
        runs = [dict(_measured(data, np.random.SeedSequence(seed))) for seed in range(seeds)]
        for row in runs[0]:
            figures = [np.mean([run[row][k] for run in runs]) for k in range(3)]
            click.echo(f"| {name} | {row} | {figures[0]:.3f} | {figures[1]:.3f} | {figures[2]:.1f} |")


def _measured(data: Any, seed: np.random.SeedSequence) -> Iterator[tuple[str, tuple[float, float, float]]]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    from gaudit.attacks.links.explanation_similarity import denoised
    from gaudit.targets.models.explanations import explanations
    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import TrainingTask

    low, high = np.triu_indices(data.num_nodes, 1)
    linked = np.zeros((data.num_nodes, data.num_nodes), dtype=bool)
    linked[data.edge_index[0], data.edge_index[1]] = True
    truth = linked[low, high]

    def judged(rows: Any, took: float = 0.0) -> tuple[float, float, float]:
        unit = rows / rows.norm(dim=1, keepdim=True).clamp_min(1e-12)
        score = (unit @ unit.t()).numpy()[low, high]
        return float(roc_auc_score(truth, score)), float(average_precision_score(truth, score)), took

    task = TrainingTask(data, data.train_mask[None], TrainingConfig(hidden=16, epochs=200), int(data.y.max()) + 1)
    found = train_models(task, [], seed, keep_weights=True)
    start = time.process_time()
    told = explanations(task, {name: weight[0] for name, weight in found.weights.items()})
    took = time.process_time() - start
    yield "features alone (blind)", judged(data.x)
    yield "explanations", judged(told, took)
    yield "explanations, denoised", judged(denoised(told, data.x, data.y), took)


if __name__ == "__main__":
    main()

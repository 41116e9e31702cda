"""What a row tells of its class before and after FedGC's bottleneck, by itself and with its neighbours.

Architectures that weigh a node's own row apart from its neighbours' (MLP, Cheby, SAGE) are trained on FedGC's
condensed graphs and tested on transformed rows. Here nothing is condensed: a linear classifier is fitted to the
rows of all labelled nodes, to see what the rows are worth to begin with.

    python benchmarks/transformed_rows.py --dataset Cora --seeds 3
"""

from typing import Any

import click
import numpy as np
import torch
from torch import Tensor
from trial_records import percent


@click.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer"]), default="Cora", show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--held-out", default=0.5, show_default=True, help="Share of test nodes kept out of self-training.")
def main(dataset: str, seeds: int, held_out: float) -> None:
    """Accuracy of a linear classifier of features, of their transformed means, and of the draws that are used."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.targets.models.propagation import gcn_operator

    use_one_thread()
    data = load_dataset(dataset)
    operator = gcn_operator(data.edge_index, data.num_nodes)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        for name, rows in {"features": data.x, **_transformed(data, seed, held_out)}.items():
            both = _accuracy(data, rows), _accuracy(data, operator @ (operator @ rows))
            found.setdefault(name, []).append(both)
    click.echo("| rows | by themselves, test accuracy % | aggregated twice |\n|---|---|---|")
    for name, pairs in found.items():
        alone, together = zip(*pairs, strict=True)
        click.echo(f"| {name} | {percent(list(alone))} | {percent(list(together))} |")


def _transformed(data: Any, seed: int, held_out: float) -> dict[str, Tensor]:
    """Every node's transformed row [N, d] as its client made it in FedGC: the mean, and the draw that is used."""
    from gaudit.defenses.training.bottleneck import InformationBottleneck
    from gaudit.targets.federated_condensation.fedgc import FedGC
    from gaudit.targets.models.encoder import encoded

    means, draws = torch.empty_like(data.x), torch.empty_like(data.x)

    class Watched(InformationBottleneck):
        def on_data(self, client: Any, shared: Any, seed: np.random.SeedSequence, hold: Any) -> Any:
            held: dict[str, Tensor] = {}
            transformed = super().on_data(client, shared, seed, lambda kind, kept: held.update(kept))
            draws[client.nodes] = transformed.x
            means[client.nodes] = encoded(client.x, client.edges, held)
            return transformed

    brief = {"rounds": 1, "checkpoints": (1,), "test": {"epochs": 1, "models": 1}}  # what comes after is not asked
    target = FedGC(held_out=held_out, **brief)
    target.run(data, Watched(), np.random.SeedSequence(seed), lambda message: False)
    return {"transformed, mean": means, "transformed, drawn": draws}


def _accuracy(data: Any, rows: Tensor) -> float:
    """Test accuracy of logistic regression on the labelled rows, its penalty chosen on validation nodes."""
    from sklearn.linear_model import LogisticRegression

    def part(mask: Tensor) -> tuple[Any, Any]:
        return rows[mask].numpy(), data.y[mask].numpy()

    train, val, test = part(data.train_mask), part(data.val_mask), part(data.test_mask)
    tried = [LogisticRegression(C=c, max_iter=1000).fit(*train) for c in (1e-3, 1e-2, 1e-1, 1.0, 10.0)]
    best = max(tried, key=lambda model: model.score(*val))
    return float(best.score(*test))


if __name__ == "__main__":
    main()

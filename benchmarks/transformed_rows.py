"""What a row tells of its class before and after FedGC's bottleneck, by itself and with its neighbours.

Architectures that weigh a node's own row apart from its neighbours' (MLP, Cheby, SAGE) are trained on FedGC's
condensed graphs and tested on transformed rows. Here a linear classifier is fitted to the rows of all labelled
nodes, to see what the rows are worth before anything is condensed. With ``--rounds`` FedGC goes on to condense
them, and its own accuracy is printed too.

    python benchmarks/transformed_rows.py --dataset Cora --seeds 3
"""

from dataclasses import replace
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor
from trial_records import percent


@click.command()
@click.option("--dataset", type=click.Choice(["Cora", "CiteSeer"]), default="Cora", show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--first-weights", type=click.Choice(["common", "own"]), default="common", show_default=True)
@click.option("--compression", type=click.Choice(["sum", "per-dimension"]), default="sum", show_default=True)
@click.option("--gamma", default=5e-4, show_default=True)
@click.option("--epochs", default=100, show_default=True, help="Of each encoder.")
@click.option("--words", type=int, help="Keep the most frequent words alone.")
@click.option(
    "--reads",
    type=click.Choice(["own", "two-hops"]),
    default="own",
    show_default=True,
    help="Whose raw rows an encoder reads; two-hops is what the released code hands each client.",
)
@click.option("--rounds", default=0, show_default=True, help="Of condensing; with 0 nothing is condensed.")
@click.option("--held-out", default=0.5, show_default=True, help="Share of test nodes kept out of self-training.")
def main(
    dataset: str, seeds: int, held_out: float, words: int | None, reads: str, rounds: int, **defense: Any
) -> None:
    """Accuracy of a linear classifier of features, of their transformed means, and of the draws that are used."""
    from gaudit.audit.running.trial import use_one_thread
    from gaudit.graphs.datasets.loading import load_dataset
    from gaudit.targets.models.propagation import gcn_operator

    use_one_thread()
    data = load_dataset(dataset)
    if words is not None:
        data.x = data.x[:, data.x.sum(0).argsort(descending=True)[:words].sort().values].contiguous()
    operator = gcn_operator(data.edge_index, data.num_nodes)
    found: dict[str, list[tuple[float, ...]]] = {}
    condensed: list[float] = []
    for seed in range(seeds):
        transformed, took_part, accuracy = _transformed(data, seed, held_out, reads, rounds, defense)
        condensed.append(accuracy)
        for name, rows in {"features": data.x, **transformed}.items():
            alone, together = _right(data, rows), _right(data, operator @ (operator @ rows))
            parts = (data.test_mask & took_part, data.test_mask & ~took_part)
            both = [float(right[data.test_mask].mean()) for right in (alone, together)]
            apart = [float(together[part].mean()) if bool(part.any()) else float("nan") for part in parts]
            found.setdefault(name, []).append((*both, *apart))
    click.echo("| rows | by themselves, test accuracy % | aggregated twice | in self-training | not in it |")
    click.echo("|---|---|---|---|---|")
    for name, measured in found.items():
        click.echo(f"| {name} | {' | '.join(percent(list(values)) for values in zip(*measured, strict=True))} |")
    if rounds:
        click.echo(f"FedGC itself, after {rounds} rounds: {percent(condensed)} %")


def _transformed(
    data: Any, seed: int, held_out: float, reads: str, rounds: int, settings: dict[str, Any]
) -> tuple[dict[str, Tensor], Tensor, float]:
    """Every node's transformed row [N, d] as its client made it in FedGC: the mean, and the draw that is used.

    Then which nodes were trained on with a label, true or guessed [N], and the accuracy of what was condensed.
    """
    from gaudit.defenses.training.bottleneck import InformationBottleneck
    from gaudit.targets.federated_condensation.fedgc import FedGC
    from gaudit.targets.models.encoder import encoded

    means, draws = torch.empty_like(data.x), torch.empty_like(data.x)
    took_part = torch.zeros(data.num_nodes, dtype=torch.bool)

    class Watched(InformationBottleneck):
        def on_data(self, client: Any, shared: Any, seed: np.random.SeedSequence, hold: Any) -> Any:
            held: dict[str, Tensor] = {}
            reader, knows = (client, shared) if reads == "own" else _with_two_hops(data, client, shared)
            wider = super().on_data(reader, knows, seed, lambda kind, kept: held.update(kept))
            own = slice(len(client.nodes))
            draws[client.nodes], took_part[client.nodes] = wider.x[own], wider.used[own]
            means[client.nodes] = encoded(reader.x, reader.edges, held)[own]
            return replace(client, x=wider.x[own], used=wider.used[own])

    if rounds:
        after: dict[str, Any] = {"rounds": rounds, "checkpoints": (rounds,)}
    else:  # what comes after is not asked
        after = {"rounds": 1, "checkpoints": (1,), "test": {"epochs": 1, "models": 1}}
    target = FedGC(held_out=held_out, **after)
    run = target.run(data, Watched(**settings), np.random.SeedSequence(seed), lambda message: False)
    return {"transformed, mean": means, "transformed, drawn": draws}, took_part, run.utility.test


def _with_two_hops(data: Any, client: Any, shared: Any) -> tuple[Any, Any]:
    """The client as the released code has it, with raw rows and edges of all nodes within two hops of its own.

    Its own nodes come first. Labels and validation nodes of others stay with them.
    """
    from torch_geometric.utils import k_hop_subgraph, subgraph

    near = k_hop_subgraph(client.nodes, 2, data.edge_index, num_nodes=data.num_nodes)[0]
    others = near[~torch.isin(near, client.nodes)]
    nodes = torch.cat([client.nodes, others])
    place = torch.full((data.num_nodes,), -1)
    place[nodes] = torch.arange(len(nodes))
    edges = place[subgraph(nodes, data.edge_index, num_nodes=data.num_nodes)[0]]

    def padded(own: Tensor) -> Tensor:
        return torch.cat([own, own.new_zeros(len(others))])

    masks = {name: padded(getattr(client, name)) for name in ("y_train", "train", "val", "test", "used")}
    wider = replace(client, nodes=nodes, x=data.x[nodes], y=data.y[nodes], edges=edges, **masks)
    number = client.number
    guessed = {number: padded(shared.pseudo_labels[number])}
    took_part = {number: padded(shared.pseudo_labelled[number])}
    return wider, replace(shared, pseudo_labels=guessed, pseudo_labelled=took_part)


def _right(data: Any, rows: Tensor) -> Tensor:
    """Which nodes logistic regression on the labelled rows gets right [N]; validation nodes choose its penalty."""
    from sklearn.linear_model import LogisticRegression

    def part(mask: Tensor) -> tuple[Any, Any]:
        return rows[mask].numpy(), data.y[mask].numpy()

    train, val = part(data.train_mask), part(data.val_mask)
    tried = [LogisticRegression(C=c, max_iter=1000).fit(*train) for c in (1e-3, 1e-2, 1e-1, 1.0, 10.0)]
    best = max(tried, key=lambda model: model.score(*val))
    return (torch.from_numpy(best.predict(rows.numpy())) == data.y).float()


if __name__ == "__main__":
    main()

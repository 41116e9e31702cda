"""CPU seconds of FedGC's two expensive parts: a round of condensation, and an epoch of the local transform.

    python benchmarks/fedgc_cost.py --dataset Cora

Baselines run in the same process on one thread: the edge network that gathers all pairs (as released code
does) beside the split one, and the transform's dense first layer beside the sparse one. The published
figure is 0.32 s a round on Cora (3.2 to 3.6 s for 10 rounds, FedGC Table 6) on an RTX 2080 Ti.
"""

import time
from collections.abc import Callable

import click
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from gaudit.defenses.training.bottleneck_encoder import Encoder, compression
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.condensation.gradient_distance import StructureGenerator
from gaudit.targets.defense import Defense
from gaudit.targets.federated_condensation.fedgc import FedGC
from gaudit.targets.models.propagation import Factor, gcn_operator, sparse_features
from gaudit.targets.partition import partition
from gaudit.targets.party import Client, clients_of

PUBLISHED_ROUND = {"Cora": 0.32}


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median CPU time of a few repeats after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


def one_round(dataset: str, rounds: int) -> float:
    """CPU seconds of a round: clients, channel, aggregation, server."""
    stamps = []

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "condensing":
            stamps.append(time.process_time())

    data = load_dataset(dataset)
    data.name = dataset
    settings = FedGC.preset("paper", data) | {
        "rounds": rounds,
        "checkpoints": (rounds,),
        "test": {"epochs": 1, "models": 1},
    }
    FedGC(**settings).run(data, Defense(), np.random.SeedSequence(0), lambda m: False, progress)
    return float(np.median(np.diff(stamps)))


def gathered(generator: StructureGenerator, x: Tensor) -> Tensor:
    """The edge network on explicit pairs: an [n^2, 2d] matrix goes through the first layer."""
    n = len(x)
    left = torch.arange(n).repeat_interleave(n)
    h = generator.pair(torch.cat([x[left], x[torch.arange(n).repeat(n)]], dim=1))
    h = torch.relu(generator.norms[0](h))
    h = torch.relu(generator.norms[1](generator.middle(h)))
    score = generator.out(h).reshape(n, n)
    return torch.sigmoid((score + score.t()) / 2) * (1 - torch.eye(n))


def edge_network(features: int, nodes: int) -> tuple[float, float]:
    """CPU seconds of a forward and backward pass: pairs gathered, first layer split."""
    generator, x = StructureGenerator(features), torch.randn(nodes, features, requires_grad=True)
    return (
        cpu_seconds(lambda: gathered(generator, x).sum().backward(), 3),
        cpu_seconds(lambda: generator(x).sum().backward(), 5),
    )


def transform_epoch(client: Client, sparse: bool) -> float:
    """CPU seconds of one step of a client's encoder: forward, backward and Adam."""
    encoder = Encoder(client.x.shape[1])
    adam = torch.optim.Adam(encoder.parameters(), lr=2e-3, fused=True)
    x = Factor.of(sparse_features(client.x) if sparse else client.x)
    operator = Factor.of(gcn_operator(client.edges, len(client.nodes)))

    def step() -> None:
        mean, deviation = encoder(x, operator)
        adam.zero_grad(set_to_none=True)
        (compression(mean, deviation) + mean.square().mean()).backward()
        adam.step()

    return cpu_seconds(step, 3)


@click.command()
@click.option("--dataset", default="Cora", show_default=True)
@click.option("--rounds", default=30, show_default=True)
def main(dataset: str, rounds: int) -> None:
    """Print the costs as a table."""
    torch.set_num_threads(1)
    data = load_dataset(dataset)
    clients = clients_of(data, partition(data, "dirichlet", 10, 0))
    typical = sorted(clients, key=lambda c: len(c.nodes))[len(clients) // 2]
    table = Table(title=f"{dataset}, CPU seconds on one thread", title_justify="left")
    for column in ("part", "baseline", "gaudit", "ratio"):
        table.add_column(column)
    round_ = one_round(dataset, rounds)
    published = PUBLISHED_ROUND.get(dataset)
    table.add_row(
        "one round, 10 clients (published: GPU seconds)",
        f"{published:.2f}" if published else "",
        f"{round_:.3f}",
        f"{published / round_:.1f}" if published else "",
    )
    slow, fast = edge_network(data.num_features, 70)
    table.add_row("edge network, 70 nodes, forward and back", f"{slow:.3f}", f"{fast:.4f}", f"{slow / fast:.1f}")
    dense, sparse = transform_epoch(typical, sparse=False), transform_epoch(typical, sparse=True)
    table.add_row(
        f"transform, one epoch of one client ({len(typical.nodes)} nodes, dense first layer)",
        f"{dense:.3f}",
        f"{sparse:.3f}",
        f"{dense / sparse:.2f}",
    )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()

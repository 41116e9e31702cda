"""The CPU's kernels and another device beside each other: shadow models, and whole attacks.

    python benchmarks/devices.py models --device cuda           # 64 models of a GCN, by the number of nodes
    python benchmarks/devices.py attacks --device cuda          # `gaudit attack` with each target on both

Without a card ``--device cpu:0`` takes the other devices' way on the CPU. Printed are seconds on the clock, and on
the CPU also CPU seconds. The first run on a card also loads its libraries: of two the faster counts.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import click


@click.group()
def main() -> None:
    """Seconds on the CPU and on another device."""


@main.command()
@click.option("--device", default="cuda", show_default=True)
@click.option("--count", default=64, show_default=True, help="Models that are trained.")
@click.option("--epochs", default=50, show_default=True)
@click.option("--hidden", default=64, show_default=True)
@click.option("--nodes", multiple=True, type=int, default=(2_708, 19_717, 169_343), show_default=True)
def models(device: str, count: int, epochs: int, hidden: int, nodes: tuple[int, ...]) -> None:
    """Shadow models on random graphs with 128 features and seven links a node."""
    click.echo(f"| nodes | CPU, s | CPU seconds | {device}, s | times as fast |\n|---|---|---|---|---|")
    for size in nodes:
        task = _task(size, count, epochs, hidden)
        wall, cpu = _trained(task, "cpu")
        other, _ = min(_trained(task, device) for _ in range(2))
        click.echo(f"| {size:,} | {wall:.1f} | {cpu:.1f} | {other:.1f} | {wall / other:.1f} |")


def _task(nodes: int, count: int, epochs: int, hidden: int) -> Any:
    import torch
    from torch_geometric.data import Data

    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import TrainingTask

    coins = torch.Generator().manual_seed(0)
    ends = torch.randint(nodes, (2, 7 * nodes // 2), generator=coins)
    edges = torch.cat([ends, ends.flip(0)], 1).unique(dim=1)
    edges = edges[:, edges[0] != edges[1]]
    data = Data(
        x=torch.rand(nodes, 128, generator=coins),
        edge_index=edges,
        y=torch.randint(10, (nodes,), generator=coins),
    )
    members = torch.rand(count, nodes, generator=coins) < 0.4
    return TrainingTask(data, members, TrainingConfig(epochs=epochs, hidden=hidden), 10, False)


def _trained(task: Any, device: str) -> tuple[float, float]:
    """Seconds on the clock, and CPU seconds of this process."""
    import numpy as np
    import torch

    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_task import Query

    everybody = Query(torch.arange(task.data.num_nodes), task.data.edge_index)
    wall, cpu = time.perf_counter(), time.process_time()
    train_models(task, [everybody], np.random.SeedSequence(0), device=device)
    return time.perf_counter() - wall, time.process_time() - cpu


@main.command()
@click.option("--device", default="cuda", show_default=True)
@click.option("--target", "targets", multiple=True, default=("classifier", "fedavg", "fedgc", "fedc4", "sos"))
def attacks(device: str, targets: tuple[str, ...]) -> None:
    """The quick attack on each target, without a defense, with what the strongest attack reached."""
    click.echo(f"| target | CPU, s | {device}, s | AUC, CPU | AUC, {device} |\n|---|---|---|---|---|")
    for target in targets:
        (here, ours), (there, theirs) = (_attacked(target, where) for where in ("cpu", device))
        click.echo(f"| {target} | {here:.1f} | {there:.1f} | {ours:.3f} | {theirs:.3f} |")


def _attacked(target: str, device: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        given = ["gaudit", "attack", "--target", target, "--defense", "none", "--workers", "1", "--json", str(path)]
        start = time.perf_counter()
        subprocess.run([*given, "--device", device], check=True, capture_output=True)
        (outcome,) = json.loads(path.read_text())["outcomes"]
    return time.perf_counter() - start, max(a["auc"]["estimate"] for a in outcome["attacks"])


if __name__ == "__main__":
    main()

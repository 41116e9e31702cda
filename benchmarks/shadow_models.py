"""Shadow models: the engine beside a plain PyTorch Geometric loop, in the same run.

    python benchmarks/shadow_models.py --dataset Cora --hidden 16 --models 64 --threads 1

Each side runs in a process of its own, so that its peak memory is its own; ratios of one thread are of CPU time,
those of two threads of wall time. The loop's time per epoch is measured on a few epochs and scaled to all.
"""

import json
import resource
import subprocess
import sys
import time
from typing import Any

import click
import numpy as np

LR, DECAY, DROPOUT = 0.01, 5e-4, 0.5


@click.command()
@click.option("--dataset", "datasets", multiple=True, default=("Cora",), show_default=True)
@click.option("--hidden", "widths", multiple=True, type=int, default=(16, 256), show_default=True)
@click.option("--models", "counts", multiple=True, type=int, default=(64,), show_default=True)
@click.option("--threads", "threads", multiple=True, type=int, default=(1,), show_default=True)
@click.option("--epochs", default=200, show_default=True)
@click.option("--loop-epochs", default=20, show_default=True, help="Epochs of the loop that are measured.")
@click.option("--side", type=click.Choice(["engine", "loop", "machine"]), hidden=True)
def main(
    datasets: tuple[str, ...],
    widths: tuple[int, ...],
    counts: tuple[int, ...],
    threads: tuple[int, ...],
    epochs: int,
    loop_epochs: int,
    side: str | None,
) -> None:
    """Train the same shadow models both ways and print a Markdown table."""
    if side is not None:
        task = {"engine": engine, "loop": loop, "machine": machine}[side]
        click.echo(json.dumps(task(datasets[0], widths[0], counts[0], threads[0], epochs, loop_epochs)))
        return
    head = (
        "graph", "hidden", "models", "threads", "models/s, loop", "models/s, engine", "ratio",
        "peak MiB, loop", "engine", "GFLOP/s", "share of sparse", "share of dense", "accuracy loop / engine",
    )  # fmt: skip
    for cells in (head, ("---",) * len(head)):
        click.echo("| " + " | ".join(cells) + " |")
    for dataset in datasets:
        for hidden in widths:
            peak = _side("machine", dataset, hidden, 1, 1, epochs, loop_epochs)
            for count in counts:
                for thread in threads:
                    plain, ours = (
                        _side(s, dataset, hidden, count, thread, epochs, loop_epochs) for s in ("loop", "engine")
                    )
                    click.echo(_row(dataset, hidden, count, thread, plain, ours, peak))


def _row(
    dataset: str,
    hidden: int,
    count: int,
    thread: int,
    plain: dict[str, Any],
    ours: dict[str, Any],
    peak: dict[str, Any],
) -> str:
    clock = "cpu" if thread == 1 else "wall"
    speed = ours["flops"] / ours["wall"] / 1e9
    cells = (
        dataset,
        hidden,
        count,
        thread,
        f"{1 / plain[clock]:.3g}",
        f"{count / ours[clock]:.3g}",
        f"{plain[clock] * count / ours[clock]:.1f}",
        f"{plain['peak']:.0f}",
        f"{ours['peak']:.0f}",
        f"{speed:.1f}",
        f"{speed / thread / peak['sparse']:.2f}",
        f"{speed / thread / peak['dense']:.2f}",
        f"{plain['accuracy']:.3f} / {ours['accuracy']:.3f}",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _side(
    side: str, dataset: str, hidden: int, count: int, threads: int, epochs: int, loop_epochs: int
) -> dict[str, Any]:
    options = {
        "dataset": dataset, "hidden": hidden, "models": count, "threads": threads,
        "epochs": epochs, "loop-epochs": loop_epochs, "side": side,
    }  # fmt: skip
    command = [sys.executable, __file__, *(part for k, v in options.items() for part in (f"--{k}", str(v)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _problem(dataset: str, count: int) -> tuple[Any, Any]:
    import torch

    from gaudit.graphs.datasets.loading import load_dataset

    data = load_dataset(dataset)
    draw = torch.Generator().manual_seed(0)
    return data, torch.rand((count, data.num_nodes), generator=draw) < 0.5


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def engine(dataset: str, hidden: int, count: int, threads: int, epochs: int, _: int) -> dict[str, float]:
    """Our way; compilation is paid before the clock starts, set-up is not."""
    import torch

    from gaudit.targets.models.model_ensemble import train_models
    from gaudit.targets.models.training_config import TrainingConfig
    from gaudit.targets.models.training_task import Query, TrainingTask

    torch.set_num_threads(1)
    data, members = _problem(dataset, count)
    classes = int(data.y.max()) + 1
    everybody = [Query(torch.arange(data.num_nodes), data.edge_index)]

    def task(steps: int, some: Any) -> TrainingTask:
        made = TrainingConfig(hidden=hidden, epochs=steps, lr=LR, weight_decay=DECAY, dropout=DROPOUT)
        return TrainingTask(data, some, made, classes)

    train_models(task(1, members[:1]), everybody, np.random.SeedSequence(1))
    wall, cpu = time.perf_counter(), time.process_time()
    trained = train_models(task(epochs, members), everybody, np.random.SeedSequence(1), workers=threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    right = (trained.answers[0].argmax(2) == data.y)[~members].float().mean()
    return {
        "wall": wall, "cpu": cpu, "peak": _peak_mib(), "accuracy": float(right),
        "flops": count * epochs * _flops(data, hidden, classes, members),
    }  # fmt: skip


def _flops(data: Any, hidden: int, classes: int, members: Any) -> float:
    """Multiplications and additions of one model's epoch that are not by zero, forward and back."""
    words, links = int((data.x != 0).sum()), data.edge_index.shape[1] + data.num_nodes
    asked = float(members.float().mean())
    sparse = 2 * words * hidden + 2 * links * hidden + 2 * asked * links * classes
    return 2 * (sparse + 3 * data.num_nodes * hidden * classes)


def loop(dataset: str, hidden: int, _: int, threads: int, epochs: int, measured: int) -> dict[str, float]:
    """One model after the other, with PyG's layers; time per model."""
    import torch
    from torch.nn import functional as F
    from torch_geometric.nn import GCNConv

    torch.set_num_threads(threads)
    data, members = _problem(dataset, 1)
    inside, classes = members[0], int(data.y.max()) + 1

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = GCNConv(data.num_features, hidden, cached=True)
            self.second = GCNConv(hidden, classes, cached=True)

        def forward(self) -> torch.Tensor:
            h = F.dropout(torch.relu(self.first(data.x, data.edge_index)), DROPOUT, self.training)
            return self.second(h, data.edge_index)

    torch.manual_seed(0)
    net = Net()
    optimiser = torch.optim.Adam(net.parameters(), lr=LR, weight_decay=DECAY)

    def train(steps: int) -> None:
        net.train()
        for _ in range(steps):
            optimiser.zero_grad()
            F.cross_entropy(net()[inside], data.y[inside]).backward()
            optimiser.step()

    train(3)
    wall, cpu = time.perf_counter(), time.process_time()
    train(measured)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if dataset == "Cora":
        train(epochs - measured - 3)
    net.eval()
    right = (net().argmax(1) == data.y)[~inside].float().mean() if dataset == "Cora" else torch.tensor(torch.nan)
    scale = epochs / measured
    return {"wall": wall * scale, "cpu": cpu * scale, "peak": _peak_mib(), "accuracy": float(right)}


def machine(dataset: str, hidden: int, _: int, __: int, ___: int, ____: int) -> dict[str, float]:
    """What one thread reaches: a dense product, and the features' sparse product alone, in GFLOP/s."""
    import scipy.sparse as sp
    import torch

    from gaudit.targets.models.kernels import LANES, Csr, product

    torch.set_num_threads(1)
    square = torch.rand(1024, 1024)
    dense = 2 * 1024**3 / _fastest(lambda: square @ square)
    data, _members = _problem(dataset, 1)
    x = sp.csr_matrix(data.x.numpy())
    width = -(-hidden // LANES) * LANES
    matrix = Csr(x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data.astype(np.float32))
    weight, out = np.ones(x.shape[1] * width, np.float32), np.zeros(x.shape[0] * width, np.float32)
    sparse = 2 * x.nnz * width / _fastest(lambda: product(matrix, weight, out, x.shape[0], width, False))
    return {"dense": dense / 1e9, "sparse": sparse / 1e9}


def _fastest(call: Any) -> float:
    best = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()

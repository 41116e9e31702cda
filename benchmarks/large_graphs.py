"""CPU time and peak memory of whole audits on large random graphs with dense features.

    python benchmarks/large_graphs.py make arxiv /tmp/arxiv.npz
    python benchmarks/large_graphs.py run /tmp/arxiv.npz --attack lira --attack-set shadows=64

A graph has communities that are most nodes' classes, degrees with a heavy tail, and features that are a community's
centre and noise. ``arxiv`` has the size of ogbn-arxiv, ``million`` 1 million nodes and 10 million edges (set
GAUDIT_MEMORY=2 to read it). ``run`` hands all that follows the graph to `gaudit attack --target classifier`, in a
process of its own and with one thread.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

SIZES = {"arxiv": (169_343, 1_166_243, 128, 40), "million": (1_000_000, 10_000_000, 100, 40)}
WITHIN = 0.65  # share of edges within a community, as in ogbn-arxiv within a class
UNLIKE = 0.2  # share of nodes with another class than their community has
GAUDIT = (sys.executable, "-c", "from gaudit.commands.main import main; main()", "attack", "--target", "classifier")


@click.group()
def main() -> None:
    """Make a graph, or audit a classifier on one."""


@main.command()
@click.argument("size", type=click.Choice(list(SIZES)))
@click.argument("path", type=Path)
@click.option("--seed", default=0, show_default=True)
def make(size: str, path: Path, seed: int) -> None:
    """Write a random graph."""
    np.savez(path, **made(*SIZES[size], seed))


def made(nodes: int, edges: int, features: int, classes: int, seed: int) -> dict[str, Any]:
    """A random graph: ``edge_index`` with each edge once [2, e], ``x`` [n, d] and ``y`` [n]."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, nodes)
    centres = rng.standard_normal((classes, features), dtype=np.float32)
    x = rng.standard_normal((nodes, features), dtype=np.float32)
    x += 0.15 * centres[y]
    labels = np.where(rng.random(nodes) < UNLIKE, rng.integers(0, classes, nodes), y)
    return {"edge_index": _edges(y, edges, classes, rng), "x": x, "y": labels}


def _edges(y: np.ndarray, edges: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    """Each edge once [2, e]; a community's nodes are drawn with weights of Pareto's law, as are all nodes."""
    low, high = np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.argsort(y, kind="stable")
    weight = 1 + rng.pareto(1.5, len(y)).clip(max=1000)
    running = np.cumsum(weight[order])
    ends = np.searchsorted(y[order], np.arange(classes + 1))
    before = np.append(0, running)[ends]
    while len(low) < edges:
        some = edges - len(low) + edges // 10
        one = order[np.searchsorted(running, rng.random(some) * running[-1])]
        alike, own = rng.random(some) < WITHIN, y[one]
        least, most = np.where(alike, before[own], 0), np.where(alike, before[own + 1], running[-1])
        other = order[np.searchsorted(running, least + rng.random(some) * (most - least)).clip(max=len(y) - 1)]
        both = np.sort(np.stack([one, other]), axis=0)[:, one != other]
        codes = np.unique(np.concatenate([low * len(y) + high, both[0] * len(y) + both[1]]))
        low, high = np.divmod(rng.permutation(codes)[:edges], len(y))
    return np.stack([low, high])


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("path", type=Path)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def run(path: Path, options: tuple[str, ...]) -> None:
    """Audit a classifier on a graph, and say what that took."""
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    start = time.perf_counter()
    command = [*GAUDIT, "--graph", str(path), "--workers", "1", *options]
    done = subprocess.run(command, env=os.environ | one, check=False)
    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "exit": done.returncode,
        "wall s": round(time.perf_counter() - start),
        "CPU s": round(took.ru_utime + took.ru_stime),
        "peak MiB": round(took.ru_maxrss / 1024),
    }
    click.echo(json.dumps(figures))


if __name__ == "__main__":
    main()

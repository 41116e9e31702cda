"""What colour refinement costs, beside networkx's Weisfeiler-Lehman hashes in the same run.

    python benchmarks/refinement.py random --nodes 200000 --edges 1000000 --networkx
    GAUDIT_DATA=... python benchmarks/refinement.py snap soc-Epinions1-undirected-lcc --networkx
    python benchmarks/refinement.py random --nodes 2000000 --edges 10000000

Printed are CPU seconds of H_1 to H_4 (adjacency and rounds apart), the classes of each round, and memory: what
all arrays took at most between the edges and H_4 (traced in a run of its own, which no clock sees), and the peak
of the process, drawing or reading the edges included. networkx runs last, on a graph made before its clock
starts. All nodes have the label x there: by default it begins with degrees and strings these together, so that
neighbours of degrees 1 and 12 look like ones of degrees 11 and 2, and it finds too few classes.
"""

import os
import resource
import time
import tracemalloc
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from gaudit.attacks.identity.colour_refinement import classes, refinements, structure, unique_share
from gaudit.graphs.network import Network

DEPTH = 4
MIB = 2**20
Result = TypeVar("Result")


@click.group()
def main() -> None:
    """CPU time and memory of colour refinement."""


@main.command()
@click.option("--nodes", default=200_000, show_default=True)
@click.option("--edges", default=1_000_000, show_default=True)
@click.option("--networkx", "beside", is_flag=True, help="Run networkx too.")
@click.option("--repeats", default=3, show_default=True, help="The fastest counts.")
def random(nodes: int, edges: int, beside: bool, repeats: int) -> None:
    """A network with so many edges drawn uniformly (Erdős and Rényi)."""
    measured(f"random, n = {nodes:,}, m = {edges:,}", random_network(nodes, edges, 0), beside, repeats)


@main.command()
@click.argument("name")
@click.option("--networkx", "beside", is_flag=True, help="Run networkx too.")
@click.option("--repeats", default=3, show_default=True, help="The fastest counts.")
def snap(name: str, beside: bool, repeats: int) -> None:
    """An edge list in the folder `snap` of GAUDIT_DATA."""
    folder = os.environ.get("GAUDIT_DATA")
    if not folder:
        raise click.UsageError("GAUDIT_DATA names no folder with downloaded datasets")
    network = snap_network(Path(folder) / "snap" / f"{name}.txt.gz")
    measured(f"{name}, n = {network.nodes:,}, m = {network.size:,}", network, beside, repeats)


def measured(title: str, network: Network, beside: bool, repeats: int) -> None:
    """Prints what H_1 to H_4 cost, and the classes of each."""
    most = traced(lambda: through(structure(network)))
    build, graph = min((timed(lambda: structure(network)) for _ in range(repeats)), key=lambda run: run[0])
    rounds = min(timed(lambda: through(graph))[0] for _ in range(repeats))
    click.echo(f"## {title}\n")
    click.echo(f"gaudit: adjacency {build:.3f} s, H_1 to H_{DEPTH} {rounds:.3f} s CPU")
    click.echo(f"memory: edges {network.edges.nbytes / MIB:.0f} MiB, refinement {most:.0f} MiB more at most")
    click.echo(f"peak of the process: {peak():.0f} MiB\n")
    click.echo("| round | classes | unique |\n| --- | --- | --- |")
    for depth, colours in enumerate(islice(refinements(graph), DEPTH + 1)):
        click.echo(f"| H_{depth} | {classes(colours):,} | {unique_share(colours):.5f} |")
    if beside:
        compared(network, [classes(c) for c in islice(refinements(graph), 1, DEPTH + 1)], build, rounds)


def through(graph: Any) -> None:
    """All rounds, one kept at a time."""
    for _ in islice(refinements(graph), DEPTH + 1):
        pass


def compared(network: Network, ours: list[int], build: float, rounds: float) -> None:
    """Runs networkx on the same edges and prints how many times its CPU seconds are ours."""
    import networkx as nx

    graph = nx.from_edgelist(network.edges.T.tolist())
    graph.add_nodes_from(range(network.nodes))
    nx.set_node_attributes(graph, "x", "label")
    wanted = {"node_attr": "label", "iterations": DEPTH}
    theirs, hashes = timed(lambda: nx.weisfeiler_lehman_subgraph_hashes(graph, **wanted))
    found = [len({row[i] for row in hashes.values()}) for i in range(DEPTH)]
    click.echo(f"\nnetworkx: {theirs:.2f} s CPU, {peak():.0f} MiB peak, classes {found}")
    click.echo(f"the same classes: {found == ours}")
    click.echo(f"CPU ratio: {theirs / rounds:.0f}, with our adjacency {theirs / (rounds + build):.0f}")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """CPU seconds, and what came out."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def traced(work: Callable[[], object]) -> float:
    """MiB of memory that some work takes at most."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / MIB


def peak() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def random_network(nodes: int, edges: int, seed: int) -> Network:
    """Distinct pairs of nodes drawn uniformly, in ascending order as a network has them."""
    rng = np.random.default_rng(seed)
    coded = np.empty(0, dtype=np.int64)
    while len(coded) < edges:
        low, high = np.sort(rng.integers(nodes, size=(2, edges - len(coded))), axis=0)
        coded = np.union1d(coded, (low * nodes + high)[low < high])
    return Network(nodes, np.stack([coded // nodes, coded % nodes]))


def snap_network(path: Path) -> Network:
    """Loops and repeated edges dropped."""
    import pandas as pd

    rows = pd.read_csv(path, sep=r"\s+", header=None, usecols=[0, 1], comment="#").to_numpy()
    ids, ends = np.unique(rows, return_inverse=True)
    low, high = np.sort(ends.reshape(-1, 2), axis=1).T
    coded = np.unique((low * len(ids) + high)[low < high])
    return Network(len(ids), np.stack([coded // len(ids), coded % len(ids)]))


if __name__ == "__main__":
    main()

"""k-degree anonymity, measured: what it costs, and how many edges it takes.

    python benchmarks/k_degree.py
    GAUDIT_DATA=... python benchmarks/k_degree.py --network email-Enron --network facebook_combined

Two networks of 100,000 nodes are drawn: ``preferential`` (Barabasi and Albert, three edges a node) and
``configuration`` (degrees of at least 2 and at most 1,000 with a power law of exponent 2.5, linked at random; loops
and repeated edges are dropped). Others are edge lists from SNAP in the folder that GAUDIT_DATA names. Clocks are of
the processor and hold the defense, not its check; no network keeps an adjacency from the run before.
"""

import random
import time
from typing import Any

import click
import igraph
import numpy as np
from snap_networks import snap

from gaudit.defenses.degrees.k_degree import KDegree
from gaudit.graphs.network import Network

VARIANTS: dict[str, dict[str, Any]] = {
    "supergraph": {},
    "priority": {"variant": "priority"},
    "priority, deletions": {"variant": "priority", "deletions": True},
    "construction": {"variant": "construction"},
    "construction, deletions": {"variant": "construction", "deletions": True},
}
EXPONENT, LEAST, MOST = 2.5, 2, 1_000


@click.command()
@click.option("--network", "names", multiple=True, default=("preferential", "configuration"), show_default=True)
@click.option("--nodes", default=100_000, show_default=True, help="Of networks that are drawn.")
@click.option("-k", "sizes", multiple=True, type=int, default=(10, 50), show_default=True)
@click.option("--variant", "variants", multiple=True, type=click.Choice(list(VARIANTS)), default=list(VARIANTS))
@click.option("--repeats", default=3, show_default=True, help="The fastest counts.")
def main(
    names: tuple[str, ...], nodes: int, sizes: tuple[int, ...], variants: tuple[str, ...], repeats: int
) -> None:
    """CPU seconds, edges added and dropped, and whether every degree occurs k times."""
    KDegree(k=2).on_graph(Network.from_edges(4, [0, 0], [1, 2]), np.random.SeedSequence(0))  # imports
    line("network", "k", "variant", "CPU s", "edges added", "edges dropped", "every degree k times")
    for name in names:
        network = DRAWN[name](nodes) if name in DRAWN else snap(name)
        click.echo(f"{name}: n = {network.nodes:,}, m = {network.size:,}, degrees to {network.degrees.max():,}")
        for k in sizes:
            for variant in variants:
                line(name, k, variant, *row(network, KDegree(k=k, **VARIANTS[variant]), repeats))


def row(network: Network, defense: KDegree, repeats: int) -> list[str]:
    """The cells that are measured."""
    spent = []
    for _ in range(repeats):
        fresh = Network(network.nodes, network.edges)
        began = time.process_time()
        after = defense.on_graph(fresh, np.random.SeedSequence(0))
        spent.append(time.process_time() - began)
    kept = len(np.intersect1d(network.codes, after.codes, assume_unique=True))
    holds = defense.verify(network, after).holds
    return [f"{min(spent):.2f}", f"{after.size - kept:,}", f"{network.size - kept:,}", "yes" if holds else "NO"]


def preferential(nodes: int) -> Network:
    random.seed(0)  # igraph draws from Python's own generator
    return network_of(igraph.Graph.Barabasi(nodes, 3))


def configuration(nodes: int) -> Network:
    drawn = LEAST * (1 - np.random.default_rng(0).random(nodes)) ** (-1 / (EXPONENT - 1))
    degrees = np.minimum(drawn.astype(np.int64), min(MOST, nodes - 1))
    degrees[0] += degrees.sum() % 2
    random.seed(0)
    return network_of(igraph.Graph.Degree_Sequence(degrees.tolist(), method="configuration"))


DRAWN = {"preferential": preferential, "configuration": configuration}


def network_of(graph: igraph.Graph) -> Network:
    """Without loops and repeated edges."""
    graph.simplify()
    return Network.from_edges(graph.vcount(), *np.array(graph.get_edgelist()).T)


def line(*cells: object) -> None:
    click.echo("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main()

"""Differentially private graphs, measured: what the defenses keep, and what they take.

    python benchmarks/private_graphs.py ca-HepTh.txt.gz --epsilon 1 --epsilon 4
    python benchmarks/private_graphs.py ca-HepTh.txt.gz facebook_combined.txt.gz --seeds 5

Networks are files of edges as `gaudit anonymize` reads them. Means over seeds; the clock is that of the processor.
Degrees: the largest distance of the two cumulative distributions. Joint degrees: the share of edges that lie in
another cell of the table of degrees 1 to 9, and 10 or more. Clustering: closed pairs of neighbours (transitivity).
Communities: the modularity in the release of those that Leiden's method finds in the original. Own degree: the
correlation of nodes' degrees before and after.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from gaudit.defenses.private_graphs.dp_1k import DP1K
from gaudit.defenses.private_graphs.dp_2k import DP2K
from gaudit.defenses.private_graphs.dp_graph import PrivateGraph
from gaudit.defenses.private_graphs.joint_degree_graph import deviation
from gaudit.defenses.private_graphs.ldpgen import LDPGen
from gaudit.defenses.private_graphs.private_generator import PrivateGenerator
from gaudit.defenses.private_graphs.privgraph import PrivGraph
from gaudit.defenses.private_graphs.tmf import TmF
from gaudit.graphs.files.network_file import read_network
from gaudit.graphs.measures.communities import leiden
from gaudit.graphs.network import Ints, Network
from gaudit.graphs.pair_codes import listed
from gaudit.mechanisms.joint_degrees import joint_degree_counts

CELLS = 10
TITLES = ("edges", "degrees", "joint degrees", "clustering", "communities", "own degree", "edges kept", "CPU s")
DEFENSES: tuple[type[PrivateGraph], ...] = (DP1K, DP2K, LDPGen, TmF, PrivGraph, PrivateGenerator)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(0.5, 1, 2, 4), show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(files: tuple[Path, ...], epsilons: tuple[float, ...], seeds: int) -> None:
    """What is kept of networks, by defense and epsilon."""
    for file in files:
        network = read_network(file, directed="merge").network.plain()
        groups = leiden(network, np.random.default_rng(0))[0]
        click.echo(f"{file.name}: n = {network.nodes:,}\n")
        row(["defense", "epsilon", *TITLES])
        row(["---"] * (2 + len(TITLES)))
        row(["original", "", *told(measured(network, network, groups)), ""])
        for kind in DEFENSES:
            kind(epsilon=1.0).on_graph(
                Network.from_edges(20, [0, 2, 3], [1, 3, 4]), np.random.SeedSequence(0)
            )  # imports
            for epsilon in epsilons:
                runs = [run(kind(epsilon=epsilon), network, groups, seed) for seed in range(seeds)]
                row([kind.name, f"{epsilon:g}", *told(np.mean(runs, axis=0).tolist())])
        click.echo("")


def run(defense: PrivateGraph, network: Network, groups: Ints, seed: int) -> list[float]:
    """What one release keeps, and its seconds."""
    began = time.process_time()
    after = defense.on_graph(network, np.random.SeedSequence(seed))
    seconds = time.process_time() - began
    return [*measured(network, after, groups), seconds]


def measured(before: Network, after: Network, groups: Ints) -> list[float]:
    """Edges, and what is kept of degrees, joint degrees, clustering, communities, own degree and edges."""
    most = int(max(before.degrees.max(), after.degrees.max())) + 1
    below, other = (np.cumsum(np.bincount(n.degrees, minlength=most)) / n.nodes for n in (before, after))
    cells = deviation(joint_degree_counts(after, CELLS), joint_degree_counts(before, CELLS))
    graph = after.igraph()
    return [
        after.size,
        float(np.abs(below - other).max()),
        cells / before.size,
        graph.transitivity_undirected(mode="zero"),
        graph.modularity(groups.tolist()) if after.size else 0.0,
        float(np.corrcoef(before.degrees, after.degrees)[0, 1]),
        float(listed(before.codes, after.codes).mean()),
    ]


def told(values: Sequence[float]) -> list[str]:
    """Numbers in words: edges whole, all else to three places."""
    return [
        f"{values[0]:,.0f}",
        *(f"{value:.3f}" for value in values[1:7]),
        *(f"{value:.2f}" for value in values[7:]),
    ]


def row(cells: Sequence[str]) -> None:
    """One line of a table."""
    click.echo("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

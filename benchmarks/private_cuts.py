"""Cuts and the Laplacian of a network from private releases: what each is off by, at the same epsilon.

    python benchmarks/private_cuts.py email-Eu-core.txt.gz
    python benchmarks/private_cuts.py email-Eu-core.txt.gz --epsilon 1 --epsilon 4 --seeds 5

Networks are files of edges as `gaudit anonymize` reads them, of some thousands of nodes. Means over seeds.
Communities: of the cuts around those that Leiden's method finds (20 nodes or more), the median of
|estimate - true| / true. Halves: the same for 20 sets of half of the nodes, drawn at random. Laplacian: the
spectral norm of what it is off by, as a share of the norm of the true one; nothing told is 1. Gaussian noise on
all pairs has a delta of 1e-6.
"""

from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh

from gaudit.defenses.private_graphs.private_sparsifier import PrivateSparsifier
from gaudit.defenses.private_graphs.tmf import TmF
from gaudit.graphs.files.network_file import read_network
from gaudit.graphs.measures.communities import leiden
from gaudit.graphs.network import Floats, Network
from gaudit.mechanisms.gaussian import distance_of

LEAST, HALVES, DELTA = 20, 20, 1e-6
Released = Callable[[Network, float, np.random.SeedSequence], tuple[int, LinearOperator]]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--epsilon", "epsilons", type=float, multiple=True, default=(1, 2, 4, 6), show_default=True)
@click.option("--seeds", default=3, show_default=True)
def main(files: tuple[Path, ...], epsilons: tuple[float, ...], seeds: int) -> None:
    """What releases tell of cuts, by mechanism and epsilon."""
    for file in files:
        network = read_network(file, directed="merge").network.plain()
        groups = leiden(network, np.random.default_rng(0))[0]
        sides = [groups == g for g in np.flatnonzero(np.bincount(groups) >= LEAST)]
        halves = np.random.default_rng(1).random((HALVES, network.nodes)) < 0.5
        click.echo(f"{file.name}: n = {network.nodes:,}, {network.size:,} edges\n")
        click.echo(
            "| release | epsilon | told | communities | halves | Laplacian |\n| --- | --- | --- | --- | --- | --- |"
        )
        for name, release in RELEASES.items():
            for epsilon in epsilons:
                found = []
                for seed in range(seeds):
                    told, matrix = release(network, epsilon, np.random.SeedSequence(seed))
                    found.append([told, *errors(network, matrix, np.array(sides), halves)])
                mean = np.mean(found, axis=0)
                rest = " | ".join(f"{value:.3f}" for value in mean[1:])
                click.echo(f"| {name} | {epsilon:g} | {mean[0]:,.0f} | {rest} |")


def errors(network: Network, matrix: LinearOperator, sides: Floats, halves: Floats) -> list[float]:
    """Of cuts around communities and of halves, and of the Laplacian."""
    true = laplacian(network)
    found = []
    for masks in (sides, halves):
        pairs = [(mask @ (matrix @ mask), mask @ (true @ mask)) for mask in masks.astype(float)]
        found.append(float(np.median([abs(told - real) / real for told, real in pairs])))
    return [*found, norm(matrix - true) / norm(true)]


def norm(matrix: LinearOperator) -> float:
    """The largest eigenvalue by size."""
    start = np.random.default_rng(2).standard_normal(matrix.shape[0])
    return float(abs(eigsh(matrix, k=1, which="LM", v0=start, tol=1e-3, return_eigenvectors=False)[0]))


def laplacian(network: Network) -> LinearOperator:
    """Degrees minus the adjacency."""
    from scipy.sparse import diags_array

    return aslinearoperator(diags_array(network.degrees.astype(float)) - network.adjacency)


def sparsified(told: float, correct: bool) -> Released:
    """The sparsifier, with its correction or as if the told graph were the network."""

    def release(network: Network, epsilon: float, seed: np.random.SeedSequence) -> tuple[int, LinearOperator]:
        made = PrivateSparsifier(epsilon=epsilon, told=told)
        after = made.on_graph(network, seed)
        return after.size, made.corrected(after).laplacian() if correct else laplacian(after)

    return release


def filtered(network: Network, epsilon: float, seed: np.random.SeedSequence) -> tuple[int, LinearOperator]:
    """`tmf`, as it is."""
    after = TmF(epsilon=epsilon).on_graph(network, seed)
    return after.size, laplacian(after)


def gaussian(network: Network, epsilon: float, seed: np.random.SeedSequence) -> tuple[int, LinearOperator]:
    """Gaussian noise on each pair, as Priv-Graph adds it before it makes weights positive."""
    n = network.nodes
    noise = np.triu(np.random.default_rng(seed).normal(0, 1 / distance_of(epsilon, DELTA), (n, n)), 1)
    noisy = network.adjacency.toarray() + noise + noise.T
    return n * (n - 1) // 2, aslinearoperator(np.diag(noisy.sum(1)) - noisy)


RELEASES: dict[str, Released] = {
    "private-sparsifier, all pairs": sparsified(1e9, True),
    "private-sparsifier, told=20": sparsified(20, True),
    "randomised response as it is": sparsified(1e9, False),
    "tmf": filtered,
    "Gaussian noise on pairs": gaussian,
}

if __name__ == "__main__":
    main()

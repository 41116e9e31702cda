"""Communities of a network, and how well two divisions of the same nodes agree."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..network import Ints, Network

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ITERATIONS = 4


def leiden(network: Network, rng: np.random.Generator) -> tuple[Ints, float]:
    """Communities by Leiden's method (Traag, Waltman and van Eck 2019) for modularity, and their modularity.

    Four iterations; the same generator gives the same communities.

    Returns:
        The community of each node, [n], and the modularity, which is 0 without edges.
    """
    graph = network.igraph()
    del network  # of millions of edges, that is much
    with _drawing_from(rng):
        found = graph.community_leiden(objective_function="modularity", n_iterations=ITERATIONS)
    return np.array(found.membership, dtype=np.int64), float(found.modularity) if graph.ecount() else 0.0


def louvain(weights: "csr_array", rng: np.random.Generator) -> Ints:
    """Communities by the method of Blondel et al. 2008 for modularity, at resolution 1, of a graph with weights.

    Args:
        weights: from 0, upper triangular; on the diagonal that of edges within a node, each counted once [n, n].
        rng: the same generator gives the same communities.

    Returns:
        The community of each node, [n].
    """
    import igraph

    cells = weights.tocoo()
    graph = igraph.Graph(n=weights.shape[0], edges=np.stack([cells.row, cells.col], 1))
    with _drawing_from(rng):
        found = graph.community_multilevel(weights=cells.data, resolution=1.0)
    return np.array(found.membership, dtype=np.int64)


@contextmanager
def _drawing_from(rng: np.random.Generator) -> Iterator[None]:
    """igraph draws from this generator, and after that as it did before."""
    import igraph

    igraph.set_random_number_generator(random.Random(int(rng.integers(2**63))))
    try:
        yield
    finally:
        igraph.set_random_number_generator(random)


def adjusted_mutual_information(one: Ints, other: Ints) -> float:
    """Agreement of two divisions of the same nodes: 1 if equal, 0 on average if one is shuffled.

    Mutual information less what it is on average, over the mean of both entropies less the same (Vinh, Epps and
    Bailey 2010, with the arithmetic mean). The average is a sum over pairs of sizes of parts, not over pairs of
    parts: a network that falls apart has many parts, and few sizes.

    Args:
        one: the part of each node, [n].
        other: likewise, [n].
    """
    nodes = len(one)
    _, first = np.unique(one, return_inverse=True)
    _, second = np.unique(other, return_inverse=True)
    sizes, other_sizes = np.bincount(first), np.bincount(second)
    pair, both = np.unique(first * np.int64(len(other_sizes)) + second, return_counts=True)
    expected_counts = sizes[pair // len(other_sizes)] * (other_sizes[pair % len(other_sizes)] / nodes)
    shared = float((both / nodes * np.log(both / expected_counts)).sum())
    average = _expected(sizes, other_sizes, nodes)
    most = (_entropy(sizes) + _entropy(other_sizes)) / 2
    if len(sizes) == len(other_sizes) == len(pair) or abs(most - average) < 1e-12:
        return float(len(sizes) == len(pair) == len(other_sizes))
    return float((shared - average) / (most - average))


def _entropy(sizes: NDArray[Any]) -> float:
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def _expected(sizes: NDArray[Any], other_sizes: NDArray[Any], nodes: int) -> float:
    """Mutual information of two divisions with parts of these sizes, on average over all shuffles."""
    from scipy.special import gammaln

    log_factorial = gammaln(np.arange(nodes + 1) + 1.0)
    first, first_often = np.unique(sizes, return_counts=True)
    second, second_often = np.unique(other_sizes, return_counts=True)
    total = 0.0
    for a, times in zip(first.tolist(), first_often.tolist(), strict=True):
        for b, others in zip(second.tolist(), second_often.tolist(), strict=True):
            both = np.arange(max(1, a + b - nodes), min(a, b) + 1)
            f = log_factorial
            ways = f[a] + f[b] + f[nodes - a] + f[nodes - b] - f[nodes]
            chance = np.exp(ways - f[both] - f[a - both] - f[b - both] - f[nodes - a - b + both])
            total += times * others * float((both / nodes * np.log(nodes * both / (a * b)) * chance).sum())
    return total

"""How many neighbours of people are neighbours of each other: exactly, and from samples of large networks.

Exact counts look at every edge with all neighbours of one of its ends: on hubs, that is far more than one look.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..network import Floats, Ints, Network
from .estimate import Estimate

LARGE = 2_000_000
"""Edges above which samples are drawn."""
NODES, EDGES = 50_000, 200_000
FEW = 100
"""Draws with a triangle of which there must be as many: the mean of rarer ones has no normal interval."""


def clustering(network: Network, rng: np.random.Generator | None = None, drawn: int = NODES) -> Estimate:
    """Mean share of a node's pairs of neighbours that are linked, 0 for nodes with less than two.

    Args:
        network: without types.
        rng: of a sample of nodes without replacement; exact without one.
        drawn: nodes; exact where there are no more, or fewer than `FEW` drawn ones are in a triangle.
    """
    if rng is not None and drawn < network.nodes:
        nodes = rng.choice(network.nodes, drawn, replace=False)
        degrees = network.degrees[nodes]
        closed = _closed_pairs(network, nodes)
        if np.count_nonzero(closed) >= FEW:
            shares: Floats = closed / np.maximum(degrees * (degrees - 1) / 2, 1)
            mean = float(shares.mean())
            return Estimate(mean, shares - mean, network.nodes)
    return Estimate(float(network.igraph().transitivity_avglocal_undirected(mode="zero")))


def closed_triples(network: Network, rng: np.random.Generator | None = None, drawn: int = EDGES) -> Estimate:
    """Share of connected triples that are closed.

    How many triples there are is known from the degrees. Each that is closed belongs to one edge, whose ends its
    middle has as neighbours: so the share is the mean number of common neighbours of an edge's ends, times edges,
    over triples. This is unbiased.

    Args:
        network: without types.
        rng: of a sample of edges without replacement; exact without one.
        drawn: edges; exact where there are no more, or fewer than `FEW` drawn ones are in a triangle.
    """
    if rng is not None and drawn < network.size:
        shared = _common(network, *network.edges[:, rng.choice(network.size, drawn, replace=False)])
        if np.count_nonzero(shared) >= FEW:
            triples = float((network.degrees * (network.degrees - 1) / 2).sum())
            shares: Floats = shared * np.float64(network.size / triples)
            mean = float(shares.mean())
            return Estimate(mean, shares - mean, network.size)
    return Estimate(float(network.igraph().transitivity_undirected(mode="zero")))


def _closed_pairs(network: Network, nodes: Ints) -> Ints:
    """Of each of these nodes, how many pairs of its neighbours are linked, [s]."""
    start = network.adjacency.indptr.astype(np.int64)
    degrees = start[nodes + 1] - start[nodes]
    owner = np.repeat(np.arange(len(nodes)), degrees)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    others = network.adjacency.indices[start[nodes][owner] + place].astype(np.int64)
    shared = _common(network, nodes[owner], others)
    twice = np.bincount(owner, weights=shared, minlength=len(nodes)).astype(np.int64)
    found: Ints = twice // 2
    return found


def _common(network: Network, left: Ints, right: Ints) -> Ints:
    """How many neighbours the nodes of each pair have in common, [s]."""
    matrix = network.adjacency
    found: Ints = _compiled()(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), left, right)
    return found


@cache
def _compiled() -> Callable[..., Ints]:
    from numba import njit

    compiled: Callable[..., Ints] = njit(cache=True, nogil=True)(_common_of_rows)
    return compiled


def _common_of_rows(start: Any, column: Any, left: Any, right: Any) -> Any:
    """Common entries of two rows of a matrix, for each pair of rows: each of the shorter is sought in the longer.

    Args:
        start: where each row begins, [n + 1].
        column: of each entry, ascending within a row.
        left: one row of each pair, [s].
        right: the other, [s].
    """
    found = np.zeros(len(left), np.int64)
    for pair in range(len(left)):
        short, long = left[pair], right[pair]
        if start[short + 1] - start[short] > start[long + 1] - start[long]:
            short, long = long, short
        low, last = start[long], start[long + 1]
        for k in range(start[short], start[short + 1]):
            wanted, high = column[k], last
            while low < high:
                middle = (low + high) // 2
                if column[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle
            if low < last and column[low] == wanted:
                found[pair] += 1
    return found

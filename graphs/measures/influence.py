"""How far news spreads from chosen nodes: the independent cascade."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from ..network import Floats, Ints, Network
from .estimate import affordable

RUNS, LEAST_RUNS = 100, 30
MOST_SEEDS = 50
LOOK = 6
"""Nanoseconds of a cascade for each node and arc of a network of 100,000 nodes, from two sets of nodes."""


def highest(values: Floats | Ints, count: int, priority: Floats) -> Ints:
    """The ``count`` nodes with the highest values, ascending by id; among equal values those with less priority.

    Args:
        values: of each node, [n].
        count: at most n.
        priority: a random number of each node that decides between equal values, at least [n].
    """
    order = np.lexsort((priority[: len(values)], -values))
    chosen: Ints = np.sort(order[:count])
    return chosen


def affordable_runs(network: Network) -> int:
    """How many cascades are run: 100, and in networks of more than 1,666,666 nodes and arcs fewer, 30 at least."""
    return affordable(RUNS, LEAST_RUNS, LOOK * (network.nodes + 2 * network.size))


def spreads(network: Network, starts: Sequence[Ints], rng: np.random.Generator, runs: int = RUNS) -> Floats:
    """Nodes reached by cascades from several sets of nodes, on the same coins.

    Independent cascade, in its weighted form (Kempe, Kleinberg and Tardos 2003): a node that was reached reaches a
    neighbour of degree d with probability 1 / d, once. So a cascade reaches what can be walked to over arcs whose
    coin fell so, and it costs one search.

    Args:
        network: on which news spreads.
        starts: sets of nodes that have the news.
        rng: of the coins.
        runs: cascades from each set.

    Returns:
        Number of nodes reached, starts included, [sets, runs].
    """
    from scipy.sparse.csgraph import breadth_first_order

    matrix, nodes = network.adjacency, network.nodes
    plain_degrees = np.diff(matrix.indptr)
    chance = (1 / np.maximum(plain_degrees, 1))[matrix.indices].astype(np.float32)
    reached = np.zeros((len(starts), runs))
    for run in range(runs):
        lands = rng.random(len(chance), dtype=np.float32) < chance
        column, start = matrix.indices[lands], np.concatenate([[0], np.cumsum(lands)])[matrix.indptr]
        for k, seeds in enumerate(starts):
            every = np.concatenate([column, seeds])  # a further node has an arc to each of those that start
            rooted = csr_array(
                (np.ones(len(every)), every, np.append(start, len(every))), shape=(nodes + 1, nodes + 1)
            )
            reached[k, run] = len(breadth_first_order(rooted, nodes, return_predecessors=False)) - 1
    return reached

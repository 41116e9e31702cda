"""As many edges as can be kept of a network in which no two neighbours of a node shall be linked."""

import numpy as np

from ...graphs.network import Ints, Network

STARTS = 3
"""Random cuts that are improved; the one that most edges cross is taken."""


def without_triangles(network: Network, rng: np.random.Generator) -> list[set[int]]:
    """The neighbours of each node, with most edges kept and no triangle left.

    No triangle crosses a cut: nodes are put on two sides so that many edges cross, at least half of them. Of the
    edges within a side those are taken back, in random order, that close none.

    Args:
        network: simple; types and weights are not looked at.
        rng: of the cuts, and of the order.

    Returns:
        For each of the n nodes those that it stays linked to.
    """
    low, high = network.plain().edges
    side = two_sides(network, rng)
    crosses = side[low] != side[high]
    near: list[set[int]] = [set() for _ in range(network.nodes)]
    for one, other in zip(low[crosses].tolist(), high[crosses].tolist(), strict=True):
        near[one].add(other)
        near[other].add(one)
    for place in rng.permutation(np.flatnonzero(~crosses)):
        one, other = int(low[place]), int(high[place])
        if near[one].isdisjoint(near[other]):
            near[one].add(other)
            near[other].add(one)
    return near


def two_sides(network: Network, rng: np.random.Generator) -> Ints:
    """The side of each node, 1 or -1, [n]: at least half of each node's edges cross to the other side.

    Each node in turn changes its side where more of its neighbours are on it than beyond. Each change adds to the
    edges that cross, so that it ends. (The cut of most edges is NP-hard to find.)
    """
    low, high = network.plain().edges
    best, most = np.ones(network.nodes, dtype=np.int64), -1
    for _ in range(STARTS):
        side = _improved(network, rng.choice(np.array([-1, 1]), network.nodes), rng)
        crossing = int((side[low] != side[high]).sum())
        if crossing > most:
            best, most = side, crossing
    return best


def _improved(network: Network, side: Ints, rng: np.random.Generator) -> Ints:
    """The cut after every change of one node's side that lets more edges cross."""
    linked, changed = network.plain().adjacency, True
    while changed:
        changed = False
        for node in rng.permutation(network.nodes):
            near = linked.indices[linked.indptr[node] : linked.indptr[node + 1]]
            if side[node] * side[near].sum() > 0:
                side[node], changed = -side[node], True
    return side

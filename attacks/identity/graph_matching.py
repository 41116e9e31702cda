"""Which node of one graph is which of another, from some that are known (seeds) on to others."""

import numpy as np

from ...graphs.network import Ints, Network

PASSES = 100
"""Of propagation at most: matches may change each other in a circle."""
Csr = tuple[Ints, Ints]


def percolation(one: Network, other: Network, seeds: Ints, threshold: int = 2) -> Ints:
    """Percolation graph matching (Yartseva and Grossglauser 2013).

    Each matched pair gives a mark to all pairs of a neighbour of the one with a neighbour of the other, and pairs
    with ``threshold`` marks are matched, until there is none. Where the authors take any such pair, here a node
    waits until one candidate has more marks than all others, and that candidate until no other node has as many
    for it: where one graph is part of the other, so that right pairs have all the marks there can be, no wrong
    pair is ever matched. The rest of the nodes, which look alike, stay unmatched.

    Args:
        one: of n nodes.
        other: of n' nodes.
        seeds: nodes of the one and their matches in the other, [2, s].
        threshold: r; the fewer, the farther it spreads.

    Returns:
        For each node of the one its match in the other, -1 where there is none, [n].
    """
    from .compiled_matching import percolation_round

    image, preimage = _from_seeds(one, other, seeds)
    weight, score = np.ones(other.nodes), np.zeros(other.nodes)
    touched, claim, claimed = np.empty(other.nodes, dtype=np.int64), np.full(other.nodes, -1), np.zeros(other.nodes)
    sides, stale = (_csr(one), _csr(other)), np.ones(one.nodes, dtype=bool)
    while True:
        fresh = bool(stale.all())
        matched = percolation_round(
            threshold, *sides, image, preimage, stale, weight, score, touched, claim, claimed
        )
        if not matched and fresh:
            return image
        if not matched:  # rivals may have been matched to others since: look at all of them again
            stale[:] = True


def propagation(
    one: Network, other: Network, seeds: Ints, rng: np.random.Generator, theta: float = 0.5, passes: int = PASSES
) -> Ints:
    """Propagation (Narayanan and Shmatikov 2009), for undirected graphs.

    A node's candidates score 1 / sqrt(degree) for each matched neighbour that they share with it. It is matched to
    the first of them if that leads the second by ``theta`` standard deviations of the scores of all nodes, and if
    it is in turn the first of that candidate's own candidates, by as much. Nodes that are matched are looked at
    again when there is news of their neighbours, and may be matched otherwise; seeds are not.

    Args:
        one: of n nodes.
        other: of n' nodes.
        seeds: nodes of the one and their matches in the other, [2, s].
        rng: of the order in which nodes are looked at.
        theta: the eccentricity that is asked for.
        passes: over all nodes, at most.

    Returns:
        For each node of the one its match in the other, -1 where there is none, [n].
    """
    from .compiled_matching import propagation_pass

    image, preimage = _from_seeds(one, other, seeds)
    sides = _csr(one), _csr(other)
    weights = tuple(1 / np.sqrt(np.maximum(np.diff(start), 1)) for start, _ in sides)
    scores = np.zeros(one.nodes), np.zeros(other.nodes)
    touched = np.empty(one.nodes, dtype=np.int64), np.empty(other.nodes, dtype=np.int64)
    free, stale = np.flatnonzero(image < 0), np.ones(one.nodes, dtype=bool)
    for _ in range(passes):
        if not propagation_pass(
            rng.permutation(free), theta, *sides, image, preimage, stale, weights, scores, touched
        ):
            break
    return image


def _from_seeds(one: Network, other: Network, seeds: Ints) -> tuple[Ints, Ints]:
    """The matches of the nodes of the one graph [n], and of those of the other [n']."""
    image, preimage = np.full(one.nodes, -1, dtype=np.int64), np.full(other.nodes, -1, dtype=np.int64)
    image[seeds[0]], preimage[seeds[1]] = seeds[1], seeds[0]
    return image, preimage


def _csr(network: Network) -> Csr:
    rows = network.adjacency
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64)

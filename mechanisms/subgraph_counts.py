"""Triangles and k-stars, private in edges, by ladders (Zhang et al. 2015): noise as large as this network needs."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from ..graphs.network import Ints, Network
from .guarantee import Guarantee, Released
from .ladder import Ladder, LadderLaw
from .public_inputs import drawable_epsilon, linked, whole

PATHS = 2_000_000
"""Paths of two edges that are looked at together: what memory is needed for."""


def triangles(network: Network, epsilon: Fraction | float, rng: np.random.Generator | None = None) -> Released:
    """The number of triangles, epsilon-private in edges.

    The local sensitivity and the ladder depend on the edges and are not part of the release. It can be negative;
    rounding it up to 0 afterwards costs nothing but unbiasedness.

    Args:
        network: two or more nodes, whose number is public.
        epsilon: above 0.
        rng: for audits only; None draws fresh entropy.

    Raises:
        InputError: epsilon not above 0, fewer than two nodes, a network of counts.
    """
    budget, network = drawable_epsilon(epsilon), linked(network, 2)
    return laddered(triangle_count(network), triangle_ladder(network), budget, "triangles", rng)


def stars(network: Network, epsilon: Fraction | float, k: int, rng: np.random.Generator | None = None) -> Released:
    """The number of k-stars, a node with k of its neighbours, epsilon-private in edges.

    For k = 1 that is twice the number of edges. See `triangles`.

    Raises:
        InputError: epsilon not above 0, k below 1, fewer than two nodes, a network of counts.
    """
    budget, network, k = drawable_epsilon(epsilon), linked(network, 2), whole("k", k, 1)
    return laddered(star_count(network, k), star_ladder(network, k), budget, f"{k}-stars", rng)


def laddered(
    centre: int, ladder: Ladder, epsilon: Fraction, name: str, rng: np.random.Generator | None
) -> Released:
    """A number released by the rungs of a ladder around it."""
    guarantee = Guarantee(
        "edge",
        "add/remove",
        "central",
        epsilon,
        accountant="exponential mechanism over the rungs of a ladder, drawn exactly; pure",
        public=("the nodes and their number",),
    )
    value = LadderLaw(centre, ladder, epsilon).draw(1, rng)[0]
    notes = (
        f"the number of {name}; it can be negative",
        "the sensitivity is that of the rung, the quality: an edge moves any number by one rung at most",
    )
    return Released(value, guarantee, 1, notes)


def triangle_count(network: Network) -> int:
    """Number of triangles."""
    network = linked(network)
    rank = np.empty(network.nodes, dtype=np.int64)
    rank[np.argsort(network.degrees, kind="stable")] = np.arange(network.nodes)
    low, high = rank[network.edges]  # from the node of lower degree: few edges go out of any node
    size = (network.nodes, network.nodes)
    out = csr_array((np.ones(network.size), (np.minimum(low, high), np.maximum(low, high))), shape=size)
    return round(float((out @ out).multiply(out).sum()))


def triangle_ladder(network: Network) -> Ladder:
    """The local sensitivity of the number of triangles at distance t, from t = 0 to where it stays n - 2.

    With a common neighbours of a pair, and s the sum of its degrees without an edge between the two, t changes of
    other edges bring the pair to min(a + t, floor((s + t) / 2), n - 2) common neighbours: each node that is
    adjacent to one of the pair takes one change, any other two (Nissim, Raskhodnikova and Smith 2007; s is 2a + b
    of theirs).
    """
    network = linked(network)
    most = max(network.nodes - 2, 0)
    sums = _largest_sums(network)
    commons = np.flatnonzero(sums >= 0)
    sums = sums[commons]
    end = int(np.maximum(most - commons, 2 * most - sums).min()) if most else 0
    widths = np.zeros(end + 1, dtype=np.int64)
    steps = np.arange(end + 1)
    for common, total in zip(commons.tolist(), sums.tolist(), strict=True):
        np.maximum(widths, np.minimum(common + steps, (total + steps) // 2), out=widths)
    return Ladder(tuple(np.minimum(widths, most).tolist()))


def star_count(network: Network, k: int) -> int:
    """Number of k-stars: of ways to choose k neighbours of one node."""
    kinds, times = np.unique(linked(network).degrees, return_counts=True)
    return sum(math.comb(d, k) * c for d, c in zip(kinds.tolist(), times.tolist(), strict=True))


def star_ladder(network: Network, k: int) -> Ladder:
    """The local sensitivity of the number of k-stars at distance t, from t = 0 to where it stays.

    An edge between nodes of degrees x and y without it makes C(x, k - 1) + C(y, k - 1) stars. Both are convex, so t
    more edges do most at the node of larger degree, and at the other one when that has all.
    """
    network = linked(network)
    most = max(network.nodes - 2, 0)
    pairs = largest_degrees(network).tolist()

    def width(step: int) -> int:
        found = 0
        for larger, smaller in pairs:
            spent = min(step, most - larger)
            other = min(smaller + step - spent, most)
            found = max(found, math.comb(larger + spent, k - 1) + math.comb(other, k - 1))
        return found

    end = min((2 * most - larger - smaller for larger, smaller in pairs), default=0)
    return Ladder(tuple(width(step) for step in range(end + 1)) if network.nodes > 1 else (0,))


def largest_degrees(network: Network) -> Ints:
    """Degrees of pairs of nodes, each without an edge between the two, that no other pair exceeds in both.

    Returns:
        [p, 2], the larger degree first. Every pair of nodes has degrees that are, both, at most those of one of
        these rows, and every row is that of a pair or at most that of one. Empty where there are fewer than two
        nodes.

    With the two largest degrees D >= E, the pair that has them does it if it is not linked. Otherwise it has D - 1
    and E - 1, and more of one can only have a pair that is not linked: a node of degree D with the largest that it
    is not linked to, or two of degree E.
    """
    network = linked(network)
    if network.nodes < 2:
        return np.empty((0, 2), dtype=np.int64)
    degrees, near = network.degrees, network.adjacency
    order = np.argsort(-degrees, kind="stable")
    first, second = int(degrees[order[0]]), int(degrees[order[1]])
    found = [(max(first - 1, 0), max(second - 1, 0))]
    for node in order[: int((degrees >= second).sum())].tolist():
        other = _largest_not_linked(node, order, near)
        if other is not None:
            one, two = sorted((int(degrees[node]), int(degrees[other])), reverse=True)
            found.append((one, two))
        if found[-1] == (first, second):
            break  # nothing exceeds it
    kept = {pair for pair in found if not any(_exceeds(other, pair) for other in found)}
    return np.array(sorted(kept), dtype=np.int64)


def _exceeds(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one != other and one[0] >= other[0] and one[1] >= other[1]


def _largest_not_linked(node: int, order: Ints, near: csr_array) -> int | None:
    """The node of largest degree that is not linked to this one, looked for among as many as can decide it."""
    linked_to = set(near.indices[near.indptr[node] : near.indptr[node + 1]].tolist())
    few = order[: len(linked_to) + 2].tolist()
    return next((other for other in few if other != node and other not in linked_to), None)


def _largest_sums(network: Network) -> Ints:
    """The largest s of pairs with so many common neighbours, -1 where there is no such pair (`triangle_ladder`).

    A pair without common neighbours matters by its s only, and so little that the largest s of all pairs may stand
    for theirs: whichever pair has that s exceeds it in both.
    """
    pairs = largest_degrees(network)
    sums = np.full(max(network.nodes - 1, 1), -1, dtype=np.int64)
    sums[0] = pairs.sum(axis=1).max(initial=0)
    for common, total in _pairs_with_common_neighbours(network):
        np.maximum.at(sums, common, total)
    above = np.maximum.accumulate(np.append(sums[1:], -1)[::-1])[::-1]
    return np.where(sums > above, sums, -1)  # else a pair with more common neighbours has as large an s


def _pairs_with_common_neighbours(network: Network) -> Iterator[tuple[Ints, Ints]]:
    """Common neighbours (above 0) and s of pairs of nodes, in parts; those that another one exceeds may lack.

    Pairs of the nodes of largest degree come first. Two others have no more common neighbours than the larger
    of their degrees, d, and no larger s than 2d, and s is 2a or more: once a pair has a >= d, nothing is left.
    """
    near, degrees = network.adjacency, network.degrees
    mark = network.nodes  # more than any pair has in common: tells linked pairs
    order = np.argsort(-degrees, kind="stable")
    paths = np.cumsum((near @ degrees)[order])
    first, most = 0, 0
    while first < network.nodes and most < degrees[order[first]]:
        done = paths[first - 1] if first else 0
        last = max(int(np.searchsorted(paths, done + PATHS, side="right")), first + 1)
        rows = near[order[first:last]]
        part = (rows @ near + rows * mark).tocoo()
        one, other, value = order[first + part.row], part.col, np.rint(part.data).astype(np.int64)
        found = (one != other) & (value % mark > 0)
        one, other, value = one[found], other[found], value[found]
        common = value % mark
        yield common, degrees[one] + degrees[other] - 2 * (value // mark)
        first, most = last, max(most, int(common.max(initial=0)))

"""Relations of a network with types of edges: their degrees, and more edges until these are what they shall be."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from ...errors import InputError
from ...graphs.arcs import arcs_of, degree_pairs, network_of_arcs
from ...graphs.network import Ints, Network
from ...graphs.pair_codes import ends
from ..degrees.arc_realisation import MoreArcs
from ..degrees.arc_realisation import joined as joined_arcs
from ..degrees.degree_realisation import EdgeChanges, joined, spread

TRIES = 24
"""Times that more clusters are raised than must be, each time half as many more."""


def relations_of(network: Network) -> list[Network]:
    """A network of each type of edges, in their order, without types and weights; of an untyped one itself."""
    kept = ("directions",)
    if network.types is None:
        return [network.telling(kept)]
    kinds = range(int(network.types.max(initial=-1)) + 1)
    return [network.only(network.types == kind).telling(kept) for kind in kinds]


def degree_sides(network: Network) -> list[Ints]:
    """Out- and in-degree of each person in each relation, [n, relations] each; one array where it is undirected."""
    parts = relations_of(network)
    if not parts:
        return [np.empty((network.nodes, 0), dtype=np.int64)] * (1 if network.directions is None else 2)
    if network.directions is None:
        return [np.stack([part.degrees for part in parts], 1)]
    pairs = [degree_pairs(part) for part in parts]
    return [np.stack([pair[:, side] for pair in pairs], 1) for side in (0, 1)]


def raised(network: Network, relation: Network, group: Ints, number: int, rng: np.random.Generator) -> Network:
    """A relation with more edges: all of a cluster have the degrees of the one with most, or more.

    Args:
        network: that it is a relation of.
        relation: without types.
        group: the cluster of each person, [n].
        number: of the relation, for the error.
        rng: of which edges are added, and who gets more.

    Raises:
        InputError: no such network was found.
    """
    degrees = relation.degrees[:, None] if network.directions is None else degree_pairs(relation)
    size = np.bincount(group)
    common = np.zeros((len(size), degrees.shape[1]), dtype=np.int64)
    np.maximum.at(common, group, degrees)
    common, extra = balanced(common, size), 0
    for _ in range(TRIES):
        more = (
            _with_edges(relation, common[group] - degrees, rng) if common.max(initial=0) < relation.nodes else None
        )
        if more is not None:
            return more
        extra += 1 + extra // 2
        step = np.ones_like(size) if degrees.shape[1] == 2 else 1 + size % 2  # sums stay equal, or even
        free = np.flatnonzero(common.max(1) + step < relation.nodes)
        low = free[np.argsort(common[free].sum(1) + rng.random(len(free)), kind="stable")[:extra]]
        common[low] += step[low, None]
    raise InputError(
        f"relation {number}: no network found in which all people of a cluster have the same degrees: choose a "
        "smaller k"
    )


def balanced(common: Ints, size: Ints) -> Ints:
    """The degrees of clusters [g, 1 or 2], raised as seldom as possible until a network may have them.

    As many arcs lead out as in; the sum of undirected degrees is even. Clusters of the lowest degree rise first.
    """
    common = common.copy()
    if common.shape[1] == 1:
        odd = np.flatnonzero(size % 2)
        if int((common[:, 0] * size).sum()) % 2:
            common[odd[common[odd, 0].argmin()]] += 1
        return common
    surplus = int((size * (common[:, 0] - common[:, 1])).sum())
    for step in _steps(surplus, np.unique(size).tolist()):
        side = 1 if step < 0 else 0
        there = np.flatnonzero(size == abs(step))
        common[there[common[there, side].argmin()], side] += 1
    return common


def _steps(surplus: int, sizes: Sequence[int]) -> list[int]:
    """Fewest sizes to add to the sum of out-degrees (positive) or of in-degrees (negative) so that both are equal.

    There always are some: the surplus is a sum of multiples of the sizes.
    """
    most = abs(surplus) + 2 * max(sizes, default=0) ** 2
    before: dict[int, int] = {surplus: 0}
    left = deque([surplus])
    while 0 not in before:
        here = left.popleft()
        for size in sizes:
            step = size if here < 0 else -size
            for way in (step, -step):
                if here + way not in before and abs(here + way) <= most:
                    before[here + way] = way
                    left.append(here + way)
    found, here = list[int](), 0
    while here != surplus:
        found.append(before[here])
        here -= before[here]
    return found


def _with_edges(relation: Network, need: Ints, rng: np.random.Generator) -> Network | None:
    """The relation with so many edges more at each node [n, 1 or 2]; None where some lack any."""
    if need.shape[1] == 2:
        arcs = MoreArcs(relation)
        if any(joined_arcs(arcs, need, rng)):
            return None
        return network_of_arcs(relation.nodes, np.hstack([arcs_of(relation), arcs.arcs()]))
    edges = EdgeChanges(relation)
    if spread(edges, joined(edges, need[:, 0], rng), edges.added(), rng):
        return None
    return Network.from_edges(relation.nodes, *ends(edges.codes(), relation.nodes))


def together(parts: Sequence[Network], typed: bool) -> Network:
    """The network of which these are the relations."""
    low, high = np.concatenate([part.edges for part in parts], axis=1)
    types = np.repeat(np.arange(len(parts)), [part.size for part in parts]) if typed else None
    ways = [part.directions for part in parts if part.directions is not None]
    told = np.concatenate(ways) if len(ways) == len(parts) else None
    return Network.from_edges(parts[0].nodes, low, high, types=types, directions=told)

"""Makes the neighbourhoods of nodes isomorphic by adding edges, group after group."""

import numpy as np

from ...graphs.network import Ints, Network
from .dynamic_neighbourhoods import DynamicNeighbourhoods
from .neighbourhood_alignment import aligned

WINDOW = 4
"""Who shall be like a node is chosen among so many times k nodes with nearly as many neighbours."""


def grown(network: Network, k: int, most: int, rng: np.random.Generator) -> Ints | None:
    """Codes of edges with which every neighbourhood occurs k times.

    Args:
        network: of n >= k nodes.
        k: nodes that shall be alike.
        most: links that may be added; it gives up before it makes a group alike that needs more.
        rng: of the order of nodes with as many neighbours.

    Returns:
        The edges that there were and those added; None if it gave up.
    """
    living = DynamicNeighbourhoods(network, k, rng)
    while living.open:
        if not _make_alike(living, _members(living), most):
            return None
        living.settle()
    return living.pairs()


def _members(living: DynamicNeighbourhoods) -> list[int]:
    """The open node with most neighbours and k - 1 that are nearly like it; all open ones if few are left."""
    k, (degree, edges, seed) = living.k, living.open[-1]
    if len(living.open) < 2 * k:
        members = [node for _, _, node in living.open]
        return members + _done(living, members, k - len(members))
    window = living.open[-WINDOW * k - 1 : -1]
    near = sorted(window, key=lambda other: (abs(degree - other[0]) + abs(edges - other[1]), other))
    return [seed, *(node for _, _, node in near[: k - 1])]


def _done(living: DynamicNeighbourhoods, members: list[int], missing: int) -> list[int]:
    """Nodes of one class with nearly as many neighbours: so many that k stay behind, or the whole class."""
    if missing <= 0:
        return []
    degree, own = len(living.near[members[-1]]), set(members)
    others = (node for node in range(len(living.near)) if node not in own)
    nearest = min(others, key=lambda node: (abs(degree - len(living.near[node])), node))
    alike = sorted(living.class_of(nearest))
    return alike[:missing] if len(alike) - missing >= living.k else alike


def _make_alike(living: DynamicNeighbourhoods, members: list[int], most: int) -> bool:
    """Adds edges until the neighbourhoods of all members are isomorphic; False if there would be too many."""
    _level(living, members)
    slots = aligned([living.around(node) for node in members])
    while missing := _missing(living, slots):
        if living.links + len(missing) > most:
            return False
        for one, other in missing:
            living.link(one, other)
        _level(living, members)
        for node, slot in zip(members, slots, strict=True):
            for number, other in enumerate(sorted(living.near[node] - slot.keys()), len(slot)):
                slot[other] = number
    return living.links <= most


def _level(living: DynamicNeighbourhoods, members: list[int]) -> None:
    """Links members that lack neighbours until all have as many; a link between two of them counts for both."""
    while len({len(living.near[node]) for node in members}) > 1:
        degree = max(len(living.near[node]) for node in members)
        for node in members:
            for other in _strangers(living, node, members, degree - len(living.near[node])):
                living.link(node, other)


def _strangers(living: DynamicNeighbourhoods, node: int, members: list[int], count: int) -> list[int]:
    """Nodes to link a member to, of the smallest degrees.

    Best are those that no member knows, that share no neighbour with it, so that nothing else in its neighbourhood
    changes, and whose class can spare them; then those that no member knows; then others.
    """
    if count <= 0:
        return []
    known, near = set(members).union(*(living.near[member] for member in members)), living.near[node]
    best, good, poor = list[int](), list[int](), list[int]()
    for other in living.by_degree().tolist():
        if other == node or other in near:
            continue
        spared = len(living.class_of(other)) != living.k and near.isdisjoint(living.near[other])
        (poor if other in known else best if spared else good).append(other)
        if len(best) == count:
            break
    return [*best, *good, *poor][:count]


def _missing(living: DynamicNeighbourhoods, slots: list[dict[int, int]]) -> list[tuple[int, int]]:
    """Neighbours that are not linked, while those of some member in the same slots are."""
    wanted = {
        (slot[one], slot[other])
        for slot in slots
        for one in slot
        for other in living.near[one] & slot.keys()
        if slot[one] < slot[other]
    }
    ordered, found = sorted(wanted), dict[tuple[int, int], None]()
    for slot in slots:
        at = {number: node for node, number in slot.items()}
        for one, other in ordered:
            if at[other] not in living.near[at[one]]:
                found[min(at[one], at[other]), max(at[one], at[other])] = None
    return list(found)

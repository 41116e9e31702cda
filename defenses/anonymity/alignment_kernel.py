"""The compiled search of `k_automorphism` for a table whose closure has few edges.

A cell of the table is the whole number k row + column. Moving every node of an edge by the same number of columns
gives the edge's orbit, which is named by its two rows and the difference of its columns. The closure has one orbit
for each name that occurs among the edges, so the fewer names, the fewer edges: the search brings edges together
under one name.
"""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

from typing import NamedTuple

import numpy as np

from ...graphs.edge_set import compiled, home

SEEN = 8
"""Neighbours of a node that are looked at; more of them, at hubs, would not offer better places."""
TRIED = 3
"""Exchanges that are tried for a node, those first that bring most of its edges under names that occur."""
LARGER = 4
"""Nodes with so many times more neighbours are not exchanged for a node: it takes long and is hardly ever good."""
NOTHING = -1


class Names(NamedTuple):
    """How often each name of an orbit occurs: open addressing with linear probes.

    Attributes:
        slots: names, or -1.
        shift: what is left of a hash after this shift is a slot.
        times: how often the name in each slot occurs.
        k: columns of the table.
        rows: its rows.
    """

    slots: np.ndarray
    shift: np.uint64
    times: np.ndarray
    k: np.int64
    rows: np.int64


@compiled
def names(start, near, k, place):
    """The names of all edges with nodes in their places; at most half of the slots are taken."""
    bits = 4
    while (1 << bits) < 2 * len(near):
        bits += 1
    size = 1 << bits
    found = Names(np.full(size, NOTHING), np.uint64(64 - bits), np.zeros(size, np.int32), k, len(place) // k)
    for node in range(len(start) - 1):
        for e in range(start[node], start[node + 1]):
            if near[e] > node:
                count(found, place[node], place[near[e]], 1)
    return found


@compiled
def name_of(known, one, other):
    """The name of the orbit of an edge between two cells."""
    k, step = known.k, (other - one) % known.k
    a, b = one // k, other // k
    if a > b:
        a, b, step = b, a, (k - step) % k
    elif a == b:
        step = min(step, k - step)
    return (a * known.rows + b) * k + step


@compiled
def edges_of(known, one, other):
    """Edges of the orbit of an edge between two cells: k, or k / 2 if they are opposite each other in a row."""
    step = (other - one) % known.k
    return known.k // 2 if one // known.k == other // known.k and 2 * step == known.k else known.k


@compiled
def count(known, one, other, times):
    """Counts an edge between two cells ``times`` (1 or -1) more; returns by how much the closure grows."""
    name, last = name_of(known, one, other), len(known.slots) - 1
    slot = home(known, name)
    while known.slots[slot] not in (NOTHING, name):
        slot = (slot + 1) & last
    known.slots[slot] = name
    known.times[slot] += times
    left = known.times[slot]
    if left == 0:
        forget(known, slot)
        return -edges_of(known, one, other)
    return edges_of(known, one, other) if left == times else 0


@compiled
def forget(known, slot):
    """Takes out a name that occurs no more; those behind it move up, as in `edge_set.remove`."""
    last = len(known.slots) - 1
    probe = (slot + 1) & last
    while known.slots[probe] != NOTHING:
        if ((probe - home(known, known.slots[probe])) & last) >= ((probe - slot) & last):
            known.slots[slot], known.times[slot] = known.slots[probe], known.times[probe]
            slot = probe
        probe = (probe + 1) & last
    known.slots[slot], known.times[slot] = NOTHING, 0


@compiled
def count_all(known, start, near, place, node, but, times):
    """Counts all edges of a node but one; returns by how much the closure grows."""
    grows = 0
    for e in range(start[node], start[node + 1]):
        if near[e] != but:
            grows += count(known, place[node], place[near[e]], times)
    return grows


@compiled
def exchange(known, start, near, place, at, one, other):
    """Puts two nodes in each other's place; returns by how much the closure grows."""
    grows = count_all(known, start, near, place, one, NOTHING, -1)
    grows += count_all(known, start, near, place, other, one, -1)
    place[one], place[other] = place[other], place[one]
    at[place[one]], at[place[other]] = one, other
    grows += count_all(known, start, near, place, one, NOTHING, 1)
    return grows + count_all(known, start, near, place, other, one, 1)


@compiled
def offer(start, near, k, place, at, node, hits, last, offered):
    """Counts for each cell the edges of a node that would get the name of another edge if the node stood there.

    An edge x-y offers the neighbour u of a node, which stands in the row of x, the cell that is to u as y is to x.

    Returns:
        How many cells are listed in ``offered``; their numbers are in ``hits``.
    """
    listed = 0
    for e in range(start[node], start[node + 1]):
        there = place[near[e]]
        first = there // k * k
        for column in range(k):
            x = at[first + column]
            if x == node or x >= len(start) - 1:
                continue
            for f in range(start[x], min(start[x + 1], start[x] + SEEN)):
                cell = place[near[f]]
                if near[f] == node:
                    continue
                cell = cell // k * k + (cell - column + there) % k
                other = at[cell]
                if last[cell] == e or cell == there or other >= len(start) - 1:
                    continue
                if start[other + 1] - start[other] > LARGER * (start[node + 1] - start[node]):
                    continue
                if hits[cell] == 0:
                    offered[listed] = cell
                    listed += 1
                last[cell] = e
                hits[cell] += 1
    return listed


@compiled
def settle(known, start, near, place, at, node, hits, offered, listed):
    """Moves a node to one of the best places where the closure does not grow; returns by how much it grows."""
    for _ in range(TRIED):
        best, most = NOTHING, 0
        for c in range(listed):
            if hits[offered[c]] > most and offered[c] != place[node]:
                best, most = offered[c], hits[offered[c]]
        if best == NOTHING:
            return 0
        hits[best] = 0
        other = at[best]
        grows = exchange(known, start, near, place, at, node, other)
        if grows <= 0:
            return grows
        exchange(known, start, near, place, at, node, other)
    return 0


@compiled
def align(start, near, k, place, at, order, sweeps, enough):
    """Exchanges nodes of a table until the closure hardly shrinks; added nodes stay where they are.

    Args:
        start, near: neighbours of the nodes that were there, ``near[start[v]:start[v + 1]]``.
        k: columns.
        place: the cell of each node [rows k], changed in place; added nodes come last.
        at: the node of each cell [rows k], changed in place.
        order: in which nodes are looked at.
        sweeps: how often at most.
        enough: it ends with a sweep by which the closure shrinks by less than this share of the edges.

    Returns:
        How much smaller the closure has become, in edges.
    """
    cells, gained = len(place), 0
    hits, last, offered = np.zeros(cells, np.int32), np.full(cells, NOTHING), np.zeros(cells, np.int64)
    known = names(start, near, k, place)
    for _ in range(sweeps):
        before = gained
        for node in order:
            listed = offer(start, near, k, place, at, node, hits, last, offered)
            gained -= settle(known, start, near, place, at, node, hits, offered, listed)
            for c in range(listed):
                hits[offered[c]] = 0
                last[offered[c]] = NOTHING
        if gained - before < enough * len(near) / 2:
            break
    return gained

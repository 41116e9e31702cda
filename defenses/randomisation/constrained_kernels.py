"""The compiled loops of `constrained_chain`: switches and edits of which only some are made.

What they know of a feature is a row: its value, its target, how far from it the value may lie, the factor of its
first-order change, and by how much it may change in all before it is computed anew. The first two rows are of the
eigenvalues, whose eigenvectors are the columns of ``vectors`` [n, 2], the third is of the number of triangles.
"""

# ruff: noqa: ANN001, ANN201, ANN202  (numba infers types from values)
# mypy: ignore-errors

import numpy as np

from ...graphs.edge_set import below, bits_at, code_of, compiled, contains
from .dynamic_graph import common, joined, linked, move
from .switching_kernel import drawn_switch


@compiled
def run_constrained_switches(graph, vectors, rows, limits, turned, triangles, first, seed):
    """Switches edges of a connected graph that stay within constraints, until one of the limits is reached.

    Args:
        graph: a `LivingGraph` with two edges or more, changed in place.
        vectors: [n, 2].
        rows: [3, 5], see above; values and what is left of their changes are changed in place.
        limits: proposals and switches after which to stop.
        turned: whether each switch must move eigenvalues towards their targets.
        triangles: whether the third row counts.
        first: number of steps that the random numbers have already been used for.
        seed: of the random numbers.

    Returns:
        Proposals and switches made.
    """
    proposed, accepted, change = 0, 0, np.zeros(3)
    while proposed < limits[0] and accepted < limits[1] and rows[0, 4] > 0 and rows[1, 4] > 0:
        i, j, t, w, u, v = drawn_switch(graph.ends, seed, first + proposed)
        proposed += 1
        if t in (u, v) or w in (u, v) or linked(graph, t, v) or linked(graph, u, w):
            continue
        for k in range(2):
            change[k] = rows[k, 3] * (vectors[t, k] - vectors[u, k]) * (vectors[v, k] - vectors[w, k])
        if not (_allowed(rows, 0, change[0], turned) and _allowed(rows, 1, change[1], turned)):
            continue
        if triangles:
            change[2] = _triangles_gained(graph, t, w, u, v)
            if not _allowed(rows, 2, change[2], False):
                continue
        move(graph, i, t, v)
        move(graph, j, u, w)
        if joined(graph, t, u):  # it was in one piece, so it still is if these are
            _note(rows, change)
            accepted += 1
        else:
            move(graph, i, t, w)
            move(graph, j, u, v)
    return proposed, accepted


@compiled
def run_constrained_edits(graph, original, left, vectors, rows, limits, turned, first, seed):
    """Deletes an edge of a connected graph and adds another, over and over, within constraints.

    Args:
        graph: a `LivingGraph`, changed in place.
        original: the `EdgeSet` of the edges that were there; none of them is added.
        left: numbers of the edges that were there and still are, then of those deleted, [m]; changed in place.
        vectors, rows, turned, first, seed: as in `run_constrained_switches`.
        limits: proposals and edits after which to stop, and how many of ``left`` still are.

    Returns:
        Proposals and edits made.
    """
    nodes, proposed, accepted, change = len(graph.first), 0, 0, np.zeros(2)
    while proposed < limits[0] and accepted < min(limits[1], limits[2]) and rows[0, 4] > 0 and rows[1, 4] > 0:
        place, last = 3 * (first + proposed), limits[2] - accepted - 1
        proposed += 1
        drawn = below(bits_at(seed, place), last + 1)
        edge = left[drawn]
        p, q = graph.ends[2 * edge], graph.ends[2 * edge + 1]
        i, j = below(bits_at(seed, place + 1), nodes), below(bits_at(seed, place + 2), nodes - 1)
        j += j >= i
        if contains(original, code_of(original, i, j)) or linked(graph, i, j):
            continue
        change[0] = 2 * (vectors[i, 0] * vectors[j, 0] - vectors[p, 0] * vectors[q, 0])
        change[1] = (vectors[i, 1] - vectors[j, 1]) ** 2 - (vectors[p, 1] - vectors[q, 1]) ** 2
        if not (_allowed(rows, 0, change[0], turned) and _allowed(rows, 1, change[1], turned)):
            continue
        move(graph, edge, i, j)
        if joined(graph, p, q):
            left[drawn], left[last] = left[last], edge
            _note(rows, change)
            accepted += 1
        else:
            move(graph, edge, p, q)
    return proposed, accepted


@compiled
def _allowed(rows, k, change, turned):
    """Whether a feature may change so: not beyond its reach, or no further; if ``turned``, towards its target."""
    off = rows[k, 0] - rows[k, 1]
    return not (turned and off * change > 0) and abs(off + change) <= max(rows[k, 2], abs(off))


@compiled
def _note(rows, change):
    for k in range(len(change)):
        rows[k, 0] += change[k]
        rows[k, 4] -= abs(change[k])


@compiled
def _triangles_gained(graph, t, w, u, v):
    """How many more triangles there are when (t, w), (u, v) become (t, v), (u, w)."""
    gained = common(graph, t, v) + common(graph, u, w) - common(graph, t, w) - common(graph, u, v)
    # with (t, u) or (w, v) an old edge seems to lead from end to end of both new ones, but the old edges go
    return gained - 2 * (linked(graph, t, u) + linked(graph, w, v))

"""The compiled loop of `switching_chain`."""

# ruff: noqa: ANN001, ANN201  (numba infers types from values)
# mypy: ignore-errors

import numpy as np

from ...graphs.edge_set import below, bits_at, code_of, compiled, contains, edge_set, insert, remove


@compiled
def drawn_switch(ends, seed, step):
    """What a step of a chain proposes: different edges i and j, and that (t, w), (u, v) become (t, v), (u, w)."""
    m, first, second = len(ends) >> 1, bits_at(seed, 2 * step), bits_at(seed, 2 * step + 1)
    i, j = below(first, m), below(second, m - 1)
    j += j >= i
    turn = np.int64(second & np.uint64(1))  # the lowest bits are used for nothing else
    return i, j, ends[2 * i], ends[2 * i + 1], ends[2 * j + turn], ends[2 * j + 1 - turn]


@compiled
def run_switches(ends, nodes, proposals, successes, seed):
    """Switches the edges whose ends stand in turn in ``ends`` [2 m], in place.

    Returns:
        How many switches were proposed and how many of them made: it stops when either number is reached.
    """
    edges = edge_set(ends, nodes)
    proposed, accepted = 0, 0
    while len(ends) > 2 and proposed < proposals and accepted < successes:
        i, j, t, w, u, v = drawn_switch(ends, seed, proposed)
        proposed += 1
        if t in (u, v) or w in (u, v):
            continue
        one, other = code_of(edges, t, v), code_of(edges, u, w)
        if contains(edges, one) or contains(edges, other):
            continue
        remove(edges, code_of(edges, t, w))
        remove(edges, code_of(edges, u, v))
        insert(edges, one)
        insert(edges, other)
        ends[2 * i + 1], ends[2 * j], ends[2 * j + 1] = v, u, w
        accepted += 1
    return proposed, accepted

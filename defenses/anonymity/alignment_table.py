"""Tables of nodes whose columns are turned into each other: what a k-automorphic network is made with."""

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes, distinct

SWEEPS = 30
ENOUGH = 0.03
"""The search for a better table ends with a sweep that saves less than this share of the edges."""


def alignment_table(network: Network, k: int, rng: np.random.Generator) -> Ints:
    """Rows of k nodes each such that few edges are needed to make a network the same after any turn of the rows.

    The columns start as blocks of METIS, each in order of degrees; nodes are exchanged while the closure shrinks.

    Args:
        network: of n nodes.
        k: columns.
        rng: of the draws.

    Returns:
        [ceil(n / k), k]: each node once, and n, n + 1, ... to fill the table, at most one of them in a row where
        there are as many rows.
    """
    from .alignment_kernel import align

    plain, rows = network.plain(), -(-network.nodes // k)
    start, near = plain.adjacency.indptr.astype(np.int64), plain.adjacency.indices.astype(np.int64)
    at = _filled(_blocks(plain, k, rng), plain.degrees, rows, k)
    place = np.empty(rows * k, dtype=np.int64)
    place[at] = np.arange(rows * k)
    align(start, near, k, place, at, rng.permutation(plain.nodes), SWEEPS, ENOUGH)
    return at.reshape(rows, k)


def closure(network: Network, table: Ints) -> Ints:
    """Codes of the least set of edges that holds a network's and is the same after any turn of the rows.

    Turn t moves the node in column c of each row to column (c + t) mod k. Edges within a block are aligned by it
    and those between blocks copied, in the words of Zou, Chen and Özsu (VLDB 2009), section 4.
    """
    (rows, k), place = table.shape, np.empty(table.size, dtype=np.int64)
    place[table.ravel()] = np.arange(table.size)
    (row_one, one), (row_other, other) = (np.divmod(place[end], k) for end in network.plain().edges)
    step = (other - one) % k
    # each orbit once: the row of its one end, that of its other, and how many columns lie between
    turned = (row_one > row_other) | ((row_one == row_other) & (2 * step > k))
    low, high = np.where(turned, row_other, row_one), np.where(turned, row_one, row_other)
    orbits = distinct((low * rows + high) * k + np.where(turned, (k - step) % k, step))
    pair, step = np.divmod(orbits, k)
    columns = np.arange(k)
    ends = table[(pair // rows)[:, None], columns], table[(pair % rows)[:, None], (columns + step[:, None]) % k]
    return distinct(codes(ends[0].ravel(), ends[1].ravel(), table.size))


def _blocks(network: Network, k: int, rng: np.random.Generator) -> Ints:
    """The column of each node [n]: the blocks of METIS."""
    import pymetis

    adjacency = network.adjacency
    options = pymetis.Options(seed=int(rng.integers(2**31)))
    _, parts = pymetis.part_graph(k, xadj=adjacency.indptr, adjncy=adjacency.indices, options=options)
    return np.asarray(parts, dtype=np.int64)


def _filled(columns: Ints, degrees: Ints, rows: int, k: int) -> Ints:
    """Cells of a table row by row [rows k]: columns in order of degrees, what is too long moved to short ones.

    Nodes that are added stand in different rows, so that no row is short of more than one of the others.
    """
    sizes = np.bincount(columns, minlength=k)
    table = np.full((rows, k), -1, dtype=np.int64)
    added = np.arange(rows * k - len(columns))
    table[rows - 1 - added % rows, np.argsort(sizes, kind="stable")[added]] = len(columns) + added
    free = table < 0
    free_rows, room = np.argsort(~free, axis=0, kind="stable"), free.sum(0)
    order = np.lexsort((-degrees, columns))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fits = rank < room[columns[order]]
    column = columns[order[fits]]
    table[free_rows[rank[fits], column], column] = order[fits]
    table[table < 0] = order[~fits]
    return table.ravel()

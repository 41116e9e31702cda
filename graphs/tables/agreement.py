"""How well what is told of two people agrees, attribute by attribute."""

import numpy as np

from .column import Floats, Ints
from .node_table import NodeTable


def agreements(table: NodeTable, pairs: Ints) -> Floats:
    """How likely two nodes share each value, and how near these are, 0 to 1: [s, 2 q + t].

    A node's own value is taken for each one that is told of it with the same chance. The first q columns are the
    chances that both have the same value of an attribute, the next q tell how near the middles of what is told are
    in the order of values (1 for the same one, 0 for the farthest), and the last t whether both have the same
    sensitive value; 0 where it is not told.

    Args:
        table: of n nodes, q attributes and t sensitive ones.
        pairs: of its nodes, [s, 2].
    """
    one, other = pairs.T
    runs = [table.runs[:, place] for place in range(table.attributes)]
    same = [_same(own[one], own[other]) for own in runs]
    near = [_near(middle[one], middle[other]) for middle in map(_middles, runs)]
    secret = []
    if table.sensitive is not None:
        mine, theirs = table.sensitive[one], table.sensitive[other]
        secret = [*((mine == theirs) & (mine >= 0)).T]
    found = [*same, *near, *secret]
    return np.column_stack(found).astype(np.float64) if found else np.empty((len(pairs), 0))


def _same(one: Ints, other: Ints) -> Floats:
    """The chance that two values are the same that lie anywhere in ranges [s, r, 2]."""
    shared = np.zeros(len(one), dtype=np.int64)
    for first in one.transpose(1, 2, 0):
        for second in other.transpose(1, 2, 0):
            shared += np.maximum(np.minimum(first[1], second[1]) - np.maximum(first[0], second[0]) + 1, 0)
    chance: Floats = shared / np.maximum(_sizes(one).sum(1) * _sizes(other).sum(1), 1)
    return chance


def _middles(runs: Ints) -> Floats:
    """The mean of the values in each node's ranges [n, r, 2], as places in their order, [n]."""
    sizes = _sizes(runs)
    total: Floats = (runs.mean(2) * sizes).sum(1) / np.maximum(sizes.sum(1), 1)
    return total


def _near(one: Floats, other: Floats) -> Floats:
    apart = np.abs(one - other)
    return 1 - apart / (apart.max(initial=0) or 1)


def _sizes(runs: Ints) -> Ints:
    """How many values each range has; none where its last is before its first."""
    sizes: Ints = np.maximum(runs[..., 1] - runs[..., 0] + 1, 0)
    return sizes

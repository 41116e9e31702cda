"""Which way edges lead, as codes: bits for the two ways, so that two edges of a pair are merged by their bits."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FORWARD, BACKWARD, BOTH = 1, 2, 3
"""An edge leads from its smaller end to the larger one, the other way, or both ways."""


def turned(directions: Ints, swapped: NDArray[np.bool_]) -> Ints:
    """The codes of edges of which some have their ends swapped, [m].

    Raises:
        ValueError: a code is none.
    """
    if len(directions) and (directions.min() < FORWARD or directions.max() > BOTH):
        raise ValueError(f"a direction other than {FORWARD}, {BACKWARD} and {BOTH}")
    ways: Ints = np.where(swapped & (directions != BOTH), BOTH - directions, directions)
    return ways


def merged(directions: Ints, place: Ints, count: int) -> Ints:
    """The code of each of ``count`` edges, each for those with its place [m]: all ways that these lead."""
    ways = np.zeros(count, dtype=np.int64)
    np.bitwise_or.at(ways, place, directions)
    return ways


def as_rows(edges: Ints, directions: Ints | None) -> tuple[Ints, Ints]:
    """One row for each way that an edge leads, in the order of the edges [2, r], and the edge of each row [r].

    Args:
        edges: ends, the smaller first, [2, m].
        directions: of each [m]; undirected edges are one row.
    """
    if directions is None:
        return edges, np.arange(edges.shape[1])
    edge = np.repeat(np.arange(edges.shape[1]), 1 + (directions == BOTH))
    second = np.concatenate([[False], edge[1:] == edge[:-1]])[: len(edge)]
    back = (directions[edge] == BACKWARD) | second
    return np.where(back, edges[::-1, edge], edges[:, edge]), edge

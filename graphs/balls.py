"""What surrounds some nodes: all within a few steps, with the edges among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array

from .network import Ints


@dataclass(frozen=True, eq=False)
class Balls:
    """The surroundings of some nodes, as a disjoint union: a node that is in two of them is there twice.

    Attributes:
        nodes: which node of the graph each one is, ball by ball and ascending within, [m].
        ball_of: the ball that each is in, [m].
        roots: where each ball's own node is, [s].
        edges: all edges between nodes of one ball, both directions, [2, e].
        steps: how far each is from the root of its ball, [m].
    """

    nodes: Ints
    ball_of: Ints
    roots: Ints
    edges: Ints
    steps: Ints


def balls_around(centres: Ints, edges: Ints, nodes: int, radius: int) -> Balls:
    """All nodes within so many steps of each centre, and the edges among these.

    Args:
        centres: nodes of the graph, [s].
        edges: of the graph, both directions [2, E].
        nodes: how many the graph has.
        radius: steps, at least 0.
    """
    linked = csr_array((np.ones(edges.shape[1], dtype=np.int8), tuple(edges)), shape=(nodes, nodes))
    step = csr_array(linked + eye_array(nodes, dtype=np.int8)).astype(bool)
    reached = csr_array(
        (np.ones(len(centres), dtype=bool), (np.arange(len(centres)), centres)), (len(centres), nodes)
    )
    within = csr_array(reached.astype(np.int64))  # in how many of the reaches up to the radius a node is
    for _ in range(radius):
        reached = csr_array(reached @ step)
        within = csr_array(within + reached.astype(np.int64))
    within.sort_indices()
    ball_of, inside = np.repeat(np.arange(len(centres)), np.diff(within.indptr)), within.indices.astype(np.int64)
    keys = ball_of * nodes + inside
    degree = np.diff(linked.indptr)[inside]
    source = np.repeat(np.arange(len(inside)), degree)
    first = np.repeat(linked.indptr[inside] - (degree.cumsum() - degree), degree)
    ends = linked.indices[first + np.arange(len(source))]
    wanted = ball_of[source] * nodes + ends
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    there = keys[place] == wanted
    return Balls(
        nodes=inside,
        ball_of=ball_of,
        roots=np.searchsorted(keys, np.arange(len(centres)) * nodes + centres),
        edges=np.stack([source[there], place[there]]),
        steps=radius + 1 - within.data,
    )

"""When the edges of a network were used."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Events:
    """The times of each edge: one event for each message, each meeting, each payment between its ends.

    Attributes:
        edge: the position of the edge among the network's edges, ascending, [s].
        time: whole numbers of one unit (seconds since 1970, or since anything), ascending within an edge, [s].
    """

    edge: Ints
    time: Ints

    @classmethod
    def of(cls, edge: Ints, time: Ints) -> "Events":
        """Events in any order: of the edge at a position [s], at a time [s]."""
        order = np.lexsort((time, edge))
        return cls(np.asarray(edge, dtype=np.int64)[order], np.asarray(time, dtype=np.int64)[order])

    def __len__(self) -> int:
        return len(self.edge)

    def of_ordered(self, order: Ints) -> "Events":
        """The same where the edge at place i of a new order is the one at ``order[i]``, [m]."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return Events.of(place[self.edge], self.time)

    def of_kept(self, keep: NDArray[np.bool_]) -> "Events":
        """Those of the edges that are kept, a mask [m], at their new positions."""
        there = keep[self.edge]
        return Events((np.cumsum(keep) - 1)[self.edge[there]], self.time[there])

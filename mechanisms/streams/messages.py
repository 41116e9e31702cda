"""Messages between nodes, each with its time: a network of which more is known at every step."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...errors import InputError
from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes
from ..public_inputs import whole


@dataclass(frozen=True, eq=False)
class Messages:
    """Who had contact with whom, and when; directions are not told. What was sent is never taken back.

    Attributes:
        nodes: n; ids are 0 to n - 1.
        ends: both ends of each message, the smaller first, [2, e].
        steps: when each was sent, whole numbers from 0, never falling, [e].
    """

    nodes: int
    ends: Ints
    steps: Ints

    @classmethod
    def from_events(cls, nodes: int, one: Any, other: Any, steps: Any) -> Self:
        """Messages in any order; the same two nodes may have several, also at one step.

        Raises:
            InputError: lists of different lengths, an end that is no node, a message to oneself, a step below 0.
        """
        first, second, when = (np.asarray(part, dtype=np.int64) for part in (one, other, steps))
        if not len(first) == len(second) == len(when):
            raise InputError(
                f"{len(first)}, {len(second)} and {len(when)} values: expected two ends and a step of each message"
            )
        low, high = np.minimum(first, second), np.maximum(first, second)
        if len(low) and (low.min() < 0 or high.max() >= nodes):
            raise InputError(f"a message's end is no node: expected whole numbers from 0 to {nodes - 1}")
        if (low == high).any():
            raise InputError("a message goes from a node to itself: leave such messages out")
        if (when < 0).any():
            raise InputError("a message was sent before step 0: number the steps from 0")
        order = np.argsort(when, kind="stable")
        return cls(nodes, np.stack([low, high])[:, order], when[order])

    @classmethod
    def of_network(cls, network: Network, start: int, length: int) -> Self:
        """The events of a network's edges, in steps of equal length.

        Args:
            network: whose edges have times.
            start: of step 0. What was sent before is left out. Public: not read off the data.
            length: of a step, in the unit of the times; public.

        Raises:
            InputError: edges without times, or a length below 1.
        """
        if network.events is None:
            raise InputError("the edges of this network have no times: read a file that has a column of them")
        length = whole("the length of a step", length, 1)
        kept = network.events.time >= start
        one, other = network.edges[:, network.events.edge[kept]]
        return cls.from_events(network.nodes, one, other, (network.events.time[kept] - start) // length)

    @property
    def size(self) -> int:
        """Number of messages, e."""
        return len(self.steps)

    def first_contacts(self) -> "Messages":
        """Of each pair of nodes only the first message."""
        _, first = np.unique(codes(self.ends[0], self.ends[1], self.nodes), return_index=True)
        kept = np.sort(first)
        return Messages(self.nodes, self.ends[:, kept], self.steps[kept])

"""Wrong: the degree bound, which is to be public, is the largest degree of this very network.

The scale of the noise then depends on what it must hide: one node with many edges changes it by that many times.
Seen where a bound, a range or a set of possible values is taken from the data because no one wants to guess it.
"""

from gaudit.mechanisms.node_private import edge_count
from gaudit.mechanisms.statistics import BoundSettings, EdgeCount


class ManyLeaves(BoundSettings):
    """More leaves than in the right one, for which their number makes no difference."""

    bound: int = 30


class BoundFromTheData(EdgeCount):
    """The number of edges, with a bound that no edge exceeds."""

    name = "bound-from-the-data"
    Settings = ManyLeaves

    def release(self, data, rng):
        return edge_count(data, self.settings.epsilon, max(1, int(data.degrees.max(initial=0))), rng)

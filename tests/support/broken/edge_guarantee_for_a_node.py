"""Wrong: degrees that are private in edges, sold as private in nodes.

A node with d edges is protected at d times the epsilon of one edge. Seen where a promise reads "protects
individuals", and individuals are the nodes.
"""

from dataclasses import replace

from gaudit.graphs.network import Network
from gaudit.mechanisms.statistics import DegreeSequence

NODES = 40


class EdgeGuaranteeForANode(DegreeSequence):
    """Sorted degrees with noise for one edge."""

    name = "edge-guarantee-for-a-node"
    differ_in = "node"
    differ_by = "replace"

    @property
    def guarantee(self):
        return replace(super().guarantee, unit="node", adjacency="replace")

    def inputs(self):
        """The same nodes, of which one has no edge or is linked to all others."""
        rest = list(range(1, NODES))
        return Network.from_edges(NODES, [], []), Network.from_edges(NODES, [0] * len(rest), rest)

"""A private graph for each window of time, and what all of them together promise."""

from typing import Literal

import numpy as np
from pydantic import Field

from ...graphs.network import Network
from ...graphs.snapshots import of_snapshots, snapshot, windows_in
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.public_inputs import drawable_epsilon, exact_epsilon
from ...randomness import branch
from .dp_1k import DP1K
from .dp_graph import PrivateGraph, PrivateGraphSettings
from .private_sparsifier import PrivateSparsifier
from .privgraph import PrivGraph
from .tmf import TmF

Method = Literal["dp-1k", "tmf", "privgraph", "private-sparsifier"]
METHODS: dict[Method, type[PrivateGraph]] = {
    "dp-1k": DP1K,
    "tmf": TmF,
    "privgraph": PrivGraph,
    "private-sparsifier": PrivateSparsifier,
}
"""Private graphs whose promise is pure and central, and takes nothing but the nodes as public."""


class PrivateWindowsSettings(PrivateGraphSettings):
    """Settings of `PrivateWindows`."""

    epsilon: float = Field(4.0, gt=0, description="for one unit more or less, of all windows together")
    unit: Literal["edge-history", "event"] = Field(
        "edge-history", description="what is hidden: all messages of two people, or one message"
    )
    graph: Method = Field("dp-1k", description="how the graph of each window is made")


class PrivateWindows(PrivateGraph):
    """Publishes one private graph for each window of time, each made of that window alone, with noise of its own.

    The graph of window t follows from the edges of window t and from coins that no other window uses. One message
    lies in one window, and changes at most one edge there. So the releases of the other windows do not change at
    all, and every window may spend all of epsilon (parallel composition, McSherry 2009, theorem 4). All messages of
    a pair together change at most one edge in each of T windows. So each window gets epsilon / T, and the T
    guarantees add up (basic composition; Dwork and Roth 2014, theorem 3.16).

    The published Sliding-Priv-Graph (Upadhyay, Upadhyay and Arora 2021) tells a weighted graph of a window that
    slides. Windows here lie side by side: a message in w windows that overlap would cost w times as much.

    When windows begin and end is public: the same for both inputs of the promise. Windows with equally many events
    follow from the events themselves, so `publish` turns ``by=count`` down. A network without windows is one.
    """

    name = "private-windows"
    phrase = "replaced by a private graph for each window of time"
    alternative = "random-switch"
    publishes = ("types",)
    guarantee = (
        "epsilon-differential privacy, central, of all windows together: all messages of one pair of people, or "
        "one message, change no publication's probability by a factor over e^epsilon, for those who know neither "
        "noise nor seed; nodes and the bounds of windows are public"
    )
    Settings = PrivateWindowsSettings
    settings: PrivateWindowsSettings

    def each(self, windows: int) -> float:
        """Epsilon of each of so many windows: the largest float that they can all spend."""
        shared = windows if self.settings.unit == "edge-history" else 1
        most = drawable_epsilon(self.settings.epsilon) / shared
        found = float(most)
        return found if exact_epsilon(found) <= most else float(np.nextafter(found, 0))

    def promise(self) -> Guarantee:
        how = (
            "each of T windows has epsilon / T, and epsilons add up"
            if self.settings.unit == "edge-history"
            else "each window has epsilon, and one message is in one of them (parallel composition)"
        )
        return Guarantee(
            self.settings.unit,
            "add/remove",
            "central",
            drawable_epsilon(self.settings.epsilon),
            accountant=f"one release of '{self.settings.graph}' a window, with noise of its own; {how}; pure",
            public=("the nodes and their number", "the windows of time: how many, and when each begins and ends"),
        )

    def of_one(self, windows: int) -> PrivateGraph:
        """The defense that makes the graph of each of so many windows."""
        return METHODS[self.settings.graph](epsilon=self.each(windows), fresh=self.settings.fresh)

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        """One private graph for each window.

        Args:
            network: whose types of edges are the windows, up to the last one that has an edge.
            seed: a branch of it for each window.

        Raises:
            InputError: fewer than two nodes, counts instead of edges, or an epsilon so small that a graph would be
                too large.
        """
        windows = windows_in(network)
        one = self.of_one(windows)
        parts = [one.on_graph(snapshot(network, w), branch(seed, "window", w)) for w in range(windows)]
        return parts[0] if network.types is None else of_snapshots(parts)

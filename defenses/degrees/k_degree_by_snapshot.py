"""k-degree anonymity of each window of time by itself: what all windows together undo."""

from dataclasses import replace

import numpy as np
from pydantic import Field

from ...graphs.network import Network, Verified, against
from ...graphs.snapshots import degree_vectors, of_snapshots, snapshot, windows_in
from ...randomness import branch
from ...settings import Settings
from ...targets.defense import Defense
from .k_degree import KDegree
from .k_degree_temporal import kept, weights_aside


class KDegreeBySnapshotSettings(Settings):
    """Settings of `KDegreeBySnapshot`."""

    k: int = Field(10, ge=1, description="nodes that have each degree in each window, at least")


class KDegreeBySnapshot(Defense):
    """Edits each window of time until every degree in it occurs at least k times, whatever the others do.

    `k-degree` (Liu and Terzi 2008) on one snapshot after the other, with the variant ``priority``: degrees are the
    nearest that a graph can have. Each of them keeps the promise, and all of them together need not: who is like k
    others in each window may be like nobody in all. It is the trivial alternative to `k-degree-temporal`.
    """

    name = "k-degree-by-snapshot"
    phrase = "with every degree at least k times in each window by itself"
    strength = "k"
    sweep = (2, 5, 10, 20)
    trivial = True
    publishes = ("types",)
    guarantee = (
        "in each window of time by itself each node shares its degree with at least k - 1 others; all windows "
        "together may tell them apart"
    )
    Settings = KDegreeBySnapshotSettings
    settings: KDegreeBySnapshotSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        one = KDegree(k=self.settings.k, variant="priority", deletions=True)
        windows = range(windows_in(network))
        parts = [one.on_graph(snapshot(network, w), branch(seed, "window", w)) for w in windows]
        return parts[0] if network.types is None else of_snapshots(parts)

    def verify(self, before: Network, after: Network) -> Verified:
        """Counts the degrees of each window by itself; tells how rare vectors over all windows are."""
        vectors = degree_vectors(after)
        rarest = min(int(np.unique(own, return_counts=True)[1].min(initial=len(own))) for own in vectors.T)
        together = np.unique(vectors, axis=0, return_counts=True)[1]
        untyped = replace(after, types=None)
        return Verified(
            f"in each window by itself every degree occurs at least {self.settings.k} times{weights_aside(after)}",
            rarest >= self.settings.k or not len(vectors),
            f"the rarest degree of a window occurs {rarest} times, the rarest vector of degrees over all "
            f"{vectors.shape[1]} windows {together.min(initial=len(vectors))}; {kept(before, after)}",
            against("how many neighbours each person has in one window, and nothing else of the graph", untyped),
            "Windows are published under the same ids: whoever knows degrees in several of them is not covered.",
        )

"""k-degree anonymity over windows of time: every vector of degrees occurs at least k times (Rossi et al. 2015)."""

from dataclasses import replace

import numpy as np
from pydantic import Field

from ...graphs.network import Ints, Network, Verified, against
from ...graphs.snapshots import degree_vectors, of_snapshots, snapshot, windows_in
from ...settings import Settings
from ...targets.defense import Defense
from .degree_groups import grouped, medians_of, realisable
from .degree_realisation import nearby
from .degree_sequences import k_anonymous


class KDegreeTemporalSettings(Settings):
    """Settings of `KDegreeTemporal`."""

    k: int = Field(10, ge=1, description="nodes that have each vector of degrees, at least")


class KDegreeTemporal(Defense):
    """Edits all windows of time until every vector of degrees over them occurs at least k times.

    People are put into groups of at least k, the same in all windows, whose degrees are near to each other in all
    of them. In each window all of a group get the group's median degree, moved by one where the sum would be odd,
    and edges are dropped, added and exchanged until degrees are these (`degree_realisation.nearby`). Who is absent
    from a window has the degree 0 there. Types of edges are the windows; a network without types is one window.

    Source:
        Rossi, Musolesi and Torsello, "On the k-anonymization of time-varying and multi-layer social graphs", ICWSM
        2015. Groups come from their objective by other means than k-means with minimal cost flows
        (`degree_groups`), and degrees are made even and graphic by moving whole groups.
    """

    name = "k-degree-temporal"
    phrase = "with every vector of degrees over the windows at least k times"
    strength = "k"
    sweep = (2, 5, 10, 20)
    alternative = "k-degree-by-snapshot"
    publishes = ("types",)
    guarantee = (
        "each node shares its degrees in all windows of time with at least k - 1 others; who knows more than "
        "degrees may tell them apart"
    )
    Settings = KDegreeTemporalSettings
    settings: KDegreeTemporalSettings

    def on_graph(self, network: Network, seed: np.random.SeedSequence) -> Network:
        rng, vectors = np.random.default_rng(seed), degree_vectors(network)
        group = grouped(vectors, self.settings.k)
        common, parts = medians_of(vectors, group), list[Network]()
        for window, degrees in enumerate(vectors.T):
            wanted = realisable(degrees, group, common[:, window])[group]
            own = snapshot(network, window)
            parts.append(own.with_edges(nearby(own.plain(), wanted, rng), rng))
        return parts[0] if network.types is None else of_snapshots(parts)

    def verify(self, before: Network, after: Network) -> Verified:
        """Counts the rows of the matrix of degrees; tells what was changed beside a lower bound.

        No way of changing degrees costs less than the cheapest k-anonymous sequence of each window by itself.
        """
        k, windows = self.settings.k, max(windows_in(before), windows_in(after))
        old, new = degree_vectors(before, windows), degree_vectors(after, windows)
        times = np.unique(new, axis=0, return_counts=True)[1]
        rarest = int(times.min(initial=len(new)))
        least = sum(int(np.abs(k_anonymous(d, k, True, even=True) - d).sum()) for d in old.T) if len(old) else 0
        changed = int(np.abs(new - old).sum()) if old.shape == new.shape else -1
        told = f"{len(times)} vectors over {windows} window{'' if windows == 1 else 's'}"
        detail = (
            f"{told}, the rarest occurs {rarest} times; "
            f"{kept(before, after)}; degrees changed by {changed} in all, {least} is a lower bound"
        )
        untyped = replace(after, types=None)
        return Verified(
            f"every vector of degrees over the windows occurs at least {k} times{weights_aside(after)}",
            rarest >= k or not len(new),
            detail,
            against("how many neighbours each person has in each window, and nothing else of the graph", untyped),
        )


def weights_aside(network: Network) -> str:
    """What a guarantee of all windows does not count, to be added to it: nothing where there is nothing."""
    return "" if network.weights is None else ", weights of edges aside"


def kept(before: Network, after: Network) -> str:
    """How many edges stayed in their window, and how many are new, in words."""
    old, new = (_coded(network, max(before.nodes, after.nodes)) for network in (before, after))
    stayed = len(np.intersect1d(old, new, assume_unique=True))
    return f"{stayed} of {len(old)} edges of all windows kept, {len(new) - stayed} added"


def _coded(network: Network, nodes: int) -> Ints:
    """One whole number for each edge and its window, [m]."""
    types = np.zeros(network.size, dtype=np.int64) if network.types is None else network.types
    coded: Ints = (types * nodes + network.edges[0]) * nodes + network.edges[1]
    return coded

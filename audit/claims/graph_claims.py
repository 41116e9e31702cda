"""Defenses that publish a differentially private graph, as mechanisms whose claims are checked."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...defenses.private_graphs.dp_1k import DP1K
from ...defenses.private_graphs.dp_2k import DP2K
from ...defenses.private_graphs.dp_graph import PrivateGraph
from ...defenses.private_graphs.ldpgen import LDPGen
from ...defenses.private_graphs.private_generator import PrivateGenerator
from ...defenses.private_graphs.private_sparsifier import PrivateSparsifier
from ...defenses.private_graphs.private_windows import Method, PrivateWindows
from ...defenses.private_graphs.privgraph import PrivGraph
from ...defenses.private_graphs.tmf import TmF
from ...graphs.network import Network
from ...graphs.snapshots import of_snapshots, snapshot
from ...mechanisms.guarantee import Guarantee, Unit
from ...mechanisms.mechanism import Mechanism, MechanismSettings
from ...randomness import drawn_seed


class PublishedGraph(Mechanism):
    """Base of them: what speaks for two nodes being linked is that they are linked in the release.

    A release of two nodes is one bit, and shows less than the counts that it is drawn from: of `dp-2k` only the
    noise in degrees, of `ldpgen` only that in the last report. The counts alone are checked as `degree-sequence`,
    `joint-degrees` and `group-report`.
    """

    differ_in: ClassVar[Unit] = "edge"
    defense: ClassVar[type[PrivateGraph]]

    def made(self) -> PrivateGraph:
        """The defense with the settings of the claim."""
        return self.defense(**self.settings.model_dump())

    @property
    def guarantee(self) -> Guarantee:
        return self.made().promise()

    def inputs(self) -> tuple[Network, Network]:
        """Two nodes, apart and linked."""
        return Network.from_edges(2, [], []), Network.from_edges(2, [0], [1])

    def release(self, data: Network, rng: np.random.Generator) -> Network:
        return self.made().on_graph(data, drawn_seed(rng))

    def score(self, released: Network) -> float:
        return float(released.size)


class DP1KClaim(PublishedGraph):
    """A random graph with noisy degrees, the defense `dp-1k`."""

    name = "dp-1k"
    defense = DP1K


class DP2KClaimSettings(MechanismSettings):
    """Settings of `DP2KClaim`."""

    bound: int = Field(1, ge=1, description="public degree bound")


class DP2KClaim(PublishedGraph):
    """A random graph with noisy joint degrees, the defense `dp-2k`."""

    name = "dp-2k"
    defense = DP2K
    Settings = DP2KClaimSettings
    settings: DP2KClaimSettings


class LDPGenClaimSettings(MechanismSettings):
    """Settings of `LDPGenClaim`."""

    groups: int = Field(1, ge=1, description="groups of users")
    reports: int = Field(1, ge=1, description="times that users report; two nodes show the last time only")


class LDPGenClaim(PublishedGraph):
    """A graph from users' noisy reports, the defense `ldpgen`."""

    name = "ldpgen"
    defense = LDPGen
    Settings = LDPGenClaimSettings
    settings: LDPGenClaimSettings


class TmFClaimSettings(MechanismSettings):
    """Settings of `TmFClaim`."""

    count: float = Field(0.5, gt=0, lt=1, description="share of epsilon for the number of edges")


class TmFClaim(PublishedGraph):
    """A graph of the pairs that pass a noisy filter, the defense `tmf`."""

    name = "tmf"
    defense = TmF
    Settings = TmFClaimSettings
    settings: TmFClaimSettings

    def inputs(self) -> tuple[Network, Network]:
        """Four nodes without an edge, and with one: how many are told shows the count, which ones the filter."""
        return Network.from_edges(4, [], []), Network.from_edges(4, [0], [1])

    def score(self, released: Network) -> float:
        """Whether the pair is told, and how many are: up to one speaks for an edge."""
        return float((released.codes == 1).any()) + min(released.size, 1)


class PrivGraphClaim(PublishedGraph):
    """A graph drawn from noisy communities, the defense `privgraph`."""

    name = "privgraph"
    defense = PrivGraph


class PrivateSparsifierClaimSettings(MechanismSettings):
    """Settings of `PrivateSparsifierClaim`."""

    told: float = Field(20.0, gt=0, description="false links of each node on average, at most")


class PrivateSparsifierClaim(PublishedGraph):
    """A sparse graph that keeps cuts, the defense `private-sparsifier`."""

    name = "private-sparsifier"
    defense = PrivateSparsifier
    Settings = PrivateSparsifierClaimSettings
    settings: PrivateSparsifierClaimSettings


class PrivateGeneratorClaimSettings(MechanismSettings):
    """Settings of `PrivateGeneratorClaim`."""

    delta: float = Field(1e-6, gt=0, lt=1, description="of the promise")
    steps: int = Field(10, ge=1, le=1000, description="noisy gradients")
    dimensions: int = Field(8, ge=1, le=256, description="of a node's position")


class PrivateGeneratorClaim(PublishedGraph):
    """A graph of a privately trained generator, the defense `private-generator`."""

    name = "private-generator"
    defense = PrivateGenerator
    Settings = PrivateGeneratorClaimSettings
    settings: PrivateGeneratorClaimSettings


class PrivateWindowsClaimSettings(MechanismSettings):
    """Settings of `PrivateWindowsClaim`."""

    windows: int = Field(2, ge=1, le=1000, description="windows of time")
    graph: Method = Field("tmf", description="how the graph of each window is made")


class PrivateWindowsClaim(PublishedGraph):
    """A private graph for each window of time, the defense `private-windows`; all messages of a pair are hidden."""

    name = "private-windows"
    differ_in = "edge-history"
    defense = PrivateWindows
    Settings = PrivateWindowsClaimSettings
    settings: PrivateWindowsClaimSettings

    def made(self) -> PrivateGraph:
        return PrivateWindows(epsilon=self.settings.epsilon, graph=self.settings.graph)

    def inputs(self) -> tuple[Network, Network]:
        """Four nodes, two of whom write in every window; the others never do, or in every window too."""
        without, inside = Network.from_edges(4, [2], [3]), Network.from_edges(4, [0, 2], [1, 3])
        windows = self.settings.windows
        return of_snapshots([without] * windows), of_snapshots([inside] * windows)

    def score(self, released: Network) -> float:
        """Of each window whether the pair is told, and how many are: from one up to two speaks for it."""
        parts = [snapshot(released, window) for window in range(self.settings.windows)]
        return float(sum((part.codes == 1).any() + min(max(part.size, 1), 2) for part in parts))

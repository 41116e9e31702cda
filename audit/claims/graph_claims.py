"""Defenses that publish a differentially private graph, as mechanisms whose claims are checked."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...defenses.private_graphs.dp_1k import DP1K
from ...defenses.private_graphs.dp_2k import DP2K
from ...defenses.private_graphs.dp_graph import PrivateGraph
from ...defenses.private_graphs.ldpgen import LDPGen
from ...graphs.network import Network
from ...mechanisms.guarantee import Guarantee
from ...mechanisms.mechanism import Mechanism, MechanismSettings
from ...randomness import drawn_seed


class PublishedGraph(Mechanism):
    """Base of them: what speaks for two nodes being linked is that they are linked in the release.

    A release of two nodes is one bit, and shows less than the counts that it is drawn from: of `dp-2k` only the
    noise in degrees, of `ldpgen` only that in the last report. The counts alone are checked as `degree-sequence`,
    `joint-degrees` and `group-report`.
    """

    differ_in = "edge"
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

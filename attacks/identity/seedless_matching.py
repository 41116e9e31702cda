"""Identities by graph matching from nothing but structure."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...graphs.network import Ints, Network
from .graph_matching import percolation
from .identity_attack import Candidates, Facts
from .seeded_matching import AuxiliaryMatching, AuxiliarySettings, auxiliary_network, matched


class SeedlessMatchingSettings(AuxiliarySettings):
    """Settings of `SeedlessMatching`."""

    landmarks: int = Field(400, ge=2, description="nodes of highest degree to begin with")


class SeedlessMatching(AuxiliaryMatching):
    """Graph matching without seeds: hubs first, then by the distances from these, then percolation.

    The adversary has another network of the same people, with names and a part of the edges of the one that is
    published, and knows nobody in that one. It finds seeds of its own (`structural_seeds`) and goes on as
    `SeededMatching` does.
    """

    name: ClassVar[str] = "seedless-matching"
    Settings = SeedlessMatchingSettings
    settings: SeedlessMatchingSettings

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        from .structural_seeds import structural_seeds

        own, plain = auxiliary_network(facts), published.plain()
        found = structural_seeds(own, plain, self.settings.landmarks)
        return matched(percolation(own, plain, found, self.settings.threshold), published.nodes)

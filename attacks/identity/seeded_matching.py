"""Identities by graph matching: who knows another network of the same people, and a few of them in both."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...graphs.network import Ints, Network, Original
from ...settings import Settings
from .graph_matching import percolation, propagation
from .identity_attack import Candidates, Facts, IdentityAttack, shared


class AuxiliarySettings(Settings):
    """Settings of attacks that know another network of the same people."""

    overlap: float = Field(0.9, gt=0, le=1, description="share of the original's edges that it has")
    threshold: int = Field(2, ge=1, description="neighbours that two nodes must share before they are matched")


class AuxiliaryMatching(IdentityAttack):
    """Base of attacks that know another network of the same people, with a part of the edges."""

    Settings = AuxiliarySettings
    settings: AuxiliarySettings

    @property
    def knows(self) -> str:
        return known_network(self.settings.overlap)

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        return auxiliary(original, self.settings.overlap, rng)


class SeededMatchingSettings(AuxiliarySettings):
    """Settings of `SeededMatching`."""

    method: Literal["percolation", "propagation"] = Field(
        "percolation", description="Yartseva and Grossglauser 2013, or Narayanan and Shmatikov 2009"
    )
    known: float = Field(0.05, ge=0, lt=1, description="share of the persons whose node it knows beforehand")
    theta: float = Field(0.5, ge=0, description="eccentricity that propagation asks for")


class SeededMatching(AuxiliaryMatching):
    """Graph matching from seeds: percolation, or propagation.

    The adversary has another network of the same people, with names and a part of the edges of the one that is
    published, and knows some people in both. Persons whom it matches have one candidate, all others every
    published node that is not matched.
    """

    name: ClassVar[str] = "seeded-matching"
    Settings = SeededMatchingSettings
    settings: SeededMatchingSettings

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.knows_people = self.settings.known

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        s, own, plain = self.settings, auxiliary_network(facts), published.plain()
        if s.method == "percolation":
            image = percolation(own, plain, seeds, s.threshold)
        else:
            image = propagation(own, plain, seeds, rng, s.theta)
        return matched(image, published.nodes)


def known_network(overlap: float) -> str:
    """What `auxiliary` returns, as the report says it."""
    return f"the names in another network of the same people that has {overlap:.0%} of the edges"


def auxiliary(original: Original, overlap: float, rng: np.random.Generator) -> Facts:
    """Another network of the same persons [p]: a random part of the edges between them, and no other edge."""
    plain = original.network.plain()
    edges = plain.edges[:, plain.edges[1] < original.people]
    kept = np.sort(rng.permutation(edges.shape[1])[: round(overlap * edges.shape[1])])
    return {"auxiliary": edges[:, kept], "people": np.array([original.people])}


def auxiliary_network(facts: Facts) -> Network:
    """The network that `auxiliary` describes."""
    return Network.from_edges(int(facts["people"][0]), *facts["auxiliary"])


def matched(image: Ints, nodes: int) -> Candidates:
    """Candidates of persons by the published node that each is matched to, -1 for none, [p]."""
    free = np.setdiff1d(np.arange(nodes), image)
    everybody = free if len(free) else np.arange(nodes)
    own, found = np.zeros(len(image), dtype=np.int64), np.flatnonzero(image >= 0)
    own[found] = np.arange(1, len(found) + 1)
    return shared([everybody, *image[found, None]], own)

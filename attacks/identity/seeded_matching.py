"""Identities by graph matching: who knows another network of the same people, and a few of them in both."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...graphs.network import Ints, Network, Original
from ...settings import Settings
from .graph_matching import expansion, propagation, unmatched_candidates
from .identity_attack import Candidates, Facts, IdentityAttack, shared

HELD = "the names in another network of the same people, which it holds"
"""What `auxiliary` returns where somebody brought such a network, as the report says it."""


class AuxiliarySettings(Settings):
    """Settings of attacks that know another network of the same people."""

    overlap: float = Field(
        0.9,
        gt=0,
        le=1,
        description="share of the original's edges that it has, unless it holds a network that somebody brought",
    )
    threshold: int = Field(2, ge=1, description="neighbours that two nodes must share before they are matched")
    landmarks: int = Field(
        400, ge=0, description="nodes of highest degree by which it finds seeds of its own; 0: it looks for none"
    )


class AuxiliaryMatching(IdentityAttack):
    """Base of attacks that know another network of the same people, with a part of the edges.

    They begin with pairs that are known, and with others that they find by structure (`structural_seeds`),
    percolate from there, guess where they are stuck and take guesses back that prove wrong (`expansion`). Persons
    who are matched have one candidate. All others have those nodes that nobody is matched to and that fit best:
    which share most matched neighbours with the person, with a degree like its own, or have that degree alone.
    """

    Settings = AuxiliarySettings
    settings: AuxiliarySettings

    @property
    def knows(self) -> str:
        return known_network(self.settings.overlap)

    def says(self, facts: Facts) -> str:
        return HELD if "held" in facts else self.knows

    def asked(self, facts: Facts) -> NDArray[np.bool_] | None:
        return auxiliary_network(facts).degrees > 0 if "held" in facts else None

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        return auxiliary(original, self.settings.overlap, rng)

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        own, plain = auxiliary_network(facts), published.plain()
        return matched(own, plain, self.match(own, plain, seeds, rng), rng)

    def match(self, own: Network, published: Network, seeds: Ints, rng: np.random.Generator) -> Ints:
        """The published node of each person [p], -1 where it is not told."""
        from .structural_seeds import structural_seeds

        s = self.settings
        guessed = structural_seeds(own, published, s.landmarks) if s.landmarks else seeds[:, :0]
        return expansion(own, published, seeds, guessed, s.threshold)


class SeededMatchingSettings(AuxiliarySettings):
    """Settings of `SeededMatching`."""

    method: Literal["percolation", "propagation"] = Field(
        "percolation",
        description="after Yartseva and Grossglauser 2013, with guesses; or Narayanan and Shmatikov 2009, from the "
        "known persons alone",
    )
    known: float = Field(0.05, ge=0, lt=1, description="share of the persons whose node it knows beforehand")
    theta: float = Field(0.5, ge=0, description="eccentricity that propagation asks for")


class SeededMatching(AuxiliaryMatching):
    """Graph matching from seeds: percolation, or propagation.

    The adversary has another network of the same people, with names and a part of the edges of the one that is
    published, and knows some people in both. It goes on from these as `AuxiliaryMatching` says.
    """

    name: ClassVar[str] = "seeded-matching"
    Settings = SeededMatchingSettings
    settings: SeededMatchingSettings

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.knows_people = self.settings.known

    def match(self, own: Network, published: Network, seeds: Ints, rng: np.random.Generator) -> Ints:
        if self.settings.method == "percolation":
            return super().match(own, published, seeds, rng)
        return propagation(own, published, seeds, rng, self.settings.theta)


def known_network(overlap: float) -> str:
    """What `auxiliary` returns, as the report says it."""
    return f"the names in another network of the same people that has {overlap:.0%} of the edges"


def auxiliary(original: Original, overlap: float, rng: np.random.Generator) -> Facts:
    """Another network of the same persons [p]: the one that the adversary holds, or a random part of the edges.

    There are no edges but those between persons.
    """
    held = original.auxiliary
    if held is not None:
        between = held.plain().edges
        between = between[:, between[1] < original.people]
        return {"auxiliary": between, "people": np.array([original.people]), "held": np.array([True])}
    plain = original.network.plain()
    edges = plain.edges[:, plain.edges[1] < original.people]
    kept = np.sort(rng.permutation(edges.shape[1])[: round(overlap * edges.shape[1])])
    return {"auxiliary": edges[:, kept], "people": np.array([original.people])}


def auxiliary_network(facts: Facts) -> Network:
    """The network that `auxiliary` describes."""
    return Network.from_edges(int(facts["people"][0]), *facts["auxiliary"])


def matched(own: Network, published: Network, image: Ints, rng: np.random.Generator) -> Candidates:
    """Candidates of persons [p] by the published node that each is matched to, -1 for none."""
    sets, place = unmatched_candidates(own, published, image, rng)
    found = np.flatnonzero(image >= 0)
    place[found] = len(sets) + np.arange(len(found))
    return shared([*sets, *image[found, None]], place)

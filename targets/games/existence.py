"""Being in a published network at all as a secret: is this person one of its nodes?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...graphs.network import Network, Original
from ...randomness import branch
from ..game import Adversary, Game, Grant, Knowledge, Words, as_it_is, in_thirds, without_ancestry
from .identities import Background

if TYPE_CHECKING:
    from torch_geometric.data import Data

LEAST = 5
"""People of each sort who must be in question."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ExistenceKnowledge(Knowledge):
    """What an adversary knows of people; subjects are people.

    Attributes:
        background: what it knows of them.
    """

    background: Background

    def sentence(self) -> str:
        return self.background.sentence


@runtime_checkable
class LearnsOfPeople(Protocol):
    """What an attack on existence says of its adversary's prior knowledge."""

    name: str

    def learn(self, original: Original, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """What it knows of each person before the release."""

    def says(self, facts: Mapping[str, NDArray[Any]]) -> str:
        """The same, in words."""


@dataclass(frozen=True, kw_only=True)
class Existence(Game):
    """Who is in the release: in question are people of a network that the adversary knows something of.

    Node existence is one of the private facts that Zhou, Pei and Luk name ("A brief survey on anonymization
    techniques for privacy preserving publishing of social network data", SIGKDD Explorations 10(2), 2008, section
    2.1).

    Attributes:
        network: of all people in question and others, under our ids: the one that facts are learned of, [p nodes].
        brought: whether the adversary holds it as it is; else it learns single facts of it.
        published: n', the number of published nodes.
    """

    name = "existence"
    unit = "whether one person is in the published network"
    words = Words(
        "Existence: is this person in the published graph?",
        "Can somebody tell who is in the published graph?",
        "the people who are in the published graph",
        "people in the graph from people who are not",
        "person who is not in it",
        "people who are not in it",
        public="what the adversary's own network alone tells of who is in the published one",
        background="something of each person beforehand",
    )
    metrics = ()

    network: Network
    brought: bool
    published: int

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """What the attack says that its adversary knows of each person, under new ids of all people."""
        import torch

        attack, people = adversary.attack, self.network.nodes
        if not isinstance(attack, LearnsOfPeople):
            raise InputError(f"the attack '{attack.name}' plays {self.name}: derive it from ExistenceAttack")
        rng = np.random.default_rng(branch(seed, "grant", attack.name))
        ours = rng.permutation(people)
        theirs = np.empty(people, dtype=np.int64)
        theirs[ours] = np.arange(people)
        known = self.network.renamed(theirs)
        facts = attack.learn(Original(known, auxiliary=known if self.brought else None), rng)
        sentence = (
            f"knows of {people} people {attack.says(facts)}; in question are {len(self.subjects)} of them, and "
            f"{int(self.truth.sum())} of these are in the published graph"
        )
        knowledge = ExistenceKnowledge(
            subjects=torch.from_numpy(np.sort(theirs[self.subjects])),
            members=int(self.truth.sum()),
            knows_defense=adversary.knows_defense,
            game=self.name,
            seed=without_ancestry(branch(seed, "coins")),
            background=Background(people, self.published, facts, sentence=sentence),
        )
        return Grant(knowledge, ours), as_it_is

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, NDArray[np.float64]]:
        """The ``degree`` in the network that the adversary knows: members may have more links there."""
        return {"degree": np.log1p(self.network.degrees[np.sort(self.subjects)].astype(np.float64))[:, None]}

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """The ``degree`` in the network that the adversary knows, in thirds."""
        return {"degree": in_thirds(self.network.degrees[np.sort(self.subjects)])}


def existence(network: Network, present: NDArray[np.bool_], published: int, brought: bool = False) -> Existence:
    """Who is in the release, asked of everybody who has a link in the network that the adversary knows.

    Args:
        network: that it knows something of, [p nodes].
        present: whether each of its people is in the release, [p].
        published: n', the number of published nodes.
        brought: whether the adversary holds the network as it is.

    Raises:
        InputError: fewer than five in question are in the release, or fewer than five are not.
    """
    asked = np.flatnonzero(network.degrees > 0)
    truth = present[asked]
    for count, what in ((int(truth.sum()), "in"), (int((~truth).sum()), "not in")):
        if count < LEAST:
            raise InputError(
                f"{count} people with links, of whom the adversary knows, are {what} the release: at least {LEAST} "
                "are needed (absent=0.2 leaves a fifth out)"
            )
    return Existence(subjects=asked, truth=truth, network=network, brought=brought, published=published)

"""What attacks on identity share: for each person the set of published nodes that may be it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...graphs.network import Ints, Network, Original
from ...settings import Settings
from ...targets.games.identities import Identity, PersonKnowledge, identity_pairs
from ...targets.messages import GRAPH_WITH_ACCOUNTS, PUBLISHED_GRAPH, Carrying
from ...targets.published import network_of
from ...targets.transcript import View
from ..attack import Attack

if TYPE_CHECKING:
    from torch import Tensor

Of = Literal["original", "published"]
Facts = Mapping[str, NDArray[Any]]
"""What the adversary knows of each person before the release, arrays by name."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """For each of p persons the set of published nodes that may be it.

    Attributes:
        start: where the set of a person begins in ``listed``, [p]; persons may share a set.
        sizes: of the sets, [p].
        listed: published nodes, ascending within each set [t].
    """

    start: Ints
    sizes: Ints
    listed: Ints

    @classmethod
    def of_sets(cls, sets: list[Ints]) -> Candidates:
        """From one array of published nodes per person."""
        sizes = np.array([len(s) for s in sets], dtype=np.int64)
        together = np.concatenate([np.sort(s) for s in sets]) if sets else np.empty(0)
        return cls(np.cumsum(sizes) - sizes, sizes, together.astype(np.int64))

    @classmethod
    def of_keys(cls, persons: Ints, published: Ints) -> Candidates:
        """All published nodes with the same key as the person: keys [p] of persons, [n'] of published nodes."""
        order = np.argsort(published, kind="stable").astype(np.int64)
        keys = published[order]
        first = np.searchsorted(keys, persons, "left").astype(np.int64)
        return cls(first, np.searchsorted(keys, persons, "right").astype(np.int64) - first, order)

    def of(self, person: int) -> Ints:
        """The set of one person."""
        return self.listed[self.start[person] : self.start[person] + self.sizes[person]]

    def probability(self, persons: Ints, nodes: Ints) -> NDArray[np.float64]:
        """That a person is a published node, for pairs of them [s]: 1 / size within its set, else 0."""
        sizes, low = self.sizes[persons], self.start[persons]
        end, listed = low + sizes, np.append(self.listed, -1)  # an end that nobody is
        high = end
        for _ in range(int(sizes.max(initial=0)).bit_length()):  # each set is halved until one place is left
            middle = (low + high) // 2
            behind = (low < high) & (listed[middle] < nodes)
            low, high = np.where(behind, middle + 1, low), np.where(behind, high, middle)
        there = (low < end) & (listed[low] == nodes)
        found = np.zeros(len(persons))
        found[there] = 1 / sizes[there]
        return found


class IdentityAttack(Attack[PersonKnowledge]):
    """Base of attacks on identity. A subclass writes `learn` and `candidates`.

    `learn` runs on the original network before the release and returns what the adversary knows of each person
    beforehand: nothing else of the original reaches `candidates`. Persons and published nodes have ids of their
    own, drawn at random, so that ids say nothing.

    Attributes:
        knows: what `learn` returns, as the report says it ("the degrees of each person's neighbours").
        knows_people: share of the persons whose published node it knows beforehand (seeds), in [0, 1).
        opens_accounts: whether it opens accounts in the network before the release: what it reads then is a release
            of its own (``needs = (GRAPH_WITH_ACCOUNTS,)``), so that other attacks of a run do not see them.
        of: the network that it learns facts of: the original, or what a defense made of it. The latter is what
            guarantees of anonymity speak of, and what an adversary knows who watches the relations that changed.
    """

    games = (Identity.name,)
    needs: ClassVar[tuple[Carrying, ...]] = (PUBLISHED_GRAPH,)
    observer: ClassVar[str] = "public"
    planted: ClassVar[str] = "planted-network"
    knows_people: float = 0.0
    opens_accounts: bool = False

    @property
    def of(self) -> Of:
        """The network that it learns facts of."""
        return "original"

    @property
    @abstractmethod
    def knows(self) -> str:
        """What `learn` returns, as the report says it."""

    @abstractmethod
    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """What the adversary knows of each person [p] before the release, arrays of any shape by name."""

    def says(self, facts: Facts) -> str:
        """What it knows, for the report, given what it has learned."""
        return self.knows

    def asked(self, facts: Facts) -> NDArray[np.bool_] | None:
        """The persons of whom it knows anything [p], who alone are in question; None for all."""
        return None

    @abstractmethod
    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        """The candidate set of each person; ``seeds`` are known pairs of person and published node [2, s]."""

    def score(self, view: View, knowledge: PersonKnowledge) -> Tensor:
        import torch

        background = knowledge.background
        read = GRAPH_WITH_ACCOUNTS if self.opens_accounts else PUBLISHED_GRAPH
        published = network_of(view.carrying(read)[-1])
        rng = np.random.default_rng(int(torch.randint(2**62, ())))
        found = self.candidates(published, background.facts, background.seeds, rng)
        coded = knowledge.subjects.cpu().numpy()
        persons, nodes = identity_pairs(coded, background.persons, background.nodes)
        return torch.from_numpy(found.probability(persons, nodes))

    def blind_score(self, knowledge: PersonKnowledge) -> Tensor:
        """Without the release every published node may be anybody."""
        import torch

        return torch.full((len(knowledge.subjects),), 1.0, dtype=torch.double)


def shared(sets: Sequence[Ints], own: Ints) -> Candidates:
    """Candidates of persons of whom many have the same set, which is kept once.

    Args:
        sets: published nodes, ascending within each.
        own: for each person the place of its set among these, [p].
    """
    sizes = np.array([len(s) for s in sets], dtype=np.int64)
    start = np.cumsum(sizes) - sizes
    return Candidates(start[own], sizes[own], np.concatenate(sets).astype(np.int64))


class StructuralQuerySettings(Settings):
    """Settings of every structural query."""

    of: Of = Field(
        "original",
        description="what is known was seen in the original network, or is true of the published one: then a "
        "defense that changes edges has not changed what is known",
    )


class StructuralQuery(IdentityAttack):
    """Base of structural queries (Hay et al. 2008, section 2.2)."""

    Settings = StructuralQuerySettings
    settings: StructuralQuerySettings

    @property
    def of(self) -> Of:
        return self.settings.of

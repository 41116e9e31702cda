"""What attacks on attributes share: guesses with the release beside the best guess without it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse import csr_array

from ...graphs.network import Floats
from ...targets.games.attributes import Attribute, AttributeKnowledge
from ...targets.transcript import View
from ..attack import Attack
from .best_guess import Columns, best_guess, folds_of
from .known_neighbours import mean_of_neighbours, neighbour_columns

if TYPE_CHECKING:
    from torch import Tensor

FOLDS = 4


class AttributeAttack(Attack[AttributeKnowledge]):
    """Base of attacks on attributes. A subclass says in `columns` what the release tells of each person.

    A guess is chosen among several on the people whose attribute is known (`best_guess`): single columns as they
    are, and models of the other attributes, of the release, and of both. The blind score is chosen the same way
    among guesses without the release, which is imputation: from the other attributes, and from the values of known
    neighbours where the adversary knows links beforehand. What the attack finds beyond it the release gave away.
    """

    games: ClassVar[tuple[str, ...]] = (Attribute.name,)
    planted = "planted-attributes"

    @abstractmethod
    def columns(self, view: View, knowledge: AttributeKnowledge, people: KnownPeople) -> Mapping[str, Floats]:
        """What the release tells of all people, [n, c] by name."""

    def score(self, view: View, knowledge: AttributeKnowledge) -> Tensor:
        people = KnownPeople.of(knowledge)
        return people.guess(knowledge, {**people.linked(knowledge), **self.columns(view, knowledge, people)})

    def blind_score(self, knowledge: AttributeKnowledge) -> Tensor:
        people = KnownPeople.of(knowledge)
        return people.guess(knowledge, people.linked(knowledge))


class KnownPeople:
    """People whose attribute is known, dealt out into folds at random.

    Attributes:
        known: who they are, [k].
        told: whether they have the value, [k].
        fold: of each, [k].
    """

    def __init__(self, known: Tensor, told: Tensor) -> None:
        import torch

        self.known, self.told = known.cpu().numpy(), told.cpu().numpy()
        self.fold = folds_of(self.told, FOLDS, torch.randperm(len(known)).numpy())

    @classmethod
    def of(cls, knowledge: AttributeKnowledge) -> KnownPeople:
        """Those of an adversary, dealt out by torch's generator."""
        return cls(knowledge.known, knowledge.told)

    def own(self, knowledge: AttributeKnowledge) -> Floats:
        """The other attributes of all people, [n, c]."""
        found: Floats = knowledge.others.cpu().numpy().astype(np.float64)
        return found

    def linked(self, knowledge: AttributeKnowledge) -> dict[str, Floats]:
        """What the links tell that the adversary knows beforehand; nothing where it knows none."""
        if not knowledge.edges.shape[1]:
            return {}
        source, target = knowledge.edges.cpu().numpy()
        size = len(knowledge.x)
        return self.near(csr_array((np.ones(len(source)), (source, target)), shape=(size, size)), knowledge)

    def near(self, adjacency: csr_array, knowledge: AttributeKnowledge) -> dict[str, Floats]:
        """What a network tells: values of known people nearby, and the other attributes of neighbours."""
        told = neighbour_columns(adjacency, self.known, self.told, self.fold)
        return {**told, "attributes of neighbours": mean_of_neighbours(adjacency, self.own(knowledge))}

    def guess(self, knowledge: AttributeKnowledge, more: Mapping[str, Floats]) -> Tensor:
        """The best guess about the people in question, [s]."""
        import torch

        found = best_guess(Columns(self.own(knowledge), more), self.known, self.told, self.fold)
        return torch.from_numpy(found)[knowledge.subjects.cpu()]

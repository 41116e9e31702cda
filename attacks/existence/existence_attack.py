"""What attacks on existence share: one score for each person, the higher the likelier it is in the release."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...graphs.network import Floats, Network, Original
from ...targets.games.existence import Existence, ExistenceKnowledge
from ...targets.messages import PUBLISHED_GRAPH
from ...targets.published import network_of
from ...targets.transcript import View
from ..attack import Attack
from ..identity.identity_attack import Facts

if TYPE_CHECKING:
    from torch import Tensor


class ExistenceAttack(Attack[ExistenceKnowledge]):
    """Base of attacks on existence. A subclass writes `learn`, `says` and `found`.

    `learn` runs on a network of all people in question, and what it returns is all that reaches `found`. People and
    published nodes have ids of their own, drawn at random.
    """

    games = (Existence.name,)
    needs = (PUBLISHED_GRAPH,)
    observer: ClassVar[str] = "public"
    planted: ClassVar[str] = "planted-presence"

    @abstractmethod
    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """What the adversary knows of each person [p] before the release, arrays of any shape by name."""

    @abstractmethod
    def says(self, facts: Facts) -> str:
        """The same, as the report says it."""

    @abstractmethod
    def found(self, published: Network, facts: Facts) -> Floats:
        """For each person [p] how well it is found in the published network: the higher, the better."""

    def score(self, view: View, knowledge: ExistenceKnowledge) -> Tensor:
        import torch

        published = network_of(view.carrying(PUBLISHED_GRAPH)[-1])
        if published.counts is not None:  # numbers of edges instead of edges: everybody may be in it
            return torch.zeros(len(knowledge.subjects), dtype=torch.double)
        return torch.from_numpy(self.found(published, knowledge.background.facts))[knowledge.subjects.cpu()]

    def blind_score(self, knowledge: ExistenceKnowledge) -> Tensor:
        """Without the release everybody is as likely in it."""
        import torch

        return torch.zeros(len(knowledge.subjects), dtype=torch.double)

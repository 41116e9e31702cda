"""What an attack is: a view and declared prior knowledge in, one score per subject out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, final

import numpy as np

from ..errors import InputError
from ..randomness import branch, seeded
from ..settings import Configured
from ..targets.game import Knowledge
from ..targets.messages import Carrying, kinds_of
from ..targets.transcript import View

if TYPE_CHECKING:
    from torch import Tensor

K = TypeVar("K", bound=Knowledge)


@dataclass(frozen=True)
class Accusation:
    """One subject of which an attack says outright that it is a member.

    Attributes:
        subject: its position among the subjects.
        label: the class that it was trained on with, or None where the attack does not say.
        owner: the client that holds it, or None.
        proven: whether what was seen leaves nothing else over but rounding, and whole people add up to it; whoever
            is no subject is taken to be no member.
        alike: positions of others that nothing seen tells from it: some of this set are members, as many as are
            accused.
    """

    subject: int
    label: int | None = None
    owner: int | None = None
    proven: bool = False
    alike: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scores:
    """An attack's guesses: the higher the score, the likelier a member."""

    subjects: np.ndarray
    score: np.ndarray
    accuracies: tuple[float, float] | None = None
    """Of the target and of the shadow models on the same nodes, where there are any."""
    accusations: tuple[Accusation, ...] | None = None
    """Whom it accuses outright, each once; None where it only ranks."""


class Attack(Configured, ABC, Generic[K]):
    """Base of all attacks. A subclass writes `score`, and `blind_score`: the same without the release.

    Attributes:
        name: the name in the registry.
        games: the games that it plays.
        needs: messages that it reads, by what they carry; all of these.
        any_of: messages of which it reads one sort at least.
        uses: messages that it reads if they are there.
        observer: the weakest observer that can mount it.
        auditor: whether it needs an auditor's `Knowledge`.
        own_data: whether it needs labelled nodes of its own.
        ranks_as: another attack that orders subjects the same way; the two are one finding.
        first_rounds: how many rounds it reads messages of, from the first; all where it is infinite. What is
            read is kept in memory: 150 rounds of FedGC's class gradients are 10 GB.
        planted: the target whose leak it must find wherever it is used; a control of every audit.
        cheap: messages on which it costs next to nothing: it then runs beside dearer attacks that were asked for,
            since the dearer one is not always the stronger.
        dear: why it does not run where nobody names an attack (``--attack auto``): what it costs; else empty.
    """

    kind = "attack"
    games: ClassVar[tuple[str, ...]] = ("label-membership", "node-presence")
    needs: ClassVar[tuple[Carrying, ...]] = ()
    any_of: ClassVar[tuple[Carrying, ...]] = ()
    uses: ClassVar[tuple[Carrying, ...]] = ()
    observer: ClassVar[str] = "public"
    auditor: ClassVar[bool] = False
    own_data: ClassVar[bool] = False
    ranks_as: ClassVar[str | None] = None
    planted: ClassVar[str] = "planted"
    cheap: ClassVar[tuple[Carrying, ...]] = ()
    dear: ClassVar[str] = ""
    first_rounds: float = math.inf
    knows_links: float = 0.0
    """Share of the edges in question that it must know beforehand, in [0, 1)."""
    knows_parts: bool = False
    """Whether it must know beforehand which client holds which node."""
    accuracies: tuple[float, float] | None = None
    """Noted by a subclass with shadow models, see `Scores`."""
    accusations: tuple[Accusation, ...] | None = None
    """Noted by a subclass that accuses outright, see `Scores`."""

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        """Settings that a preset changes."""
        return {}

    @property
    def models(self) -> int:
        """How many models it trains with its settings, those of its blind score among them."""
        return 0

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """Message kinds that the transcript must keep for it."""
        return kinds_of((*cls.needs, *cls.any_of, *cls.uses))

    @classmethod
    def kinds_for(cls, neighbours: str) -> tuple[str, ...]:
        """Those of `kinds` that it reads when it asks with some ``neighbours``."""
        return cls.kinds()

    def reads(self) -> tuple[str, ...]:
        """Message kinds that it reads with its settings."""
        return self.kinds()

    def why_not(self, view: View, knowledge: K) -> str | None:
        """Why this attack cannot be mounted from a view with some knowledge, or None if it can."""
        for need in self.needs:
            if not view.carrying(need):
                return f"the observer '{view.observer}' sees no {need}"
        if self.any_of and not any(view.carrying(sort) for sort in self.any_of):
            sorts = " nor ".join(map(str, self.any_of))
            return f"the observer '{view.observer}' sees {'neither' if len(self.any_of) > 1 else 'no'} {sorts}"
        if knowledge.game not in self.games:
            return f"it plays {' and '.join(self.games)}, not {knowledge.game}"
        return knowledge.lacks(self.auditor, self.own_data)

    def trains_alike(self, view: View, knowledge: K) -> bool:
        """Whether it trains models as those in a view were trained, which it must know for that."""
        return False

    @final
    def __call__(self, view: View, knowledge: K, seed: np.random.SeedSequence) -> Scores:
        """Attacks.

        Raises:
            InputError: the view does not hold what the attack needs.
        """
        reason = self.why_not(view, knowledge)
        if reason is not None:
            raise InputError(f"the attack '{self.name}' does not apply: {reason}")
        self.accuracies = self.accusations = None
        with seeded(branch(seed, self.name)):
            return self._scores(knowledge, self.score(view, knowledge))

    @final
    def blind(self, knowledge: K, seed: np.random.SeedSequence) -> Scores:
        """The blind baseline: what the same attack features reach without the release."""
        self.accuracies = self.accusations = None
        with seeded(branch(seed, self.name, "blind")):
            return self._scores(knowledge, self.blind_score(knowledge))

    @abstractmethod
    def score(self, view: View, knowledge: K) -> Tensor:
        """One score per subject, in the order of ``knowledge.subjects``, [s]."""

    @abstractmethod
    def blind_score(self, knowledge: K) -> Tensor:
        """One score per subject from prior knowledge alone, [s]."""

    def _scores(self, knowledge: K, score: Tensor) -> Scores:
        import torch

        if score.shape != knowledge.subjects.shape or not bool(torch.isfinite(score).all()):
            raise RuntimeError(f"the attack '{self.name}' must give one finite score per subject")
        told = score.detach().double().cpu().numpy()
        return Scores(knowledge.subjects.cpu().numpy(), told, self.accuracies, self.accusations)

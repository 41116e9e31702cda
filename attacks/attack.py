"""What an attack is: a view and declared prior knowledge in, one score per subject out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, final

import numpy as np
import torch
from torch import Tensor

from ..targets.defense import Settings
from ..targets.errors import InputError
from ..targets.randomness import branch, seeded
from ..targets.transcript import View

Neighbours = Literal["true", "partial", "none"]


@dataclass(frozen=True)
class Knowledge:
    """What the adversary knows beforehand. Node ids are drawn anew for each trial and say nothing.

    Attributes:
        x: features of all nodes that it can query, [n, d].
        edges: the edges that it puts into its queries, both directions [2, e].
        neighbours: what these are: the true ones, a random half of them, or none.
        labels: labels that it knows, -1 elsewhere, [n].
        subjects: the nodes in question, [s].
        shadow: nodes of its own, disjoint from the target's train and test nodes, labels known.
        shadow_edges: the edges among them, [2, e'].
        members: how many subjects are members (their number, not which).
        classes: number of classes.
        knows_defense: whether it adapts to the defense in place.
    """

    x: Tensor
    edges: Tensor
    neighbours: Neighbours
    labels: Tensor
    subjects: Tensor
    shadow: Tensor
    shadow_edges: Tensor
    members: int
    classes: int
    knows_defense: bool = False

    def to(self, device: str) -> "Knowledge":
        """The same on another device."""
        own: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in own.items()}
        return Knowledge(**moved)

    def sentence(self) -> str:
        """What the report prints: the adversary's prior knowledge in words."""
        neighbours = {
            "true": "all edges",
            "partial": "a random half of the edges",
            "none": "no edge",
        }[self.neighbours]
        return (
            f"knows the features of all {len(self.x)} nodes and {neighbours}, knows that {self.members} of "
            f"{len(self.subjects)} nodes are members, "
            f"owns {len(self.shadow)} labelled nodes of the same distribution, "
            f"{'knows' if self.knows_defense else 'does not know'} the defense"
        )


@dataclass(frozen=True)
class Scores:
    """An attack's guesses: the higher the score, the likelier a member."""

    subjects: np.ndarray
    score: np.ndarray


class Attack(ABC):
    """Base of all attacks. A subclass writes `score`, and `blind_score`: the same without the release.

    Attributes:
        name: the name in the registry.
        game: the game that it plays.
        needs: message kinds that it reads, which the transcript must keep.
        observer: the weakest observer that can mount it.
    """

    name: ClassVar[str]
    game: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    observer: ClassVar[str] = "public"
    Settings: ClassVar[type[Settings]] = Settings

    def __init__(self, **settings: Any) -> None:
        self.settings = self.Settings.checked(f"attack '{self.name}'", settings)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self.settings.model_dump().items())
        return f"{type(self).__name__}({inside})"

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        """Settings that a preset changes."""
        return {}

    def why_not(self, view: View) -> str | None:
        """Why this attack cannot be mounted from a view, or None if it can."""
        for kind in self.needs:
            if not view.of_kind(kind):
                return f"the observer '{view.observer}' sees no '{kind}' message"
        return None

    @final
    def __call__(self, view: View, knowledge: Knowledge, seed: np.random.SeedSequence) -> Scores:
        """Attacks.

        Raises:
            InputError: the view does not hold what the attack needs.
        """
        reason = self.why_not(view)
        if reason is not None:
            raise InputError(f"the attack '{self.name}' does not apply: {reason}")
        with seeded(branch(seed, self.name)):
            return self._scores(knowledge, self.score(view, knowledge))

    @final
    def blind(self, knowledge: Knowledge, seed: np.random.SeedSequence) -> Scores:
        """The blind baseline: what the same attack features reach without the release."""
        with seeded(branch(seed, self.name, "blind")):
            return self._scores(knowledge, self.blind_score(knowledge))

    @abstractmethod
    def score(self, view: View, knowledge: Knowledge) -> Tensor:
        """One score per subject, in the order of ``knowledge.subjects``, [s]."""

    @abstractmethod
    def blind_score(self, knowledge: Knowledge) -> Tensor:
        """One score per subject from prior knowledge alone, [s]."""

    def _scores(self, knowledge: Knowledge, score: Tensor) -> Scores:
        if score.shape != knowledge.subjects.shape or not bool(torch.isfinite(score).all()):
            raise RuntimeError(f"the attack '{self.name}' must give one finite score per subject")
        return Scores(knowledge.subjects.cpu().numpy(), score.detach().double().cpu().numpy())

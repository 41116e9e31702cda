"""What an attack is: a view and declared prior knowledge in, one score per subject out."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, final

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..randomness import branch, seeded
from ..settings import Configured
from ..targets.games.identities import Background
from ..targets.games.links import Links
from ..targets.messages import Carrying, kinds_of
from ..targets.models.training_config import TrainingConfig
from ..targets.transcript import View

Neighbours = Literal["true", "partial", "none", "apart"]
SMALLEST_SHADOW = 8
QUERIES = {
    "true": "all edges",
    "partial": "a random half of the edges",
    "none": "no edge",
    "apart": "the edges that do not cross between members and non-members, as only the model's owner can",
}


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What the adversary knows beforehand. Node ids are drawn anew for each trial and say nothing.

    Attributes:
        x: features of all nodes that it can query, [n, d].
        edges: the edges that it puts into its queries, both directions [2, e].
        neighbours: what these are: the true ones, a random half of them, or none; ``apart`` where it is the
            owner who asks, leaving out edges between members and non-members.
        labels: labels that it knows, -1 elsewhere, [n].
        subjects: the nodes in question, [s].
        shadow: nodes of its own, disjoint from the target's train and test nodes, labels known.
        shadow_edges: the edges among them, [2, e'].
        members: how many subjects are members (their number, not which).
        classes: number of classes.
        knows_defense: whether it adapts to the defense in place.
        game: the game that is played.
        recipe: how the target's models are trained, where that is known.
        auditor: whether it knows the labels of the subjects and all edges, as an auditor does who trains shadow
            models on the very nodes in question. Which of them are members it does not know.
        population: nodes of its own that no shadow model is trained on; never members, [z].
        all_edges: every edge, for an auditor; else none, [2, e].
        seed: randomness that its attacks share, so that they share shadow models too.
        links: what it knows of links, in the game of links; subjects are codes of pairs then (`pair_codes.codes`).
        background: what it knows of people, in the game of identities; subjects are codes of pairs of a person and
            a published node then.
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
    game: str = "label-membership"
    recipe: TrainingConfig | None = None
    auditor: bool = False
    population: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    all_edges: Tensor = field(default_factory=lambda: torch.empty((2, 0), dtype=torch.long))
    seed: np.random.SeedSequence = field(default_factory=lambda: np.random.SeedSequence(0))
    links: Links | None = None
    background: Background | None = None

    def to(self, device: str) -> "Knowledge":
        """The same on another device."""
        own: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        moved: dict[str, Any] = {k: v.to(device) if isinstance(v, Tensor | Links) else v for k, v in own.items()}
        return Knowledge(**moved)

    def sentence(self) -> str:
        """What the report prints: the adversary's prior knowledge in words."""
        if self.links is not None:
            return self._of_links(self.links)
        if self.background is not None:
            return self.background.sentence
        if not len(self.x):
            return "knows no node, only what each upload says of itself"
        labels = ", the labels of all of these and every edge" if self.auditor else ""
        return (
            f"knows the features of all {len(self.x)} nodes and asks with {QUERIES[self.neighbours]}, "
            f"knows that {self.members} of {len(self.subjects)} nodes are members{labels}, "
            f"owns {len(self.shadow)} labelled nodes of the same distribution"
            f"{f' and {len(self.population)} that no model is trained on' if self.auditor else ''}, "
            f"{'knows how the model was trained, ' if self.recipe is not None else ''}"
            f"{'knows' if self.knows_defense else 'does not know'} the defense"
        )

    def _of_links(self, links: Links) -> str:
        known, nodes = links.known.shape[1], len(self.x)
        counts = " or ".join(map(str, sorted(set(links.counts.tolist()))))
        if links.named:
            where = f"which published node each of {nodes} nodes is, and that {counts} edges are secret"
        else:
            where = f"which of the {links.parties} clients holds which, and that each has {counts} edges"
        return (
            f"knows {f'features and classes of all {nodes} nodes, ' if links.featured else ''}{where}"
            f"{f', {known} of the edges and as many pairs that are none' if known else ', no single edge'}, "
            f"{'knows' if self.knows_defense else 'does not know'} the defense"
        )


@dataclass(frozen=True)
class Scores:
    """An attack's guesses: the higher the score, the likelier a member."""

    subjects: np.ndarray
    score: np.ndarray
    accuracies: tuple[float, float] | None = None
    """Of the target and of the shadow models on the same nodes, where there are any."""


class Attack(Configured, ABC):
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
    first_rounds: ClassVar[float] = math.inf
    planted: ClassVar[str] = "planted"
    knows_links: float = 0.0
    """Share of the edges in question that it must know beforehand, in [0, 1)."""
    accuracies: tuple[float, float] | None = None
    """Noted by a subclass with shadow models, see `Scores`."""

    @classmethod
    def preset(cls, preset: str) -> dict[str, Any]:
        """Settings that a preset changes."""
        return {}

    @classmethod
    def kinds(cls) -> tuple[str, ...]:
        """Message kinds that the transcript must keep for it."""
        return kinds_of((*cls.needs, *cls.any_of, *cls.uses))

    def reads(self) -> tuple[str, ...]:
        """Message kinds that it reads with its settings."""
        return self.kinds()

    def why_not(self, view: View, knowledge: Knowledge) -> str | None:
        """Why this attack cannot be mounted from a view with some knowledge, or None if it can."""
        for need in self.needs:
            if not view.carrying(need):
                return f"the observer '{view.observer}' sees no {need}"
        if self.any_of and not any(view.carrying(sort) for sort in self.any_of):
            return f"the observer '{view.observer}' sees neither {' nor '.join(map(str, self.any_of))}"
        if knowledge.game not in self.games:
            return f"it plays {' and '.join(self.games)}, not {knowledge.game}"
        if self.auditor and not knowledge.auditor:
            return "it needs an auditor's knowledge: the labels of the nodes in question and all edges"
        if self.own_data and len(knowledge.shadow) < SMALLEST_SHADOW:
            return (
                f"only {len(knowledge.shadow)} nodes are neither members nor non-members in question, a shadow "
                f"model needs {SMALLEST_SHADOW}: leave more nodes out of the masks"
            )
        return None

    @final
    def __call__(self, view: View, knowledge: Knowledge, seed: np.random.SeedSequence) -> Scores:
        """Attacks.

        Raises:
            InputError: the view does not hold what the attack needs.
        """
        reason = self.why_not(view, knowledge)
        if reason is not None:
            raise InputError(f"the attack '{self.name}' does not apply: {reason}")
        self.accuracies = None
        with seeded(branch(seed, self.name)):
            return self._scores(knowledge, self.score(view, knowledge))

    @final
    def blind(self, knowledge: Knowledge, seed: np.random.SeedSequence) -> Scores:
        """The blind baseline: what the same attack features reach without the release."""
        self.accuracies = None
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
        told = score.detach().double().cpu().numpy()
        return Scores(knowledge.subjects.cpu().numpy(), told, self.accuracies)

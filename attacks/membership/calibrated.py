"""Attacks that compare the target's answer about a node with what shadow models answer about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...targets.games.membership import NodeKnowledge
from ...targets.transcript import View
from .adaptive import adaptive_knowledge
from .query_attack import ShadowModelAttack, combined, query
from .shadow_models import ShadowModels
from .signals import as_told, log_confidence, margin

if TYPE_CHECKING:
    from torch import Tensor

    Read = Callable[[Tensor, Tensor], np.ndarray]
    """Logits [s, C] and labels [s] to one number for each node, [s]."""


@dataclass(frozen=True, eq=False)
class OneByOne:
    """What shadow models say about some nodes, logits [s, C] each: never there all at once.

    Attributes:
        ask: asks one after the other, whenever somebody wants to read their answers.
        kept: what was read before.
    """

    ask: Callable[[], Iterator[Tensor]]
    kept: dict[Read, np.ndarray] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Tensor]:
        return self.ask()

    def read(self, how: Read, labels: Tensor) -> np.ndarray:
        """One number for each model and node [K, s]; the labels must be the same each time."""
        if how not in self.kept:
            self.kept[how] = np.stack([how(told, labels) for told in self])
        return self.kept[how]


@dataclass(frozen=True)
class Answers:
    """What target and shadow models said about some nodes; logits, with the labels known.

    Attributes:
        target: [s, C].
        shadows: [K, s, C], or asked when they are read.
        inside: which shadows trained on each node, [K, s].
        labels: [s].
    """

    target: Tensor
    shadows: Tensor | OneByOne
    inside: np.ndarray
    labels: Tensor

    def right(self, told: Iterable[Tensor]) -> float:
        """The share of right predictions among answers [s, C] of some models."""
        return float(np.mean([_is_right(one, self.labels) for one in told]))

    def margins(self) -> tuple[np.ndarray, np.ndarray]:
        """`margin` of the target [s] and of the shadows [K, s]."""
        return margin(self.target, self.labels), self._read(margin)

    def log_confidences(self) -> tuple[np.ndarray, np.ndarray]:
        """`log_confidence` of the target [s] and of the shadows [K, s]."""
        return log_confidence(self.target, self.labels), self._read(log_confidence)

    def _read(self, how: Read) -> np.ndarray:
        told = self.shadows
        return told.read(how, self.labels) if isinstance(told, OneByOne) else how(told, self.labels)


def _is_right(told: Tensor, labels: Tensor) -> np.ndarray:
    right: np.ndarray = (told.argmax(-1) == labels).cpu().numpy()
    return right


@dataclass(frozen=True)
class Evidence:
    """All that a calibrated attack judges by.

    Attributes:
        subjects: answers about the nodes in question.
        population: answers about nodes that nobody trained on, or None where the target was not asked.
        pool: gives the shadows' answers about the nodes that their masks are drawn from (its target is unused);
            only attacks that tune something ask.
        rounds: the round of masks of each shadow model, [K].
    """

    subjects: Answers
    population: Answers | None
    pool: Callable[[], Answers]
    rounds: np.ndarray


class Calibrated(ShadowModelAttack):
    """Base of attacks that judge a node by what target and shadow models say of it. A subclass writes `judge`.

    Where several models answer (rounds of uploads, models trained on a release), each is judged by itself; scores
    are averaged over one sender's models, and a node's score is its highest over senders.
    """

    offline: ClassVar[bool] = False

    @abstractmethod
    def judge(self, evidence: Evidence) -> np.ndarray:
        """One score per subject [s]."""

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        knowledge = adaptive_knowledge(view, knowledge)
        asked = self.victim(view, knowledge)
        nodes = knowledge.subjects
        if len(knowledge.population) and asked.covers(knowledge.population):
            nodes = torch.cat([nodes, knowledge.population])
        told = asked.ask(knowledge.x, knowledge.edges, nodes)
        return torch.from_numpy(combined(self._judged(knowledge, told, self.step(asked)), asked.sources))

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """The target is a model that was trained on other nodes drawn at random: it knows nothing of the truth."""
        import torch

        nodes = torch.cat([knowledge.subjects, knowledge.population])
        told = self.shadow_models(knowledge).ask_reference(query(knowledge, nodes)).to(knowledge.x.device)
        return torch.from_numpy(self._judged(knowledge, told, self.step())[0])

    def trains_apart(self, knowledge: NodeKnowledge) -> bool:
        """Offline attacks train on the adversary's own nodes where it has as many as there are members.

        Else (all nodes are in question) they use the models that are OUT for a node, as the offline setting of
        Carlini et al. does.
        """
        return self.offline and len(knowledge.shadow) >= knowledge.members

    def _judged(self, knowledge: NodeKnowledge, told: Tensor, step: float) -> np.ndarray:
        """Scores [R, s] of what R models said about the subjects and, where it goes on, the population.

        The target's answers and the shadows' are read in the same steps.
        """
        pool, count = self.shadow_models(knowledge), len(knowledge.subjects)
        told = as_told(told, step)
        subjects = self._references(knowledge, pool, knowledge.subjects, step)
        population = (
            self._references(knowledge, pool, knowledge.population, step) if told.shape[1] > count else None
        )
        same = subjects if population is None else population
        if population is not None or not self.trains_apart(knowledge):
            self.accuracies = same.right(told[:, -len(same.labels) :]), same.right(same.shadows)
        ours = partial(self._references, knowledge, pool, pool.pool.to(knowledge.x.device), step)
        scores = []
        for model in told:
            asked = None if population is None else replace(population, target=model[count:])
            evidence = Evidence(replace(subjects, target=model[:count]), asked, ours, pool.round)
            scores.append(self.judge(evidence))
        return np.stack(scores)

    @staticmethod
    def _references(knowledge: NodeKnowledge, pool: ShadowModels, nodes: Tensor, step: float) -> Answers:
        """What the shadows say; the target's part is left empty."""
        import torch

        asked = query(knowledge, nodes)

        def told() -> Iterator[Tensor]:
            return (as_told(one.to(nodes.device), step) for one in pool.each(asked))

        nothing = torch.zeros(len(nodes), knowledge.classes, device=nodes.device)
        return Answers(nothing, OneByOne(told), pool.inside[:, nodes.cpu().numpy()], knowledge.labels[nodes])

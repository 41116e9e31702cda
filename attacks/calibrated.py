"""Attacks that compare the target's answer about a node with what shadow models answer about it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ..targets.defense import Settings
from ..targets.encoder import ENCODER_KIND
from ..targets.recipe import Recipe
from ..targets.shadow_task import Query
from ..targets.transcript import View
from .adapted import adapted
from .attack import Attack, Knowledge
from .query import ModelSettings
from .shadows import Shadows, shadows
from .signals import hardened, log_confidence, margin
from .victim import ARTEFACT_KINDS, Artefact, victim


class AskingSettings(Settings):
    """Settings of attacks that ask a model."""

    artefact: Artefact = Field(
        "auto", description="what answers: model, updates, posteriors, labels, release (the last) or releases"
    )
    labels_only: bool = Field(False, description="use nothing of an answer but its label")
    model: ModelSettings = Field(ModelSettings(), description="of models trained on a released graph")
    release_models: int = Field(4, ge=1, description="how many of these")


class CalibratedSettings(AskingSettings):
    """Settings of attacks with shadow models."""

    shadows: int = Field(16, ge=4, description="shadow models, at least: four are needed to tell any spread")


@dataclass(frozen=True)
class Answers:
    """What target and shadow models said about some nodes; logits, with the labels known.

    Attributes:
        target: [s, C].
        shadows: [K, s, C].
        inside: which shadows trained on each node, [K, s].
        labels: [s].
    """

    target: Tensor
    shadows: Tensor
    inside: np.ndarray
    labels: Tensor

    def margins(self) -> tuple[np.ndarray, np.ndarray]:
        """`margin` of the target [s] and of the shadows [K, s]."""
        return margin(self.target, self.labels), margin(self.shadows, self.labels)

    def log_confidences(self) -> tuple[np.ndarray, np.ndarray]:
        """`log_confidence` of the target [s] and of the shadows [K, s]."""
        return log_confidence(self.target, self.labels), log_confidence(self.shadows, self.labels)


@dataclass(frozen=True)
class Evidence:
    """All that a calibrated attack judges by.

    Attributes:
        subjects: answers about the nodes in question.
        population: answers about nodes that nobody trained on, or None where the target was not asked.
        pool: the shadows' answers about the nodes that their masks are drawn from (its target is unused).
        rounds: the round of masks of each shadow model, [K].
    """

    subjects: Answers
    population: Answers | None
    pool: Answers
    rounds: np.ndarray


class Calibrated(Attack):
    """Base of attacks with shadow models. A subclass writes `judge`.

    Where several models answer (rounds of uploads, models trained on a release), each is judged by itself; scores
    are averaged over one sender's models, and a node's score is its highest over senders.
    """

    any_of = ARTEFACT_KINDS
    uses = (ENCODER_KIND,)
    auditor = True
    offline: ClassVar[bool] = False
    Settings = CalibratedSettings
    settings: CalibratedSettings

    @abstractmethod
    def judge(self, evidence: Evidence) -> np.ndarray:
        """One score per subject [s]."""

    @classmethod
    def preset(cls, preset: str) -> dict[str, object]:
        return {"shadows": 64} if preset == "paper" else {}

    def score(self, view: View, knowledge: Knowledge) -> Tensor:
        s, knowledge = self.settings, adapted(view, knowledge)
        recipe = shadow_recipe(knowledge, s.model)
        asked = victim(view, knowledge, s.artefact, recipe, s.model, s.release_models)
        nodes = knowledge.subjects
        if len(knowledge.population) and asked.covers(knowledge.population):
            nodes = torch.cat([nodes, knowledge.population])
        told = asked.ask(knowledge.x, knowledge.edges, nodes)
        hard = s.labels_only or asked.labels_only
        return torch.from_numpy(combined(self._judged(knowledge, told, hard), asked.sources))

    def blind_score(self, knowledge: Knowledge) -> Tensor:
        """The target is a model that was trained on other nodes drawn at random: it knows nothing of the truth."""
        nodes = torch.cat([knowledge.subjects, knowledge.population])
        told = self._shadows(knowledge).ask_stranger(query(knowledge, nodes)).to(knowledge.x.device)
        return torch.from_numpy(self._judged(knowledge, told, self.settings.labels_only)[0])

    def _own_data(self, knowledge: Knowledge) -> bool:
        """Offline attacks train on the adversary's own nodes where it has as many as there are members.

        Else (all nodes are in question) they use the models that are OUT for a node, as the offline setting of
        Carlini et al. does.
        """
        return self.offline and len(knowledge.shadow) >= knowledge.members

    def _shadows(self, knowledge: Knowledge) -> Shadows:
        recipe = shadow_recipe(knowledge, self.settings.model)
        return shadows(knowledge, recipe, self.settings.shadows, offline=self._own_data(knowledge))

    def _judged(self, knowledge: Knowledge, told: Tensor, hard: bool) -> np.ndarray:
        """Scores [R, s] of what R models said about the subjects and, where it goes on, the population.

        With ``hard`` nothing but labels is used, of the target's answers and of the shadows'.
        """
        pool, count = self._shadows(knowledge), len(knowledge.subjects)
        told = hardened(told) if hard else told
        subjects = self._references(knowledge, pool, knowledge.subjects, hard)
        population = (
            self._references(knowledge, pool, knowledge.population, hard) if told.shape[1] > count else None
        )
        ours = self._references(knowledge, pool, pool.pool.to(knowledge.x.device), hard)
        scores = []
        for model in told:
            asked = None if population is None else replace(population, target=model[count:])
            evidence = Evidence(replace(subjects, target=model[:count]), asked, ours, pool.round)
            scores.append(self.judge(evidence))
        return np.stack(scores)

    @staticmethod
    def _references(knowledge: Knowledge, pool: Shadows, nodes: Tensor, hard: bool) -> Answers:
        """What the shadows say; the target's part is left empty."""
        told = pool.ask(query(knowledge, nodes)).to(nodes.device)
        told = hardened(told) if hard else told
        inside = pool.inside[:, nodes.cpu().numpy()]
        return Answers(torch.zeros_like(told[0]), told, inside, knowledge.labels[nodes])


def query(knowledge: Knowledge, nodes: Tensor) -> Query:
    """The adversary's way to ask."""
    edges = None if knowledge.neighbours == "none" else knowledge.edges.cpu()
    return Query(nodes.cpu(), edges, apart=knowledge.neighbours == "apart")


def shadow_recipe(knowledge: Knowledge, settings: ModelSettings) -> Recipe:
    """The target's recipe where it is known, else that of models trained on a release (FedGC, appendix E)."""
    if knowledge.recipe is not None:
        return knowledge.recipe
    return Recipe(
        architecture="gcn",
        hidden=settings.hidden,
        epochs=settings.epochs,
        lr=settings.lr,
        weight_decay=settings.weight_decay,
        dropout=settings.dropout,
        drop_lr_at=0.5,
        init="gcond",
    )


def combined(scores: np.ndarray, sources: tuple[str, ...]) -> np.ndarray:
    """One score per subject from those of several models [R, s]: mean over a sender's, highest over senders."""
    senders = np.array(sources)
    by_sender = [scores[senders == sender].mean(0) for sender in dict.fromkeys(sources)]
    return cast(np.ndarray, np.max(by_sender, axis=0))

"""What attacks share that put questions to a model, and those that ask shadow models the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from pydantic import Field

from ...settings import Settings
from ...targets.games.graph_membership import GraphMembership
from ...targets.games.membership import NODE_GAMES, NodeKnowledge
from ...targets.messages import QUERY_NAMES, TRANSFORMATION, Carrying, labels_kind, posteriors_kind
from ...targets.models.training_config import TrainingConfig
from ...targets.models.training_task import Query
from ...targets.transcript import View
from ..attack import Attack
from .release_models import ModelSettings
from .shadow_models import ShadowModels, shadow_models
from .victim import ARTEFACTS, Artefact, Victim, asks_release, victim

if TYPE_CHECKING:
    from torch import Tensor


class QueryAttackSettings(Settings):
    """Settings of attacks that ask a model."""

    artefact: Artefact = Field(
        "auto", description="what answers: model, updates, posteriors, labels, release (the last) or releases"
    )
    labels_only: bool = Field(False, description="use nothing of an answer but its label")
    model: ModelSettings = Field(ModelSettings(), description="of models trained on a released graph")
    release_models: int = Field(4, ge=1, description="how many of these")


class QueryAttack(Attack[NodeKnowledge]):
    """Base of attacks that ask whatever answers in a view."""

    games: ClassVar[tuple[str, ...]] = (*NODE_GAMES, GraphMembership.name)
    any_of: ClassVar[tuple[Carrying, ...]] = ARTEFACTS
    uses: ClassVar[tuple[Carrying, ...]] = (TRANSFORMATION,)
    Settings = QueryAttackSettings
    settings: QueryAttackSettings

    @classmethod
    def kinds_for(cls, neighbours: str) -> tuple[str, ...]:
        """Of tables of answers, which may be large, those that answer its own way to ask."""
        others = [query for way, query in QUERY_NAMES.items() if way != neighbours]
        unread = {kind(query) for query in others for kind in (posteriors_kind, labels_kind)}
        return tuple(kind for kind in cls.kinds() if kind not in unread)

    def recipe(self, knowledge: NodeKnowledge) -> TrainingConfig:
        """The target's recipe where it is known, else that of models trained on a release (FedGC, appendix E)."""
        return knowledge.recipe or self.settings.model

    def trains_alike(self, view: View, knowledge: NodeKnowledge) -> bool:
        return not asks_release(view, knowledge, self.settings.artefact)

    def step(self, asked: Victim | None = None) -> float:
        """In what steps of probability answers are read: the target's, or labels alone if so set."""
        return 1.0 if self.settings.labels_only else 0.0 if asked is None else asked.step

    def victim(self, view: View, knowledge: NodeKnowledge, artefact: Artefact | None = None) -> Victim:
        """What is asked: the artefact that the settings name, unless another is given."""
        s = self.settings
        return victim(view, knowledge, artefact or s.artefact, self.recipe(knowledge), s.model, s.release_models)


class ShadowModelAttackSettings(QueryAttackSettings):
    """Settings of attacks with shadow models."""

    shadows: int = Field(16, ge=4, description="shadow models, at least: four are needed to tell any spread")


class ShadowModelAttack(QueryAttack):
    """Base of attacks that compare the target with shadow models, trained on the nodes in question."""

    auditor = True
    dear = "other questions to the shadow models of base-offline"
    Settings = ShadowModelAttackSettings
    settings: ShadowModelAttackSettings

    @classmethod
    def preset(cls, preset: str) -> dict[str, object]:
        return {"shadows": 64} if preset == "paper" else {}

    def shadow_models(self, knowledge: NodeKnowledge) -> ShadowModels:
        """The shadow models."""
        return shadow_models(knowledge, self.recipe(knowledge), self.settings.shadows, self.trains_apart(knowledge))

    @property
    def models(self) -> int:
        return self.settings.shadows + 1  # the first stands for the target in the blind score

    def trains_apart(self, knowledge: NodeKnowledge) -> bool:
        """Whether shadow models are trained on nodes of the adversary's own alone."""
        return False


def query(knowledge: NodeKnowledge, nodes: Tensor) -> Query:
    """The adversary's way to ask."""
    edges = None if knowledge.neighbours == "none" else knowledge.edges.cpu()
    return Query(nodes.cpu(), edges, apart=knowledge.neighbours == "apart")


def combined(scores: np.ndarray, sources: tuple[str, ...]) -> np.ndarray:
    """One score per subject from those of several models [R, s]: mean over a sender's, highest over senders."""
    senders = np.array(sources)
    by_sender = [scores[senders == sender].mean(0) for sender in dict.fromkeys(sources)]
    return cast(np.ndarray, np.max(by_sender, axis=0))

"""Membership from predicted labels alone: how firmly a prediction stands when the question is shaken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ...targets.games.membership import NodeKnowledge
from ...targets.models.training_task import Query
from ...targets.transcript import View
from .adaptive import adaptive_knowledge
from .query_attack import ShadowModelAttack, ShadowModelAttackSettings, combined, query
from .shadow_models import ShadowModels
from .victim import Victim

if TYPE_CHECKING:
    from torch import Tensor


class LabelOnlySettings(ShadowModelAttackSettings):
    """Settings of `LabelOnly`."""

    shakes: int = Field(16, ge=1, description="perturbed queries")
    lost_features: float = Field(0.3, ge=0, lt=1, description="share of features set to zero in each")
    lost_edges: float = Field(0.3, ge=0, lt=1, description="share of edges left out in each")


class LabelOnly(ShadowModelAttack):
    """Right answers to shaken queries, beyond those of models that never saw the node (Choquette-Choo et al. 2021).

    Each query loses some features and some neighbours at random; a label that was learned survives more of them.
    The same queries go to shadow models, and a node's share of right answers is compared with theirs. Where the
    target cannot be asked (a table of labels), the one answer that there is takes the place of the perturbed ones.
    """

    name = "label-only"
    Settings = LabelOnlySettings
    settings: LabelOnlySettings

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        knowledge = adaptive_knowledge(view, knowledge)
        asked, pool = self.victim(view, knowledge), self.shadow_models(knowledge)
        shakes = range(self.settings.shakes)
        queries = [_plain(knowledge)] if asked.fixed else [self._shaken(knowledge) for _ in shakes]
        told = torch.stack([self._right(_asked(asked, q, knowledge), knowledge) for q in queries]).mean(0)
        beyond = told - self._usual(pool, knowledge, queries)
        return torch.from_numpy(combined(beyond.cpu().numpy(), asked.sources))

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """A model that was trained on other nodes drawn at random takes the target's place."""
        import torch

        pool = self.shadow_models(knowledge)
        queries = [self._shaken(knowledge) for _ in range(self.settings.shakes)]
        told = torch.stack([self._right(pool.ask_reference(q), knowledge) for q in queries]).mean(0)[0]
        return told - self._usual(pool, knowledge, queries)

    def _usual(self, pool: ShadowModels, knowledge: NodeKnowledge, queries: list[Query]) -> Tensor:
        """Share of right answers by shadow models that did not train on the node, [s]."""
        import torch

        outside = torch.from_numpy(~pool.inside[:, knowledge.subjects.cpu().numpy()]).to(knowledge.x.device)
        right = torch.stack([self._of_each(pool, q, knowledge) for q in queries]).mean(0)
        usual: Tensor = (right * outside).sum(0) / outside.sum(0).clamp(min=1)
        return usual

    def _of_each(self, pool: ShadowModels, asked: Query, knowledge: NodeKnowledge) -> Tensor:
        """Which answers of the shadow models are right, [K, s]."""
        import torch

        return torch.stack([self._right(told, knowledge) for told in pool.each(asked)])

    @staticmethod
    def _right(logits: Tensor, knowledge: NodeKnowledge) -> Tensor:
        labels = knowledge.labels[knowledge.subjects]
        return (logits.argmax(-1).to(labels.device) == labels).double()

    def _shaken(self, knowledge: NodeKnowledge) -> Query:
        """The plain query without some features and some edges (both directions of an edge go together)."""
        import torch

        x, plain = knowledge.x.cpu(), _plain(knowledge)
        kept = torch.rand(x.shape) >= self.settings.lost_features
        edges = plain.edges
        if edges is not None:
            low, high = edges.min(0).values, edges.max(0).values
            _, place = (low * len(x) + high).unique(return_inverse=True)
            draw = torch.rand(int(place.max()) + 1 if len(place) else 0)
            edges = edges[:, draw[place] >= self.settings.lost_edges]
        return Query(plain.nodes, edges, plain.apart, x * kept)


def _plain(knowledge: NodeKnowledge) -> Query:
    return query(knowledge, knowledge.subjects)


def _asked(asked: Victim, q: Query, knowledge: NodeKnowledge) -> Tensor:
    device = knowledge.x.device
    x = knowledge.x if q.x is None else q.x.to(device)
    edges = knowledge.edges[:, :0] if q.edges is None else q.edges.to(device)
    return asked.ask(x, edges, q.nodes.to(device))

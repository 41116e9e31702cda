"""Membership inference by a classifier of posteriors (Shokri et al. 2017; Salem et al. 2019; FedGC, appendix E)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ...targets.games.membership import NodeKnowledge
from ...targets.messages import RELEASED_GRAPH, TRANSFORMATION, Carrying
from ...targets.models.training import fit
from ...targets.transcript import View
from .adaptive import adaptive_knowledge
from .query_attack import QueryAttack, QueryAttackSettings, combined, query
from .release_models import asked, query_graph, shadow_graph, trained_gcn
from .shadow_models import shadow_models
from .signals import as_told

if TYPE_CHECKING:
    from torch import Tensor, nn

Examples = tuple["Tensor", "Tensor", "Tensor"]
"""Posteriors of nodes of its own [m, C], whether each was trained on [m], posteriors of the subjects [s, C]."""


class ShadowSettings(QueryAttackSettings):
    """Settings of `ShadowMIA`. The papers give the models' kinds; widths and steps of the attack model are ours."""

    features: Literal["posterior", "sorted"] = Field("posterior", description="what the attack model reads")
    per_class: bool = Field(False, description="let it read the predicted class too (Shokri's model per class)")
    release_models: int = Field(1, ge=1, description="models trained on a released graph")
    shadows: int = Field(4, ge=2, description="shadow models where the target's recipe is known; on a release one")
    hidden: int = Field(64, ge=1, description="width of the attack model's two hidden layers")
    epochs: int = Field(200, ge=1, description="of the attack model")
    lr: float = Field(0.01, gt=0)


class ShadowMIA(QueryAttack):
    """Shadow-model membership inference on posteriors, without labels of the nodes in question.

    The adversary trains models on data of its own (the shadow), and a 3-layer perceptron that tells training
    nodes of shadow models from others by their posteriors. It asks the target (or a GCN that it trains on a
    condensed graph, without tuning) about the nodes in question, and lets the perceptron judge.
    """

    name = "mia"
    own_data = True
    Settings = ShadowSettings
    settings: ShadowSettings

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        seen = adaptive_knowledge(view, knowledge)
        posterior, member, _ = self._examples(seen)
        answers = self.victim(view, seen)
        step = self.step(answers)
        judge = self._judge(self._read(posterior, step), member)
        told = answers.ask(seen.x, seen.edges, seen.subjects).softmax(-1)
        scores = torch.stack([self._judged(judge, one, step) for one in told])
        return torch.from_numpy(combined(scores.cpu().numpy(), answers.sources))

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """A shadow model is asked in place of the target: posteriors that no release has shaped."""
        posterior, member, told = self._examples(knowledge)
        step = self.step()
        return self._judged(self._judge(self._read(posterior, step), member), told, step)

    def _examples(self, knowledge: NodeKnowledge) -> Examples:
        known = knowledge.recipe is not None or knowledge.own is not None
        return self._from_recipe(knowledge) if known else self._from_release(knowledge)

    def _from_release(self, knowledge: NodeKnowledge) -> Examples:
        """One shadow GCN on the adversary's own graph, as FedGC has it."""
        import torch

        x = knowledge.x
        near = shadow_graph(knowledge, x, knowledge.shadow_edges)
        y = knowledge.labels[knowledge.shadow]
        share = knowledge.members / len(knowledge.subjects)
        order = torch.randperm(len(y), device=y.device)
        inside = order[: max(round(share * len(y)), 1)]
        shadow = trained_gcn(near.of(inside).compact(), y[inside], knowledge.classes, self.settings.model)
        edges = knowledge.shadow_edges if knowledge.neighbours != "none" else knowledge.shadow_edges[:, :0]
        member = torch.zeros(len(y), device=y.device)
        member[inside] = 1
        subjects = asked(shadow, query_graph(knowledge, x))[knowledge.subjects]
        return asked(shadow, shadow_graph(knowledge, x, edges)), member, subjects

    @property
    def models(self) -> int:
        return self.settings.shadows + 1

    def _from_recipe(self, knowledge: NodeKnowledge) -> Examples:
        """Several shadow models trained as the target is, on the adversary's own nodes."""
        import torch

        pool = shadow_models(knowledge, self.recipe(knowledge), self.settings.shadows, offline=True)
        posterior = pool.ask(query(knowledge, pool.pool)).softmax(-1).flatten(0, 1)
        member = torch.from_numpy(pool.inside[:, pool.pool.numpy()]).flatten().float()
        subjects = pool.ask_reference(query(knowledge, knowledge.subjects))[0].softmax(-1)
        device = knowledge.x.device
        return posterior.to(device), member.to(device), subjects.to(device)

    def _judge(self, features: Tensor, member: Tensor) -> nn.Module:
        """A 3-layer perceptron trained to tell members; both sides weigh the same."""
        from torch import nn
        from torch.nn import functional as F

        h = self.settings.hidden
        model = nn.Sequential(
            nn.Linear(features.shape[1], h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1)
        ).to(features.device)
        balance = (1 - member).sum() / member.sum()
        fit(
            model,
            lambda: F.binary_cross_entropy_with_logits(model(features).squeeze(1), member, pos_weight=balance),
            epochs=self.settings.epochs,
            lr=self.settings.lr,
            weight_decay=5e-4,
        )
        return model

    def _read(self, posterior: Tensor, step: float) -> Tensor:
        """What the perceptron reads of posteriors [m, C] that are told in some step."""
        import torch
        from torch.nn import functional as F

        predicted = F.one_hot(posterior.argmax(1), posterior.shape[1]).to(posterior)
        if step >= 1:
            return predicted
        if step > 0:
            posterior = as_told(posterior.clamp_min(1e-30).log(), step).softmax(-1)
        if self.settings.features == "sorted":
            posterior = posterior.sort(1, descending=True).values
        return torch.cat([posterior, predicted], dim=1) if self.settings.per_class else posterior

    def _judged(self, judge: nn.Module, posterior: Tensor, step: float) -> Tensor:
        import torch

        with torch.no_grad():
            return judge(self._read(posterior, step)).squeeze(1)  # type: ignore[no-any-return]


class AdaptiveShadowMIA(ShadowMIA):
    """Shadow-model membership inference by one who knows a client's feature transformation.

    Under the information bottleneck the condensed graph lives in the space of transformed features, so an
    outsider who asks with raw ones meets a mismatch that hides nothing from a curious client: it transforms
    shadow and queried features with its own encoder first. `ShadowMIA` by an observer who holds an encoder does the
    same; this one is refused where there is none.
    """

    name = "mia-adaptive"
    needs: ClassVar[tuple[Carrying, ...]] = (RELEASED_GRAPH, TRANSFORMATION)
    observer = "client:0"

"""Membership inference with one shadow model on a condensed graph (FedGC, section 2 and appendix E)."""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ..targets.backbone import Backbone
from ..targets.condensed import KIND, CondensedGraph
from ..targets.defense import Settings
from ..targets.encoder import ENCODER_KIND, encoded
from ..targets.training import fit
from ..targets.transcript import View
from .attack import Attack, Knowledge
from .query import ModelSettings, asked, query_graph, shadow_graph, trained_gcn, trained_on_release


class ShadowSettings(Settings):
    """Settings of `ShadowMIA`. The paper gives the models' kinds; widths and steps of the attack model are ours."""

    model: ModelSettings = ModelSettings()
    features: Literal["posterior", "sorted"] = Field("posterior", description="what the attack model reads")
    hidden: int = Field(64, ge=1, description="width of the attack model's two hidden layers")
    epochs: int = Field(200, ge=1, description="of the attack model")
    lr: float = Field(0.01, gt=0)


class ShadowMIA(Attack):
    """Shadow-model membership inference on posteriors (label membership).

    The adversary trains a GCN on data of its own (the shadow), and a 3-layer perceptron that tells
    the shadow's training nodes from others by their posteriors. It trains a target GCN on the condensed
    graph, without tuning, asks it for the nodes in question, and lets the perceptron judge.
    """

    name = "mia"
    game = "label-membership"
    needs: ClassVar[tuple[str, ...]] = (KIND,)
    Settings = ShadowSettings
    settings: ShadowSettings

    def score(self, view: View, knowledge: Knowledge) -> Tensor:
        x = self.seen_features(view, knowledge)
        _, judge = self._shadow(knowledge, x)
        release = CondensedGraph.from_tensors(
            view.last(KIND).tensors, features=x.shape[1], classes=knowledge.classes
        )
        target = trained_on_release(release, knowledge.classes, self.settings.model)
        return self._judged(judge, target, knowledge, x)

    def blind_score(self, knowledge: Knowledge) -> Tensor:
        """The shadow model is asked in place of the target: posteriors that no release has shaped."""
        shadow, judge = self._shadow(knowledge, knowledge.x)
        return self._judged(judge, shadow, knowledge, knowledge.x)

    def seen_features(self, view: View, knowledge: Knowledge) -> Tensor:
        """The features that the adversary feeds into models, [n, d]."""
        return knowledge.x

    def _shadow(self, knowledge: Knowledge, x: Tensor) -> tuple[Backbone, nn.Module]:
        """A shadow model, and the attack model that learned from it."""
        near = shadow_graph(knowledge, x, knowledge.shadow_edges)
        y = knowledge.labels[knowledge.shadow]
        share = knowledge.members / len(knowledge.subjects)
        order = torch.randperm(len(y), device=y.device)
        inside = order[: max(round(share * len(y)), 1)]
        shadow = trained_gcn(near.of(inside).compact(), y[inside], knowledge.classes, self.settings.model)
        edges = knowledge.shadow_edges if knowledge.neighbours != "none" else knowledge.shadow_edges[:, :0]
        posterior = asked(shadow, shadow_graph(knowledge, x, edges))
        member = torch.zeros(len(y), device=y.device)
        member[inside] = 1
        return shadow, self._judge(self._read(posterior), member)

    def _judge(self, features: Tensor, member: Tensor) -> nn.Module:
        """A 3-layer perceptron trained to tell members; both sides weigh the same."""
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

    def _read(self, posterior: Tensor) -> Tensor:
        return posterior.sort(1, descending=True).values if self.settings.features == "sorted" else posterior

    def _judged(self, judge: nn.Module, model: Backbone, knowledge: Knowledge, x: Tensor) -> Tensor:
        posterior = asked(model, query_graph(knowledge, x))[knowledge.subjects]
        with torch.no_grad():
            return judge(self._read(posterior)).squeeze(1)  # type: ignore[no-any-return]


class AdaptiveShadowMIA(ShadowMIA):
    """Shadow-model membership inference by one who knows a client's feature transformation.

    Under the information bottleneck the condensed graph lives in the space of transformed features, so an
    outsider who asks with raw ones meets a mismatch that hides nothing from a curious client: it transforms
    shadow and queried features with its own encoder first.
    """

    name = "mia-adaptive"
    needs: ClassVar[tuple[str, ...]] = (KIND, ENCODER_KIND)
    observer = "client:0"

    def seen_features(self, view: View, knowledge: Knowledge) -> Tensor:
        return encoded(knowledge.x, knowledge.edges, view.last(ENCODER_KIND).tensors)

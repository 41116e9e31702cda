"""Membership from the loss: as it is, or compared with how hard the node is for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...targets.games.membership import NodeKnowledge
from ...targets.messages import ANSWERS, Carries, Carrying
from ...targets.transcript import View
from .adaptive import adaptive_knowledge
from .calibrated import Calibrated, Evidence
from .query_attack import QueryAttack, combined, query
from .shadow_models import reference_model
from .signals import as_told, log_confidence
from .victim import weights_in

if TYPE_CHECKING:
    from torch import Tensor

POOL = 4
"""Shadow models beside which the one is drawn that stands for the target; it alone is trained."""


class Loss(QueryAttack):
    """Low loss, likely member (Yeom et al. 2018): the score is log p(y) of the target alone."""

    name = "loss"
    cheap = (Carrying.any_of(Carries.CLASSIFIER), ANSWERS)
    auditor = True

    @property
    def models(self) -> int:
        return 1

    def trains_alike(self, view: View, knowledge: NodeKnowledge) -> bool:
        """Only weights need it, to be asked at all; for answers models are trained for its baseline alone."""
        return bool(weights_in(view, self.settings.artefact))

    def score(self, view: View, knowledge: NodeKnowledge) -> Tensor:
        import torch

        knowledge = adaptive_knowledge(view, knowledge)
        asked = self.victim(view, knowledge)
        told = asked.ask(knowledge.x, knowledge.edges, knowledge.subjects)
        return torch.from_numpy(combined(self._read(told, knowledge, self.step(asked)), asked.sources))

    def blind_score(self, knowledge: NodeKnowledge) -> Tensor:
        """The loss under a model that was trained on other nodes drawn at random."""
        import torch

        stranger = reference_model(knowledge, self.recipe(knowledge), POOL, offline=False)
        told = stranger.ask_reference(query(knowledge, knowledge.subjects))
        return torch.from_numpy(self._read(told, knowledge, self.step())[0])

    def _read(self, told: Tensor, knowledge: NodeKnowledge, step: float) -> np.ndarray:
        return log_confidence(as_told(told, step), knowledge.labels[knowledge.subjects].to(told.device))


class CalibratedLoss(Calibrated):
    """Loss minus difficulty (Watson et al. 2022): log p(y) less its mean over models that never saw the node."""

    name = "loss-calibrated"
    offline = True

    def judge(self, evidence: Evidence) -> np.ndarray:
        target, shadow = evidence.subjects.log_confidences()
        outside = ~evidence.subjects.inside
        used = np.where(outside.any(0), outside, True)
        difficulty = np.where(used, shadow, 0).sum(0) / used.sum(0)
        easier: np.ndarray = target - difficulty
        return easier

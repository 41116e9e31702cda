"""Membership from the loss: as it is, or compared with how hard the node is for others."""

import numpy as np
import torch
from torch import Tensor

from ..targets.encoder import ENCODER_KIND
from ..targets.transcript import View
from .adapted import adapted
from .attack import Attack, Knowledge
from .calibrated import AskingSettings, Calibrated, Evidence, combined, query, shadow_recipe
from .shadows import shadows
from .signals import hardened, log_confidence
from .victim import ARTEFACT_KINDS, victim


class Loss(Attack):
    """Low loss, likely member (Yeom et al. 2018): the score is log p(y) of the target alone."""

    name = "loss"
    any_of = ARTEFACT_KINDS
    uses = (ENCODER_KIND,)
    auditor = True
    Settings = AskingSettings
    settings: AskingSettings

    def score(self, view: View, knowledge: Knowledge) -> Tensor:
        s, knowledge = self.settings, adapted(view, knowledge)
        asked = victim(view, knowledge, s.artefact, shadow_recipe(knowledge, s.model), s.model, s.release_models)
        told = asked.ask(knowledge.x, knowledge.edges, knowledge.subjects)
        return torch.from_numpy(combined(self._read(told, knowledge), asked.sources))

    def blind_score(self, knowledge: Knowledge) -> Tensor:
        """The loss under a model that was trained on other nodes drawn at random."""
        stranger = shadows(knowledge, shadow_recipe(knowledge, self.settings.model), 4, offline=False)
        return torch.from_numpy(
            self._read(stranger.ask_stranger(query(knowledge, knowledge.subjects)), knowledge)[0]
        )

    def _read(self, told: Tensor, knowledge: Knowledge) -> np.ndarray:
        if self.settings.labels_only:
            told = hardened(told)
        return log_confidence(told, knowledge.labels[knowledge.subjects].to(told.device))


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

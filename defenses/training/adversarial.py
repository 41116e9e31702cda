"""Adversarial regularisation against membership inference (Nasr, Shokri and Houmansadr, CCS 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...randomness import seeded
from ...settings import Settings
from ...targets.defense import Defense, LossTerm
from ...targets.party import Client

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class AdversarialSettings(Settings):
    """Settings of `AdversarialRegularisation`. FedGC names the method but gives no numbers: these are ours."""

    weight: float = Field(1.0, ge=0, description="lambda, weight of the inference model's gain")
    hidden: int = Field(64, ge=1)
    lr: float = Field(1e-3, gt=0)
    steps: int = Field(1, ge=1, description="steps of the inference model per answer")


class AdversarialRegularisation(Defense):
    """Adds to each client's loss what a local membership inference model gains from the posteriors.

    Per answer the inference model h first learns to tell the client's labelled nodes from its validation
    nodes by posterior and label; then the loss becomes cross-entropy + weight * mean log h (Nasr et al., Eq. 5).
    Members and reference are the client's own; nothing else is shared.
    """

    name = "adversarial-regularisation"
    phrase = "with adversarial regularisation"
    strength = "weight"
    sweep = (0.3, 1.0, 3.0)
    alternative = "fewer-labels"
    Settings = AdversarialSettings
    settings: AdversarialSettings

    def on_training(self, client: Client, seed: np.random.SeedSequence) -> LossTerm | None:
        if not bool(client.val.any()):
            return None  # no reference to tell members from: the term is undefined
        return _InferenceGain(self.settings, client.classes, client.x.device, seed)


class _InferenceGain(LossTerm):
    def __init__(
        self, settings: AdversarialSettings, classes: int, device: torch.device, seed: np.random.SeedSequence
    ) -> None:
        import torch
        from torch import nn

        self.settings = settings
        with seeded(seed):
            self.model = nn.Sequential(
                nn.Linear(2 * classes, settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, 1)
            ).to(device)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=settings.lr)

    def gradient(self, logits: Tensor, labels: Tensor, reference: Tensor, reference_labels: Tensor) -> Tensor:
        import torch
        from torch.nn import functional as F

        for _ in range(self.settings.steps):
            self._learn(logits.detach(), labels, reference.detach(), reference_labels)
        with torch.enable_grad():
            inputs = logits.detach().requires_grad_(True)
            gain = F.logsigmoid(self._guess(inputs, labels)).sum()
            (gradient,) = torch.autograd.grad(gain, inputs)
        return self.settings.weight * gradient

    def _guess(self, logits: Tensor, labels: Tensor) -> Tensor:
        import torch
        from torch.nn import functional as F

        one_hot = F.one_hot(labels, logits.shape[1])
        return self.model(torch.cat([logits.softmax(1), one_hot], dim=1)).squeeze(1)  # type: ignore[no-any-return]

    def _learn(self, logits: Tensor, labels: Tensor, reference: Tensor, reference_labels: Tensor) -> None:
        from torch.nn import functional as F

        loss = -F.logsigmoid(self._guess(logits, labels)).mean()
        loss = loss - F.logsigmoid(-self._guess(reference, reference_labels)).mean()
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()

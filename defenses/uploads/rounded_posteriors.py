"""Posteriors rounded before they are given away: a folk defense."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pydantic import Field

from ...settings import Settings
from ...targets.defense import Defense
from ...targets.messages import Carries, Carrying
from ...targets.transcript import Message

TABLES = Carrying.any_of(Carries.POSTERIORS)


class RoundedPosteriorsSettings(Settings):
    """Settings of `RoundedPosteriors`."""

    step: float = Field(0.1, ge=1e-6, le=1, description="probabilities are multiples of it; 1: labels alone")


class RoundedPosteriors(Defense):
    """Tables of posteriors hold multiples of a step; the likeliest class stays the likeliest.

    Each row is brought back to a sum of 1. What is rounded away was never secret from who holds the model: it
    protects where answers alone are given, and membership shows in labels too.
    """

    name = "rounded-posteriors"
    phrase = "with rounded posteriors"
    strength = "step"
    sweep = (0.01, 0.1, 1.0)
    alternative = "fewer-labels"
    acts_on = TABLES
    Settings = RoundedPosteriorsSettings
    settings: RoundedPosteriorsSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        import torch

        def rounded(message: Message) -> Message:
            if not TABLES.covers(message.kind):
                return message
            exact = message.tensors["posteriors"].double()
            steps = (exact / self.settings.step).round()
            best = torch.nn.functional.one_hot(exact.argmax(1), exact.shape[1])
            steps = torch.maximum(steps, best)  # a row of small probabilities would be empty, or its winner tied
            steps[(steps == (steps * best).sum(1, keepdim=True)) & (best == 0)] -= 1
            told = steps.clamp_min(0) / steps.clamp_min(0).sum(1, keepdim=True)
            return replace(message, tensors={**message.tensors, "posteriors": told.float()})

        return rounded

"""Answers that are never surer than a cap."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from gaudit.plugin import Carries, Carrying, Defense, InputError, Message, Settings, Verified

ANSWERS = Carrying.any_of(Carries.POSTERIORS)
ROUNDING = 1e-6


class CappedPosteriorsSettings(Settings):
    """Settings of `CappedPosteriors`."""

    most: float = Field(0.7, gt=0, lt=1, description="probability of a class that an answer tells at most")


class CappedPosteriors(Defense):
    """Posteriors are mixed with the uniform distribution until no class has more than a cap.

    The likeliest class stays the likeliest, so that whoever wants an answer loses nothing, and answers below the
    cap stay as they are. Answers at the cap still tell which they were.
    """

    name = "capped-posteriors"
    phrase = "with posteriors below a cap"
    strength = "most"
    sweep = (0.9, 0.7, 0.5)
    alternative = "fewer-labels"
    guarantee = "no answer gives a class more than the cap"
    acts_on = ANSWERS
    Settings = CappedPosteriorsSettings
    settings: CappedPosteriorsSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        def capped(message: Message) -> Message:
            if not ANSWERS.covers(message.kind):
                return message
            told = self._capped(message.tensors["posteriors"])
            return replace(message, tensors={**message.tensors, "posteriors": told})

        return capped

    def verify_message(self, before: Message, after: Message) -> Verified | None:
        """No answer is above the cap."""
        told = after.tensors["posteriors"]
        above = int((told.max(1).values > self.settings.most + ROUNDING).sum())
        detail = f"{above} of {len(told)} answers give a class more than {self.settings.most}"
        return Verified(str(self.guarantee), above == 0, detail)

    def _capped(self, posteriors: Tensor) -> Tensor:
        most, even = self.settings.most, 1 / posteriors.shape[1]
        if most < even:
            raise InputError(f"most = {most}: with {posteriors.shape[1]} classes some class has {even:.2f} or more")
        above = posteriors.max(1, keepdim=True).values
        share = ((above - most) / (above - even).clamp(min=ROUNDING)).clamp(0, 1)
        mixed: Tensor = torch.lerp(posteriors, torch.full_like(posteriors, even), share)
        return mixed

"""Posteriors of which the largest alone are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...graphs.network import Verified
from ...settings import Settings
from ...targets.defense import Defense
from ...targets.messages import Carries, Carrying
from ...targets.transcript import Message

if TYPE_CHECKING:
    from torch import Tensor

TABLES = Carrying.any_of(Carries.POSTERIORS)


class TopAnswersSettings(Settings):
    """Settings of `TopAnswers`."""

    classes: int = Field(1, ge=1, description="whose probabilities are told; what is left is shared out evenly")


class TopAnswers(Defense):
    """The probabilities of the likeliest classes are told as they are; all others are told to be alike.

    Services that answer with their first guesses do this. The rest sums to what it did, so that the guesses told
    stay the likeliest. For labels without any probability take `rounded-posteriors` with a step of 1.
    """

    name = "top-answers"
    phrase = "with the likeliest classes alone"
    strength = "classes"
    sweep = (3, 2, 1)
    alternative = "fewer-edges"
    acts_on = TABLES
    guarantee = "of each answer no more probabilities than `classes` are told, and the sum of the others"
    Settings = TopAnswersSettings
    settings: TopAnswersSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        def shortened(message: Message) -> Message:
            if not TABLES.covers(message.kind):
                return message
            told = self._told(message.tensors["posteriors"])
            return replace(message, tensors={**message.tensors, "posteriors": told})

        return shortened

    def _told(self, exact: Tensor) -> Tensor:
        k, classes = self.settings.classes, exact.shape[1]
        if k >= classes:
            return exact
        best = exact.argsort(dim=1, descending=True, stable=True)[:, :k]
        kept = exact.gather(1, best)
        rest = (1 - kept.sum(1, keepdim=True)).clamp_min(0) / (classes - k)
        return rest.minimum(kept[:, -1:]).expand_as(exact).scatter(1, best, kept)

    def verify_message(self, before: Message, after: Message) -> Verified | None:
        import torch

        told = after.tensors["posteriors"].sort(1).values
        alike = told[:, : max(0, told.shape[1] - self.settings.classes)]
        wrong = int((alike != alike[:, :1]).any(1).sum())
        best = bool(torch.equal(*(m.tensors["posteriors"].argmax(1) for m in (before, after))))
        largest = [m.tensors["posteriors"].max(1).values for m in (before, after)]
        wrong += int((largest[0] != largest[1]).sum())
        detail = f"{wrong} answers tell more, or another probability of the likeliest class"
        return Verified(str(self.guarantee), wrong == 0 and best, detail)

"""Explanations of which a few entries alone are told: the largest, or as many at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from ...graphs.network import Verified
from ...settings import Settings
from ...targets.defense import Defense
from ...targets.messages import EXPLANATIONS
from ...targets.transcript import Message

if TYPE_CHECKING:
    from torch import Tensor


class TopExplanationsSettings(Settings):
    """Settings of `TopExplanations`."""

    entries: int = Field(10, ge=1, description="of each explanation that are told; all others are 0")
    bits: bool = Field(False, description="tell which they are, and not how large")


class TopExplanations(Defense):
    """The largest entries of each explanation are told, and 0 in place of all others.

    What a reader of an explanation looks at stays. It is no differential privacy: which words are the most
    important follows from the neighbours too.
    """

    name = "top-explanations"
    phrase = "with the largest entries of explanations alone"
    strength = "entries"
    sweep = (30, 10, 3, 1)
    alternative: ClassVar[str | None] = "random-explanations"
    acts_on = EXPLANATIONS
    guarantee = "no explanation has more entries than `entries` that are not 0 (no differential privacy)"
    Settings = TopExplanationsSettings
    settings: TopExplanationsSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        rng = np.random.default_rng(seed)

        def shortened(message: Message) -> Message:
            if not EXPLANATIONS.covers(message.kind):
                return message
            told = message.tensors["explanations"]
            kept = largest(self.ranked_by(told, rng), self.settings.entries) * (told != 0)
            told = kept.to(told) if self.settings.bits else told * kept
            return replace(message, tensors={**message.tensors, "explanations": told})

        return shortened

    def ranked_by(self, told: Tensor, rng: np.random.Generator) -> Tensor:
        """What the entries that are told are the largest by, [s, d]."""
        return told

    def verify_message(self, before: Message, after: Message) -> Verified | None:
        told = (after.tensors["explanations"] != 0).sum(1)
        wrong = int((told > self.settings.entries).sum())
        return Verified(str(self.guarantee), wrong == 0, f"{wrong} explanations have more")


class RandomExplanations(TopExplanations):
    """As many entries of each explanation that are not 0, drawn at random: the trivial alternative."""

    name = "random-explanations"
    phrase = "with random entries of explanations alone"
    alternative = None
    trivial = True

    def ranked_by(self, told: Tensor, rng: np.random.Generator) -> Tensor:
        import torch

        return (told != 0) * torch.from_numpy(1 - rng.random(told.shape, dtype=np.float32)).to(told.device)


def largest(rows: Tensor, count: int) -> Tensor:
    """Which entries are among the ``count`` largest of their row, [s, d] bool; any of those alike."""
    import torch

    places = rows.topk(min(count, rows.shape[1]), dim=1).indices
    return torch.zeros_like(rows, dtype=torch.bool).scatter_(1, places, True)

"""Randomised response on which words an explanation names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pydantic import Field

from ...settings import Settings
from ...targets.defense import Defense
from ...targets.messages import EXPLANATIONS
from ...targets.transcript import Message
from ..local_privacy.edge_response import flip_chance
from .top_explanations import largest


class ExplanationResponseSettings(Settings):
    """Settings of `ExplanationResponse`."""

    epsilon: float = Field(40.0, gt=0, description="per explanation, another one in its place")
    entries: int = Field(10, ge=1, description="largest entries of each explanation that count as named")

    def flip(self, features: int) -> float:
        """Probability that a bit is told wrong, of explanations with so many entries."""
        return flip_chance(self.epsilon / min(2 * self.entries, features))


class ExplanationResponse(Defense):
    """Each explanation becomes one bit for each feature, whether it is among the largest entries; each bit flips.

    Two explanations that name at most k features each differ in at most 2 k bits. With a flip chance of
    1 / (1 + e^(epsilon / 2k)) no explanation is then more than e^epsilon times likelier than any other to give what
    is told: epsilon-differential privacy of one explanation. It is no promise about edges: one edge moves the
    explanations of all nodes within two steps of its ends, and epsilon holds for each of these. Olatunji et al.
    (PoPETs 2023) flip each bit of an explanation with 1 / (1 + e^epsilon): that epsilon is for one bit, and 2 k
    times smaller.

    Explanations are told once; coins of another message would be other ones, and epsilons add up.
    """

    name = "explanation-response"
    phrase = "with randomised response on explanations"
    strength = "epsilon"
    sweep = (160.0, 80.0, 40.0, 20.0)
    alternative = "random-explanations"
    acts_on = EXPLANATIONS
    guarantee = (
        "epsilon-differential privacy of one explanation that is told once, another one in its place (not of an "
        "edge, which shows in all explanations near it; float sampler)"
    )
    Settings = ExplanationResponseSettings
    settings: ExplanationResponseSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        import torch

        rng = np.random.default_rng(seed)

        def flipped(message: Message) -> Message:
            if not EXPLANATIONS.covers(message.kind):
                return message
            told = message.tensors["explanations"]
            named = largest(told, self.settings.entries) & (told != 0)
            wrong = torch.from_numpy(rng.random(told.shape) < self.settings.flip(told.shape[1]))
            bits = (named ^ wrong.to(told.device)).to(told)
            return replace(message, tensors={**message.tensors, "explanations": bits})

        return flipped

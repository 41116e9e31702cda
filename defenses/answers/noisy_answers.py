"""Noise on posteriors before they are given away: fresh for each answer, or frozen to the query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from ...randomness import branch
from ...settings import Settings
from ...targets.defense import Defense
from ...targets.messages import QUERY_NAMES, Carries, Carrying, posteriors_kind
from ...targets.transcript import Message

if TYPE_CHECKING:
    from torch import Tensor

TABLES = Carrying.any_of(Carries.POSTERIORS)
UNCHANGED = posteriors_kind(QUERY_NAMES["true"])
"""The table that also answers a query with features as they are."""
LEAST = 1e-12
"""Probabilities below it count as it where their logarithms get noise."""


class NoisyAnswersSettings(Settings):
    """Settings of `NoisyAnswers`."""

    scale: float = Field(0.01, gt=0, description="deviation of Gaussian noise, b of Laplace noise")
    law: Literal["gaussian", "laplace"] = Field("gaussian", description="of the noise on each number")
    on: Literal["posteriors", "logits"] = Field("posteriors", description="what the noise is added to")
    frozen: bool = Field(True, description="one query gets the same noise each time: asking again tells nothing")


class NoisyAnswers(Defense):
    """Each answered probability, or logit, gets noise of a stated scale; rows are brought back to a sum of 1.

    Fresh noise averages out over answers to one query that is repeated. Frozen noise follows from a secret key,
    the query and the node that is asked about, so a repeated query gets the same answer to the last bit. A query
    that differs in the least gets other noise: whoever multiplies features by 2, 2.1, 2.2, ... averages all the
    same (``probing.spread``).

    Nothing bounds how far one edge moves an answer, so no scale makes this differential privacy of edges.
    """

    name = "noisy-answers"
    phrase = "with noise on answers"
    strength = "scale"
    sweep = (0.001, 0.01, 0.1)
    alternative = "fewer-edges"
    acts_on = TABLES
    guarantee = "where frozen, a query that is repeated gets the same answer (no differential privacy)"
    Settings = NoisyAnswersSettings
    settings: NoisyAnswersSettings

    def on_message(self, seed: np.random.SeedSequence) -> Callable[[Message], Message] | None:
        import torch

        s, fresh = self.settings, np.random.default_rng(branch(seed, "fresh"))

        def noisy(message: Message) -> Message:
            if not TABLES.covers(message.kind):
                return message
            rng = np.random.default_rng(branch(seed, "frozen", query_of(message))) if s.frozen else fresh
            told, nodes = message.tensors["posteriors"], message.tensors["nodes"].cpu()
            rows = int(nodes.max()) + 1 if len(nodes) else 0  # one for each id: asking about fewer changes none
            drawn = s.scale * torch.from_numpy(self._drawn(rng, (rows, told.shape[1])))[nodes]
            changed = self._with(told, drawn.to(told.device))
            return replace(message, tensors={**message.tensors, "posteriors": changed})

        return noisy

    def _drawn(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        return rng.standard_normal(shape) if self.settings.law == "gaussian" else rng.laplace(size=shape)

    def _with(self, told: Tensor, noise: Tensor) -> Tensor:
        """Rows of a sum of 1 near those that were to be told, [k, C]."""
        import torch

        exact = told.double()
        if self.settings.on == "logits":
            return (exact.clamp_min(LEAST).log() + noise).softmax(1).to(told)
        found = (exact + noise).clamp_min(0)
        total = found.sum(1, keepdim=True)
        return torch.where(total > 0, found / total, 1 / told.shape[1]).to(told)


def query_of(message: Message) -> str:
    """What was asked, in words that are the same for the same features on the same graph."""
    told = message.tensors
    if "factors" not in told:
        return "" if message.kind == UNCHANGED else message.kind
    changed = told["factors"] != 1
    pairs = zip(told["nodes"][changed].tolist(), told["factors"][changed].tolist(), strict=True)
    return " ".join(f"{node}:{factor!r}" for node, factor in sorted(pairs))

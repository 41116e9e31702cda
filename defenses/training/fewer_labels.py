"""The trivial alternative to most defenses: train on fewer labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor


class FewerLabelsSettings(Settings):
    """Settings of `FewerLabels`."""

    share: float = Field(0.5, gt=0, le=1, description="share of each class's labelled nodes that is trained on")


class FewerLabels(Defense):
    """Trains on a random share of the labels and forgets the others.

    A label that is not trained on cannot leak, so leakage falls in proportion, and accuracy falls as it may. What
    does not do better than this is no defense. Each client keeps one labelled node of each class that it has at
    least. The others stay in question: their owner does not know which were forgotten.
    """

    name = "fewer-labels"
    phrase = "trained on fewer labels"
    strength = "share"
    sweep = (0.75, 0.5, 0.25)
    trivial = True
    Settings = FewerLabelsSettings
    settings: FewerLabelsSettings

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        import torch

        rng, kept = np.random.default_rng(seed), torch.zeros_like(client.train)
        for label in client.y_train[client.train].unique().tolist():
            nodes = (client.train & (client.y_train == label)).nonzero().flatten()
            count = max(1, round(self.settings.share * len(nodes)))
            kept[nodes[torch.from_numpy(rng.permutation(len(nodes))[:count]).to(nodes.device)]] = True
        return replace(client, train=kept, used=client.used & (kept | ~client.train))

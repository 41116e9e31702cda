"""Pseudo-labels as a defense (Lee 2013; FedGC, baseline 'PL')."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...errors import InputError
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor


class PseudoLabelSettings(Settings):
    """Settings of `PseudoLabels`."""

    share: float = Field(1.0, ge=0, le=1, description="share of the pseudo-labelled nodes that are used")


class PseudoLabels(Defense):
    """Trains on the shared model's labels for unlabelled nodes beside the true ones.

    It narrows the gap between members and non-members by training on both; it hides nothing of a member.
    """

    name = "pseudo-labels"
    phrase = "with pseudo-labels"
    needs_shared_model = True
    strength = "share"
    sweep = (0.25, 0.5, 1.0)
    alternative = "fewer-labels"
    Settings = PseudoLabelSettings
    settings: PseudoLabelSettings

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        import torch

        if shared is None:
            raise InputError("the defense 'pseudo-labels' needs a target that trains a shared model")
        drawn = torch.from_numpy(np.random.default_rng(seed).random(len(client.nodes)) < self.settings.share)
        added = shared.pseudo_labelled[client.number] & drawn.to(client.x.device)
        labels = torch.where(added, shared.pseudo_labels[client.number], client.y)
        return replace(client, y_train=labels, train=client.train | added, used=client.used | added)

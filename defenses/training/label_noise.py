"""Randomised response on the labels that are trained on (Warner 1965; label differential privacy)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...mechanisms.guarantee import Guarantee
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor


class LabelNoiseSettings(Settings):
    """Settings of `LabelNoise`."""

    epsilon: float = Field(2.0, gt=0, description="of the value of one label")


class LabelNoise(Defense):
    """Keeps each label that is trained on with probability e^epsilon / (e^epsilon + C - 1), else draws another.

    So no label's value can be told beyond a factor e^epsilon from anything that is computed of the labels that are
    trained on (Ghazi et al. 2021, section 3). Validation labels stay as they are, and may choose a model or a
    release: they and those of test nodes are taken as public. Whether a node's label was trained on at all is
    another question, which it makes harder without a promise.
    """

    name = "label-noise"
    phrase = "with randomised labels"
    strength = "epsilon"
    sweep = (4.0, 2.0, 1.0)
    alternative = "fewer-labels"
    node_wise = True
    guarantee = (
        "epsilon for the value of one label that is trained on (local, randomised response; labels of validation "
        "and test nodes are public); none for membership"
    )
    Settings = LabelNoiseSettings
    settings: LabelNoiseSettings

    def promise(self) -> Guarantee:
        return Guarantee(
            "node-label",
            "replace",
            "local",
            self.settings.epsilon,
            accountant="randomised response on every label that is trained on, once; float sampler",
            public=("features", "edges", "whose label is trained on", "labels of validation and test nodes"),
            covers="what is computed of the labels that are trained on",
        )

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        import torch

        rng = np.random.default_rng(seed)
        nodes, classes = client.train.nonzero().flatten(), client.classes
        honest = 1 / (1 + (classes - 1) * math.exp(-self.settings.epsilon))
        lies = rng.random(len(nodes)) >= honest
        shift = np.where(lies, rng.integers(1, max(classes, 2), len(nodes)), 0)
        told = client.y_train.clone()
        told[nodes] = (told[nodes] + torch.from_numpy(shift).to(told)) % classes
        return replace(client, y_train=told)

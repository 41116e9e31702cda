"""The trivial alternative to defenses of features: train on none."""

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


class NoFeaturesSettings(Settings):
    """Settings of `NoFeatures`."""

    value: float = Field(
        1.0, description="what every feature of every node becomes; of zeros a model learns nothing"
    )


class NoFeatures(Defense):
    """All features become one public number: what is learned comes from edges and labels alone.

    Features that are not trained on cannot leak through training. Answers on the true ones are published by
    `classifier`, and by `fedavg` and its kin unless ``answer_with`` is ``defended``. What noise on features does no
    better than this is no defense.
    """

    name = "no-features"
    phrase = "trained without features"
    trivial = True
    node_wise = True
    guarantee = (
        "nothing of any node's features is in what is trained (of edges and labels all is; not of answers "
        "computed on the true features)"
    )
    Settings = NoFeaturesSettings
    settings: NoFeaturesSettings

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        import torch

        x = client.x
        return replace(client, x=torch.full(x.shape, self.settings.value, dtype=x.dtype, device=x.device))

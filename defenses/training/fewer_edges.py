"""The trivial alternative to defenses of links: train on fewer edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from ...graphs.pair_codes import codes
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

if TYPE_CHECKING:
    from torch import Tensor


class FewerEdgesSettings(Settings):
    """Settings of `FewerEdges`."""

    share: float = Field(0.5, ge=0, le=1, description="share of a client's own edges that it keeps; 0: none")


class FewerEdges(Defense):
    """Trains on a random share of a client's own edges and forgets the others.

    An edge that is not used cannot leak, so leakage falls in proportion, and accuracy falls towards that of a
    model without a graph. What does not do better than this is no defense of links. The forgotten edges stay
    in question: nobody knows which they are. Edges to other clients stay as they are; both ends know them.
    """

    name = "fewer-edges"
    phrase = "trained on fewer edges"
    strength = "share"
    sweep = (0.75, 0.5, 0.25)
    trivial = True
    Settings = FewerEdgesSettings
    settings: FewerEdgesSettings

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        if self.settings.share == 1:
            return client
        rng, size = np.random.default_rng(seed), len(client.nodes)
        row, col = client.edges.cpu().numpy()
        pairs = np.unique(codes(row, col, size))
        kept = np.sort(rng.permutation(pairs)[: round(self.settings.share * len(pairs))])
        return client.with_edges(kept)

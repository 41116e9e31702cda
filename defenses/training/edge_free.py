"""Condensing as though there were no edges, and using them only when the release is asked."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from pydantic import Field
from torch import Tensor

from ...mechanisms.guarantee import Guarantee
from ...settings import Settings
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client

PUBLIC = ("features", "labels", "who holds which node")


class EdgeFreeSettings(Settings):
    """Settings of `EdgeFree`."""

    across: bool = Field(
        False,
        description="answers also use edges between clients, where the target exchanges features along them: what "
        "is sent for that is in the transcript, and outside of the promise",
    )


class EdgeFree(Defense):
    """Nothing that is trained, sent or released reads an edge; answers are computed on the edges as they are.

    Every party's edges, those to other parties too, are taken away before anything else of the run reads them, so
    whatever the target makes of the rest follows from features and labels alone: two graphs that differ in any
    number of edges send the same, to the last bit. That is an epsilon of 0 for edges, and it needs no noise. Who
    holds the edges then asks the release, or a model trained on it, with them. Answers are not in the promise:
    whoever gives them to others gives away what answers tell of edges.

    A model that never saw propagated features is asked on propagated ones. Where a node's neighbours are mostly of
    its class and few, that costs little; where neighbours are many, or of other classes, it costs more than edges
    bring, and a note of the run says so to the owner. That note is made with edges and is for no one else.
    """

    name = "edge-free"
    phrase = "condensed without edges"
    alternative = "fewer-edges"
    guarantee = (
        "epsilon 0 for edges: what is sent and released is the same whatever edges there are (not answers that are "
        "computed with edges, nor what features and labels tell of edges)"
    )
    Settings = EdgeFreeSettings
    settings: EdgeFreeSettings

    def promise(self) -> Guarantee:
        return Guarantee(
            unit="edge",
            adjacency="add/remove",
            model="local",
            epsilon=0,
            accountant="no edge is read",
            public=PUBLIC,
            covers="what is sent and released before the release is asked",
        )

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        return replace(client, edges=client.edges[:, :0], cut=client.cut[:, :0])

    def asked(self, before: Client, after: Client) -> Client:
        cut = before.cut if self.settings.across else before.cut[:, :0]
        return replace(after, edges=before.edges, cut=cut)

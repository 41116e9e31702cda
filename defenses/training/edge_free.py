"""Condensing from features and labels, without reading an edge; edges are used only when the release is asked."""

from __future__ import annotations

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

PUBLIC = ("features", "labels", "who holds which node")


class EdgeFreeSettings(Settings):
    """Settings of `EdgeFree`."""

    similar: int = Field(
        5,
        ge=0,
        description="instead of its edges, each node is linked to so many others of its party that are most like "
        "it in features (0: to none): a release is made from mixed features, as it will be asked with them",
    )
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

    A model that never saw propagated features would be asked on propagated ones. So nodes are linked to others with
    similar features in the meantime (``similar``), which reads no edge either. Where the real neighbours are of
    other classes, they cost more when asking than they bring, and a note of the run says so to the owner. That note
    is made with edges and is for no one else.
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
        edges = similar_pairs(client.x, self.settings.similar)
        return replace(client, edges=edges, cut=client.cut[:, :0])

    def asked(self, before: Client, after: Client) -> Client:
        cut = before.cut if self.settings.across else before.cut[:, :0]
        return replace(after, edges=before.edges, cut=cut)


def similar_pairs(x: Tensor, neighbours: int) -> Tensor:
    """Links of each row to those that are most like it, by the cosine; a rare column weighs more than a common one.

    Args:
        x: features, one row each; a column weighs by its inverse document frequency, which is 1 if none is zero.
        neighbours: links that each row begins; fewer where fewer rows have anything in common with it.

    Returns:
        pairs of rows, both ways, each once: (2, links).
    """
    import torch
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.neighbors import kneighbors_graph

    neighbours = min(neighbours, len(x) - 1)
    if neighbours < 1:
        return torch.empty((2, 0), dtype=torch.long, device=x.device)
    weighted = TfidfTransformer(norm=None).fit_transform(x.double().cpu().numpy())
    near = kneighbors_graph(weighted, neighbours, mode="distance", metric="cosine").tocoo()
    alike = near.data < 1 - 1e-9  # a cosine of zero is no likeness: the rows share no column
    row, column = near.row[alike], near.col[alike]
    pairs = np.unique(np.stack([np.append(row, column), np.append(column, row)]), axis=1)
    return torch.from_numpy(pairs.astype(np.int64)).to(x.device)

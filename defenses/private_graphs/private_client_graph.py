"""A private graph of each client's own edges, on which the federation trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...graphs.network import Network
from ...graphs.pair_codes import codes, distinct, ends
from ...mechanisms.guarantee import Guarantee
from ...registry import find
from ...targets.defense import Defense, SharedModel
from ...targets.party import Client
from .dp_graph import PrivateGraph, PrivateGraphSettings

if TYPE_CHECKING:
    from torch import Tensor

GraphMechanism = Literal["tmf", "ldpgen", "privgraph"]


class PrivateClientGraphSettings(PrivateGraphSettings):
    """Settings of `PrivateClientGraph`."""

    epsilon: float = Field(4.0, gt=0, description="for one edge of a client more or less, for the whole run")
    mechanism: GraphMechanism = Field(
        "tmf",
        description="which private graph: one of those that keep the nodes, whose features it is trained with; "
        "`dp-1k` and `dp-2k` deal their degrees to nodes at random",
    )


class PrivateClientGraph(Defense):
    """Before anything else, each client puts a private graph in the place of its own, and trains on that.

    A differentially private synthetic graph, then federated learning (Fu et al. 2023, section 4.2). The graph is
    made once a run, by a mechanism that protects edges, and all that a client computes on it keeps the promise:
    epsilon is that of the run and does not grow with rounds. Clients hold different pairs of nodes, so that an edge
    is in one client's graph alone. Edges to other clients are dropped: they leave no trace and need no epsilon.

    Features, labels and the number of nodes are not covered, and neither is what they tell of edges; nor is what a
    pipeline computes on the edges as they were: `fedavg` and its kin publish posteriors on these unless
    ``answer_with`` is ``defended``, or ``publish`` the model alone.
    """

    name = "private-client-graph"
    phrase = "with each client training on a private graph of its own edges"
    strength = "epsilon"
    sweep: ClassVar[tuple[float, ...]] = (8.0, 4.0, 2.0)
    alternative = "fewer-edges"
    guarantee = (
        "epsilon-differential privacy of each client's edges, for the whole run: one edge more or less, for those "
        "who know neither noise nor seed (not of answers computed on the true edges, nor of what features and "
        "labels tell of them)"
    )
    Settings = PrivateClientGraphSettings
    settings: PrivateClientGraphSettings

    def promise(self) -> Guarantee:
        return replace(
            self._mechanism().promise(),
            public=("the client's nodes, features and labels",),
            covers="what is computed on the private graph",
        )

    def on_data(
        self,
        client: Client,
        shared: SharedModel | None,
        seed: np.random.SeedSequence,
        hold: Callable[[str, dict[str, Tensor]], None],
    ) -> Client:
        size = len(client.nodes)
        row, col = client.edges.cpu().numpy()
        own = Network(size, np.stack(ends(distinct(codes(row, col, size)[row != col]), size)))
        low, high = self._mechanism().on_graph(own, seed).edges
        return replace(client.with_edges(codes(low, high, size)), cut=client.cut[:, :0])

    def _mechanism(self) -> PrivateGraph:
        s = self.settings
        made: PrivateGraph = find("defenses", s.mechanism)(epsilon=s.epsilon, fresh=s.fresh)
        return made

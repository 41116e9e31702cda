"""GCFL: clients whose updates point apart are divided into clusters (Xie et al., NeurIPS 2021)."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ..federated.clustering import DivisionRule, DivisionSettings, changes_of, cosine_similarities, cut_in_two
from ..federated.federated_averaging import must_read_uploads
from ..messages import CLUSTERS_KIND, CONVOLUTIONS_UPDATE_KIND, UPDATE_KIND
from .graph_averaging import GraphFederation, GraphFederationRun, GraphFederationSettings


class GcflSettings(DivisionSettings, GraphFederationSettings):
    """Settings of `Gcfl`."""

    shared: Literal["all", "convolutions"] = Field(
        "convolutions", description="what leaves a client: all but the first map and the last one, or all"
    )
    publish: tuple[Literal["posteriors"], ...] = Field(
        ("posteriors",), description="what the public gets in the end: there is no common model"
    )


class GcflRun(GraphFederationRun):
    """A run whose server divides clusters."""

    common_model = False
    settings: GcflSettings

    @cached_property
    def rule(self) -> DivisionRule:
        """When it does; made once, since it remembers the first rounds."""
        return DivisionRule(self.settings)

    def regrouped(
        self, uploads: list[Mapping[str, Tensor]], received: list[Mapping[str, Tensor]], round_: int
    ) -> list[list[int]]:
        found = list[list[int]]()
        for kind in (UPDATE_KIND, CONVOLUTIONS_UPDATE_KIND):
            must_read_uploads(self.channel, kind)
        changes = changes_of(uploads, received)
        self.rule.observe(changes, round_)
        for cluster in self.clusters:
            if self.rule.divides(changes[cluster], round_) and self.may_divide():
                parts = cut_in_two(self.similarities(changes, cluster))
                found.extend([cluster[place] for place in part] for part in parts)
                self.after_division()
            else:
                found.append(cluster)
        return found

    def may_divide(self) -> bool:
        """Whether the server has seen enough."""
        return True

    def similarities(self, changes: Tensor, cluster: list[int]) -> np.ndarray:
        """How alike the clients of a cluster are, by all clients' ``changes`` [K, p]."""
        return cosine_similarities(changes[cluster])

    def after_division(self) -> None:
        """Called when a cluster was divided."""

    def hold_clusters(self, round_: int) -> None:
        number = torch.empty(len(self.clients), dtype=torch.long)
        for at, cluster in enumerate(self.clusters):
            number[cluster] = at
        self.channel.hold(CLUSTERS_KIND, "server", round_, {"cluster": number})

    def figures(self) -> dict[str, float]:
        return {"clusters": float(len(self.clusters))}


class Gcfl(GraphFederation):
    """Clustered federated learning on graphs, by the cosine of updates (Xie et al., NeurIPS 2021).

    Step by step, after the authors' release (``run_gcfl``; the paper's own numbering was not at hand):

    1. All clients begin with the server's graph convolutions; what maps features and classes is each one's own.
       Here the first map is that of the first GIN layer, since in the release a linear layer stands before it and
       nothing comes between the two but a sum over neighbours.
    2. In each round each client k trains one epoch from its cluster's weights and uploads them; the server reads
       the difference dw_k. The release uploads dw_k, which is the same.
    3. A cluster is divided if |mean of dw_k| < e1, max |dw_k| > e2, it has more than two clients, and 20 rounds
       are over: along the minimum cut of the complete graph with weights 1 + cos(dw_i, dw_j) (Stoer-Wagner).
       The release's script sets e1 and e2 for each collection by hand: 0.03 and 0.06 for PROTEINS by 10 clients, up
       to 0.08 and 0.4 for others. Norms depend on width and steps, so that here e1 and e2 are shares (0.3 and 0.4,
       about what 0.03 and 0.06 are of MUTAG's first norms) of the mean of the same norms over the first five
       rounds, and ``thresholds=absolute`` takes them as they are.
    4. Each cluster's weights move by the mean of its dw_k, weighted by graphs: the weighted mean of the uploads.

    Not followed: the release quotes, for each client, the highest test accuracy over the models of all clusters
    that it kept on the way, which is a choice by test graphs. Here a client chooses the round by its validation
    graphs. Dropout is of a graph's row alone, and one linear map follows where the release has two.

    What the server learns beside `graph-fedavg`: who is like whom. Clients are not told.
    """

    name = "gcfl"
    sends: ClassVar[tuple[str, ...]] = (*GraphFederation.sends, CLUSTERS_KIND)
    Settings = GcflSettings
    settings: GcflSettings
    loop: ClassVar[type[GraphFederationRun]] = GcflRun

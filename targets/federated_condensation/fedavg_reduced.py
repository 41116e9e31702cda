"""Federated averaging on graphs that each client reduced: by a coreset, by coarsening or by condensation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from ...randomness import branch
from ..channel import Channel
from ..condensation.central import CentralCondensation, OwnGraph
from ..condensation.coarsening import Coarsening
from ..condensation.condensed import CondensedGraph
from ..condensation.coresets import Herding, KCenter, RandomCoreset
from ..condensation.doscond import DosCond
from ..condensation.gcond import GCond
from ..condensation.gradient_distance import RatioOf, allocate_labels, condensed_size
from ..condensation.sfgc import SFGC
from ..condensation.sgdd import SGDD
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..federated.local_training import Aggregated, Forward, LocalTask
from ..federated.neighbour_exchange import exchange
from ..party import Client

if TYPE_CHECKING:
    from torch_geometric.data import Data

Reduction = Literal["labels", "random", "herding", "k-center", "coarsening", "gcond", "doscond", "sfgc", "sgdd"]
REDUCTIONS: dict[Reduction, type[CentralCondensation]] = {
    "labels": RandomCoreset,
    "random": RandomCoreset,
    "herding": Herding,
    "k-center": KCenter,
    "coarsening": Coarsening,
    "gcond": GCond,
    "doscond": DosCond,
    "sfgc": SFGC,
    "sgdd": SGDD,
}
"""What a client may do; each is a target of its own."""


class FedAvgReducedSettings(FederatedSettings):
    """Settings of `FedAvgReduced`: those of `fedavg`, and of the reduction, at FedC4's middle ratio."""

    architecture: Literal["gcn"] = "gcn"
    upload: Literal["weights"] = "weights"
    reduction: Reduction = Field(
        "random",
        description="what each client makes of its graph; labels: it keeps its graph, and the labels of so many",
    )
    ratio: float = Field(0.04, gt=0, le=1, description="size of what it makes, as a share of ...")
    ratio_of: RatioOf = Field("nodes", description="... its nodes, or its labelled ones")
    reducing: dict[str, Any] = Field({}, description="settings of the reduction itself, as its own target has them")

    @model_validator(mode="after")
    def _reduction_fits(self) -> FedAvgReducedSettings:
        self.reduced_by()
        return self

    def reduced_by(self) -> CentralCondensation:
        """The reduction with its settings."""
        return REDUCTIONS[self.reduction](**self.reducing)


class _ReducedRun(FederatedRun):
    """Attributes: what each client made of its graph, the nodes that a coreset took, and its task then."""

    settings: FedAvgReducedSettings
    reduced: list[CondensedGraph]
    taken: list[Tensor | None]
    small: list[LocalTask]

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        found = super().forwards(clients, channel)
        made = [self._reduced(client) for client in clients]
        self.reduced, self.taken = [part for part, _ in made], [taken for _, taken in made]
        sizes = [len(part.y) for part in self.reduced]
        nodes = sum(len(client.nodes) for client in clients)
        what = "the labels of " if self.settings.reduction == "labels" else ""
        self.notes.append(
            f"clients train on {what}{sum(sizes)} nodes in the place of {nodes}, {min(sizes)} to {max(sizes)} each"
        )
        return found

    def answering(self, clients: list[Client]) -> list[Forward]:
        """The clients' own graphs: nothing is reduced for an answer."""
        return super().forwards(clients, Channel(retain=lambda message: False))

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        """Training on the reduced graphs, all of whose nodes have labels."""
        if round_ == 0 and self.settings.reduction == "labels":
            each = zip(tasks, self.reduced, self.taken, strict=True)
            self.small = [
                replace(task, labelled=taken, labels=part.y) for task, part, taken in each if taken is not None
            ]
        elif round_ == 0:
            self.small = [_task(part) for part in self.reduced]
        return self.small

    def _reduced(self, client: Client) -> tuple[CondensedGraph, Tensor | None]:
        s, number = self.settings, client.number
        (near,) = exchange([client], 0, int(self.data.num_nodes or 0), self.channel, False)
        size = condensed_size(s.ratio, s.ratio_of, len(client.nodes), client.labelled)
        allocate_labels(client.class_counts().cpu(), size)  # or say that a class would be empty
        term = self.defense.on_training(client, branch(self.seed, "term", number))
        change = self.defense.on_gradients(client, branch(self.seed, "gradients", number))
        graph = OwnGraph(client, near, client, near, term, change, size, self.progress)
        *_, (_, last) = s.reduced_by().releases(graph, branch(self.seed, "reduced", number))
        return last, graph.copied


def _task(part: CondensedGraph) -> LocalTask:
    every = torch.arange(len(part.y), device=part.y.device)
    return LocalTask(Aggregated.of(part.neighbourhood()), every, part.y, every[:0], part.y[:0])


class FedAvgReduced(Federated):
    """Federated averaging in which each client trains on a small graph that it made of its own.

    The small graph is a coreset, a coarsened or a condensed graph, made once before the first round by one of the
    targets of that name (columns "FL + Graph Reduction" and "FL + GC" of table 1 of FedC4, Chen et al. 2025). It
    stays with the client; training and messages are those of `fedavg`. The trained model answers on the clients'
    own graphs. Of a condensation the last release is taken: nothing chooses among them. With ``labels`` a client
    keeps its graph and trains on the labels of as many random nodes: what a reduction is worth beside that.
    """

    name = "fedavg-reduced"
    Settings = FedAvgReducedSettings
    settings: FedAvgReducedSettings
    loop = _ReducedRun

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        settings = super().preset(preset, data)
        return settings | ({"ratio": 0.1} if preset == "quick" else {})

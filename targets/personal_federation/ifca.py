"""IFCA: several common models, of which each client trains the one that suits it (Ghosh et al., NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from ..federated.federated_averaging import (
    POSTERIORS_KIND,
    Federated,
    FederatedRun,
    averaged,
    must_read_uploads,
)
from ..federated.local_training import LocalTask
from ..federated.no_common_model import NoCommonModelSettings
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import (
    CHOICE_KIND,
    CLUSTER_MODELS_KIND,
    CLUSTER_UPDATE_KIND,
    GLOBAL_KIND,
    MODEL_KIND,
    UPDATE_KIND,
)
from ..party import Client
from .several_models import apart, first_models, numbered


class IFCASettings(NoCommonModelSettings):
    """Settings of `IFCA`: those of `fedavg`, and how many models there are."""

    models: int = Field(2, ge=1, description="k: common models, each with first weights of its own")


class _ClusteredRun(FederatedRun):
    """Attributes: the common models, each client's task, and which model it chose in the last round, by number."""

    settings: IFCASettings
    update_kind = CLUSTER_UPDATE_KIND
    models: list[dict[str, Tensor]]
    tasks: dict[int, LocalTask]
    chosen: dict[int, int]

    def _rounds(self, tasks: list[LocalTask]) -> dict[str, Tensor]:
        self.tasks = {client.number: task for client, task in zip(self.clients, tasks, strict=True)}
        return super()._rounds(tasks)

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        if round_ == 0:
            count, classes = self.settings.models, self.original[0].classes
            self.models = first_models(weights, count, self.recipe, self.width(), classes, self.seed)
        sent = self.channel.send(CLUSTER_MODELS_KIND, "server", "clients", round_, numbered(self.models))
        received = apart(sent, len(self.models))
        self.chosen = {number: best_of(task, received) for number, task in self.tasks.items()}
        return [received[self.chosen[client.number]] for client in self.clients]

    def sent_on(self, client: Client, sent: Mapping[str, Tensor], round_: int) -> Mapping[str, Tensor]:
        told = {"choice": torch.tensor([self.chosen[client.number]])}
        self.channel.send(CHOICE_KIND, client.name, "server", round_, told)
        return super().sent_on(client, sent, round_)

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        must_read_uploads(self.channel, CLUSTER_UPDATE_KIND)
        for j in range(len(self.models)):
            mine = [k for k, client in enumerate(self.clients) if self.chosen[client.number] == j]
            total = sum(self.shares[k] for k in mine)
            if mine:
                self.models[j] = averaged([uploads[k] for k in mine], [self.shares[k] / total for k in mine])
        return super().averaged(uploads)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        return self.handed_out(weights, self.settings.rounds)

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)

    def figures(self) -> dict[str, float]:
        return {"models in use": float(len(set(self.chosen.values())))}


def best_of(task: LocalTask, models: Sequence[Mapping[str, Tensor]]) -> int:
    """The first of the models whose loss on a client's labelled nodes is the lowest."""
    with torch.no_grad():
        return int(torch.stack([task.loss(model) for model in models]).argmin())


class IFCA(Federated):
    """Clustered federated averaging: the server keeps k models, and each client trains the one that suits it best.

    Algorithm 1 of Ghosh et al. 2020, option II (model averaging). In every round the server sends all models. A
    client takes the one with the lowest loss on its labelled nodes, trains it, and sends both weights and choice.
    Each model becomes the mean of what those sent who chose it, and stays as it is where nobody did. All clients
    take part in every round, and in the end each answers with the model that it chooses then. Several models may
    collapse to fewer, against which the paper begins several times; here it is said how many are in use.

    What the server sees is each client's whole model and its choice: who chose alike has data alike. A defense that
    seals uploads does not go with it, since the server averages by choice.
    """

    name = "ifca"
    release = POSTERIORS_KIND
    release_phrase = "what the model that each client chose says of its nodes"
    sends: ClassVar[tuple[str, ...]] = (
        *(kind for kind in Federated.sends if kind not in (MODEL_KIND, GLOBAL_KIND, UPDATE_KIND)),
        CLUSTER_MODELS_KIND,
        CHOICE_KIND,
        CLUSTER_UPDATE_KIND,
    )
    games: ClassVar[tuple[str, ...]] = (*Federated.games, ClassPresence.name)
    loop: ClassVar[type[FederatedRun]] = _ClusteredRun
    Settings = IFCASettings
    settings: IFCASettings

"""FedEM: common models of which each client has a mixture of its own (Marfoq et al., NeurIPS 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from ..federated.federated_averaging import POSTERIORS_KIND, Federated, FederatedRun
from ..federated.local_training import Drop, Forward, LocalTask, OptimiserState, Weights, nothing_dropped
from ..federated.no_common_model import NoCommonModelSettings
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import (
    COMPONENTS_KIND,
    COMPONENTS_UPDATE_KIND,
    GLOBAL_KIND,
    GRADIENT_KIND,
    MODEL_KIND,
    UPDATE_KIND,
)
from ..party import Client
from .several_models import apart, first_models, numbered


class FedEMSettings(NoCommonModelSettings):
    """Settings of `FedEM`: those of `fedavg`, and how many models there are (three in the authors' experiments)."""

    models: int = Field(3, ge=1, description="M: common models, each with first weights of its own")


class _MixtureRun(FederatedRun):
    """Attributes: each client's shares of the models [M], by its number; what optimisers keep, by model."""

    settings: FedEMSettings
    update_kind = COMPONENTS_UPDATE_KIND
    mixtures: dict[int, Tensor]
    kept: list[dict[int, OptimiserState]]

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        models = self.settings.models
        if round_ == 0:
            classes = self.original[0].classes
            weights = numbered(first_models(weights, models, self.recipe, self.width(), classes, self.seed))
            even = torch.full((models,), 1 / models, device=self.settings.device)
            self.mixtures = {client.number: even for client in self.clients}
            self.kept = [{} for _ in range(models)]
        received = self.channel.send(COMPONENTS_KIND, "server", "clients", round_, weights)
        return [received] * len(self.clients)

    def trained_by(
        self, client: Client, task: LocalTask, received: Mapping[str, Tensor], coins: torch.Generator
    ) -> Mapping[str, Tensor]:
        models = apart(received, self.settings.models)
        origins = origins_of(task, models, self.mixtures[client.number])
        self.mixtures[client.number] = origins.mean(0)
        trained = []
        for model, share, states in zip(models, origins.t(), self.kept, strict=True):
            self.states = states  # an optimiser's memory is of one model
            trained.append(super().trained_by(client, replace(task, counts=share), model, coins))
        return numbered(trained)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        return self.handed_out(weights, self.settings.rounds)

    def answering(self, clients: list[Client]) -> list[Forward]:
        every = zip(clients, super().answering(clients), strict=True)
        return [Mixture(forward, self.mixtures[client.number]) for client, forward in every]

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)

    def figures(self) -> dict[str, float]:
        largest = [float(mixture.max()) for mixture in self.mixtures.values()]
        return {"largest share of a client's mixture, mean": sum(largest) / len(largest)}


def origins_of(task: LocalTask, models: Sequence[Weights], mixture: Tensor) -> Tensor:
    """How likely each labelled node is to come from each of M models, [k, M]: the E-step of Algorithm 1.

    Args:
        task: of the client that has the nodes.
        models: the common ones.
        mixture: its shares of them before, [M].
    """
    with torch.no_grad():
        losses = torch.stack([task.losses(model) for model in models], 1)
        return (mixture.log() - losses).softmax(1)


@dataclass(frozen=True)
class Mixture:
    """What a mixture of models says of a client's nodes: logarithms of its posteriors, [n, C].

    Attributes:
        forward: one model on these nodes.
        shares: of each model, [M].
    """

    forward: Forward
    shares: Tensor

    def __call__(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        """Args: weights, of all models (`numbered`), and dropout."""
        said = [self.forward(model, drop).log_softmax(1) for model in apart(weights, len(self.shares))]
        return torch.logsumexp(torch.stack(said) + self.shares.log()[:, None, None], 0)


class FedEM(Federated):
    """Federated expectation-maximisation: each client's data is a mixture of M distributions that all share.

    Algorithm 1 of Marfoq et al. 2021. In every round the server sends M models to all clients. A client reckons
    from its labelled nodes' losses how likely each node is to come from each model, and the mean of that is its
    mixture. Then it trains every model, for which a node counts as much as it is likely to come from that model
    (the mean over all labelled nodes, as in the authors' code), and sends all M. The server averages each of them.
    In the end a client answers with the posteriors of the models, by its mixture. All clients take part in every
    round. The paper weights clients by their number of samples: that is ``aggregation=weighted``. It trains by
    plain steps, one pass a round (``optimiser=sgd``, ``local_epochs=1``). With many steps of Adam the models may
    settle before the mixtures tell clients apart.

    The mixture never leaves a client, and mixtures begin even. The server sees how every model changed, and
    together these changes weigh each labelled node once. Averaging needs no client's upload by itself, so defenses
    that seal uploads go with it.
    """

    name = "fedem"
    release = POSTERIORS_KIND
    release_phrase = "what each client's mixture of the common models says of its nodes"
    sends: ClassVar[tuple[str, ...]] = (
        *(kind for kind in Federated.sends if kind not in (MODEL_KIND, GLOBAL_KIND, UPDATE_KIND, GRADIENT_KIND)),
        COMPONENTS_KIND,
        COMPONENTS_UPDATE_KIND,
    )
    games: ClassVar[tuple[str, ...]] = (*Federated.games, ClassPresence.name)
    loop: ClassVar[type[FederatedRun]] = _MixtureRun
    Settings = FedEMSettings
    settings: FedEMSettings

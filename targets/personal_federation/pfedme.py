"""pFedMe: clients keep models of their own near the common one (Dinh, Tran and Nguyen, NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..federated.local_training import Drop, LocalTask, dropout, nothing_dropped
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..party import Client


class PFedMeSettings(FederatedSettings):
    """Settings of `PFedMe`: those of `fedavg`, and of its two loops.

    ``inner_steps`` and ``beta`` are the authors' (section 5.2). With their ``lam`` of 15 and ``eta`` of 0.005 they
    take 800 rounds; a GCN stays where it began (on Cora 4 % are right after 20 rounds of 10 steps). The defaults
    here were chosen on validation nodes of Cora.
    """

    lam: float = Field(
        0.1, gt=0, description="lambda: lam / 2 times the squared distance of a client's own model is added"
    )
    eta: float = Field(5.0, gt=0, description="a local step moves eta times lam of the way to the client's model")
    inner_steps: int = Field(5, ge=1, description="K: steps of the optimiser for a client's own model")
    beta: float = Field(1.0, gt=0, description="how far the server moves to the mean of the uploads; 1 takes it")
    upload: Literal["weights"] = "weights"
    optimiser_state: Literal["fresh"] = "fresh"

    @property
    def steps(self) -> int:
        return super().steps * self.inner_steps


class _PersonalRun(FederatedRun):
    """Attributes: the common weights of the last round, which the server moves on from, and each client's task."""

    settings: PFedMeSettings
    common: Mapping[str, Tensor]
    tasks: dict[int, LocalTask]

    def handed_out(self, weights: Mapping[str, Tensor], round_: int) -> list[Mapping[str, Tensor]]:
        self.common = weights
        return super().handed_out(weights, round_)

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        self.tasks = {client.number: task for client, task in zip(self.clients, tasks, strict=True)}
        return tasks

    def trained_by(
        self, client: Client, task: LocalTask, received: Mapping[str, Tensor], coins: torch.Generator
    ) -> Mapping[str, Tensor]:
        s, weights, drop = self.settings, received, dropout(self.settings.dropout, coins)
        for _ in range(s.local_epochs):
            weights = moved(weights, self._own(task, weights, drop), s.eta * s.lam)
        return weights

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        return moved(self.common, super().averaged(uploads), self.settings.beta)

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        received = super().final_models(weights)
        pairs = zip(self.clients, received, strict=True)
        return [self._own(self.tasks[client.number], own, nothing_dropped) for client, own in pairs]

    def _own(self, task: LocalTask, weights: Mapping[str, Tensor], drop: Drop) -> dict[str, Tensor]:
        """A client's own model: nearly the minimum of its loss + lam / 2 |theta - w|^2, from w on."""
        s = self.settings
        return task.trained(
            weights,
            steps=s.inner_steps,
            optimiser=s.optimiser,
            lr=s.lr,
            weight_decay=s.weight_decay,
            drop=drop,
            correction=lambda name, weight: s.lam * (weight - weights[name]),
        )


def moved(weights: Mapping[str, Tensor], towards: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights that have gone some share of the way to others."""
    return {name: weight + share * (towards[name] - weight) for name, weight in weights.items()}


class PFedMe(Federated):
    """Federated averaging by Moreau envelopes: each client answers with a model of its own, which it never sends.

    Algorithm 1 of Dinh, Tran and Nguyen 2020. In each of R = ``local_epochs`` local steps a client trains its own
    model theta from the local weights w by ``inner_steps`` steps on loss + lam / 2 |theta - w|^2, and moves w by
    eta lam (theta - w); it sends w. The server moves ``beta`` of the way to the mean. All clients take part in each
    round and all their labelled nodes are in every step, where the paper draws some of both; the optimiser is
    `fedavg`'s, where the paper leaves open how theta is found.

    What the server sees are the messages of `fedavg`. An update is eta lam times a sum of steps towards models that
    follow the client's data alone, so that it points where the client's gradients point.
    """

    name = "pfedme"
    games: ClassVar[tuple[str, ...]] = (*Federated.games, ClassPresence.name)
    Settings = PFedMeSettings
    settings: PFedMeSettings
    loop = _PersonalRun
    release_phrase = "what is published of the jointly trained model, and each client's own model's answers"

"""Per-FedAvg: a common model from which one step of its own serves each client (Fallah et al., NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..federated.local_training import Drop, LocalTask, as_parameters, dropout, nothing_dropped, optimiser_of
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..party import Client


class PerFedAvgSettings(FederatedSettings):
    """Settings of `PerFedAvg`: those of `fedavg`, and the rate of the step that makes the model a client's own."""

    alpha: float = Field(0.01, gt=0, description="rate of the inner step (0.01 as in the paper's experiments)")
    upload: Literal["weights"] = "weights"
    optimiser_state: Literal["fresh"] = "fresh"


class _MetaRun(FederatedRun):
    settings: PerFedAvgSettings
    tasks: dict[int, LocalTask]

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        self.tasks = {client.number: task for client, task in zip(self.clients, tasks, strict=True)}
        return tasks

    def trained_by(
        self, client: Client, task: LocalTask, received: Mapping[str, Tensor], coins: torch.Generator
    ) -> Mapping[str, Tensor]:
        s, free = self.settings, as_parameters(received)
        walker = optimiser_of(s.optimiser, free, s.lr, s.weight_decay)
        for _ in range(s.local_epochs):
            first, second = halves(task, coins)
            slope = meta_gradient(first, second, free, s.alpha, dropout(s.dropout, coins))
            for name, weight in free.items():
                weight.grad = slope[name]
            walker.step()
        return {name: weight.detach() for name, weight in free.items()}

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        received = super().final_models(weights)
        pairs = zip(self.clients, received, strict=True)
        return [stepped(self.tasks[c.number], own, self.settings.alpha, nothing_dropped) for c, own in pairs]


def halves(task: LocalTask, coins: torch.Generator) -> tuple[LocalTask, LocalTask]:
    """The same task with either half of its labelled nodes, drawn anew; with all of a single one, twice."""
    order = torch.randperm(len(task.labelled), generator=coins, device=coins.device)
    half = (len(order) + 1) // 2
    parts = order[:half], order[half:] if len(order) > 1 else order
    first, second = (replace(task, labelled=task.labelled[p], labels=task.labels[p]) for p in parts)
    return first, second


def stepped(task: LocalTask, weights: Mapping[str, Tensor], alpha: float, drop: Drop) -> dict[str, Tensor]:
    """w - alpha grad f(w), where f is a task's loss."""
    free = as_parameters(weights)
    slope = torch.autograd.grad(task.loss(free, drop), list(free.values()))
    return {name: weight.detach() - alpha * s for (name, weight), s in zip(free.items(), slope, strict=True)}


def meta_gradient(
    first: LocalTask, second: LocalTask, weights: Mapping[str, Tensor], alpha: float, drop: Drop
) -> dict[str, Tensor]:
    """The gradient of one half's loss after a step on the other's, at the weights after that step (first order)."""
    free = as_parameters(stepped(first, weights, alpha, drop))
    slope = torch.autograd.grad(second.loss(free, drop), list(free.values()))
    return dict(zip(free, slope, strict=True))


class PerFedAvg(Federated):
    """Federated averaging of an initial model: each client answers with the model one gradient step away from it.

    Algorithm 1 of Fallah, Mokhtari and Ozdaglar 2020 in its first-order form, Per-FedAvg (FO): a local step takes
    w~ = w - alpha grad f(w; D) and then goes along grad f(w~; D'), where D and D' are halves of the client's
    labelled nodes, drawn anew (the paper draws two batches); the factor I - alpha H is left out. All clients take
    part in every round, and the optimiser is `fedavg`'s where the paper has plain steps of rate beta.

    What the server sees are the messages of `fedavg`. An update is a sum of gradients at weights that the server
    does not know: those after steps on the client's own data.
    """

    name = "per-fedavg"
    games: ClassVar[tuple[str, ...]] = (*Federated.games, ClassPresence.name)
    Settings = PerFedAvgSettings
    settings: PerFedAvgSettings
    loop = _MetaRun
    release_phrase = "what is published of the jointly trained model, and each client's own model's answers"

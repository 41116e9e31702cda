"""FedFOMO: clients fetch each other's models and take of each what helps them (Zhang et al., ICLR 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ..messages import MIXING_KIND
from ..party import Client
from .communication import Topology
from .decentralised import Decentralised, DecentralisedSettings, MixingRun
from .local_training import LocalTask


class FedFOMOSettings(DecentralisedSettings):
    """Settings of `FedFOMO`: those of `decentralised`, with all models for all clients."""

    topology: Topology = Field("complete", description="whose models a client fetches; complete: all others'")
    shared: Literal["all"] = Field("all", description="whole models are compared")


def first_order_shares(gains: Tensor, distances: Tensor) -> Tensor:
    """How much a client moves towards each model: max(gain / distance, 0), normed to one; zeros if nothing helps.

    Zhang et al. 2021, equations 6 and 7.

    Args:
        gains: by how much each model's loss is below that of the client's last one, [m].
        distances: of each model to that, [m]; the model itself has distance 0 and gets nothing.
    """
    rates = gains / distances.clamp_min(torch.finfo(gains.dtype).tiny)
    useful = torch.where(distances > 0, rates, 0.0).clamp_min(0)
    total = useful.sum()
    return useful / total if bool(total > 0) else useful


class _FetchingRun(MixingRun):
    """Attributes: each client's task, and the weights that it began the round with, by its number."""

    settings: FedFOMOSettings
    tasks: dict[int, LocalTask]
    begun: dict[int, Mapping[str, Tensor]]

    def tell_shares(self) -> None:
        """Nobody is told: every client reckons shares on its own validation nodes."""

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        self.tasks = {client.number: task for client, task in zip(self.clients, tasks, strict=True)}
        self.begun = {client.number: mixture for client, mixture in zip(self.clients, self.mixtures, strict=True)}
        return tasks

    def mixture(self, client: Client) -> dict[str, Tensor]:
        task, last = self.tasks[client.number], self.begun[client.number]
        others = [self.got[client.number][number] for number in sorted(self.got[client.number])]
        with torch.no_grad():
            losses = torch.stack([_validation(task, weights) for weights in (last, *others)])
        steps = [{name: weights[name] - last[name] for name in last} for weights in others]
        distances = torch.stack([torch.cat([part.flatten() for part in step.values()]).norm() for step in steps])
        shares = first_order_shares(losses[0] - losses[1:], distances).tolist()
        moved = {name: sum(s * step[name] for s, step in zip(shares, steps, strict=True)) for name in last}
        return {name: weight + moved[name] for name, weight in last.items()}


def _validation(task: LocalTask, weights: Mapping[str, Tensor]) -> Tensor:
    """The loss on a client's validation nodes; that on its labelled ones where it has none."""
    nodes, labels = (task.reference, task.reference_labels) if len(task.reference) else (task.labelled, task.labels)
    return F.cross_entropy(task.forward(weights)[nodes], labels)


class FedFOMO(Decentralised):
    """Personal training in which clients fetch each other's models, and move towards those that help them.

    After local training client i has the models w_j of the others, and goes on with w_i + sum_j s_ij (w_j - w_i),
    where w_i is what it began the round with, its own trained model is one of the w_j, and s_ij is how much lower
    the loss of w_j is on its validation nodes, for each unit of distance (Zhang et al. 2021, equations 6 and 7). In
    the paper a server hands models on, and a client asks for some by past use; here they go from client to client.

    What a client sees is every other client's whole model in every round. It does not see with which shares another
    one mixed, so that it knows exactly what the others began with in the first round alone.
    """

    name = "fedfomo"
    sends: ClassVar[tuple[str, ...]] = tuple(kind for kind in Decentralised.sends if kind != MIXING_KIND)
    Settings = FedFOMOSettings
    settings: FedFOMOSettings
    loop = _FetchingRun

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        return super().sent() - {MIXING_KIND}

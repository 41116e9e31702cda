"""MOON: federated averaging with a model-contrastive term (Li, He and Song, CVPR 2021)."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ..party import Client
from .federated_averaging import Federated, FederatedRun, FederatedSettings
from .local_training import Drop, LocalTask, Subgraph, Weights, nothing_dropped


class MoonSettings(FederatedSettings):
    """Settings of `Moon`: those of `fedavg`, and of the contrastive term (1 and 0.5 as in OpenFGL)."""

    mu: float = Field(1.0, ge=0, description="weight of the contrastive term")
    temperature: float = Field(0.5, gt=0, description="of the contrastive term")
    upload: Literal["weights"] = "weights"


def contrast(hidden: Tensor, common: Tensor, previous: Tensor, temperature: float) -> Tensor:
    """The mean over nodes of -log e^(cos(z, common) / T) / (e^(cos(z, common) / T) + e^(cos(z, previous) / T)).

    Args:
        hidden: z of the model in training, [n, h].
        common: of the model that was received, [n, h].
        previous: of the client's own model after its last round, [n, h].
        temperature: T.
    """
    towards, away = (F.cosine_similarity(hidden, other, dim=1) for other in (common, previous))
    return F.softplus((away - towards) / temperature).mean()


@dataclass(frozen=True)
class ContrastedTask(LocalTask):
    """A client's task with the contrastive term.

    Attributes:
        mu: its weight.
        temperature: its temperature.
        common: hidden rows of the received model, [n, h].
        previous: those of the client's own model after its last round, [n, h].
    """

    mu: float = 0.0
    temperature: float = 1.0
    common: Tensor | None = None
    previous: Tensor | None = None

    @classmethod
    def beside(cls, task: LocalTask, settings: MoonSettings, common: Tensor, previous: Tensor) -> "ContrastedTask":
        """The same task with the term."""
        own = {f.name: getattr(task, f.name) for f in fields(task)}
        return cls(**own, mu=settings.mu, temperature=settings.temperature, common=common, previous=previous)

    def loss(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        assert isinstance(self.forward, Subgraph)
        assert self.common is not None
        assert self.previous is not None
        hidden = self.forward.hidden(weights, drop)
        term = contrast(hidden, self.common, self.previous, self.temperature)
        return self.loss_of(self.forward.read_out(hidden, weights)) + self.mu * term


class _ContrastingRun(FederatedRun):
    """Attributes: each client's weights after its last round, by its number."""

    settings: MoonSettings
    previous: dict[int, Mapping[str, Tensor]]

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        if round_ == 0:
            self.previous = {}
            return tasks
        return [self._contrasted(c, t, received) for c, t in zip(self.clients, tasks, strict=True)]

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        self.previous[client.number] = own

    def _contrasted(self, client: Client, task: LocalTask, received: Mapping[str, Tensor]) -> LocalTask:
        assert isinstance(task.forward, Subgraph)
        with torch.no_grad():
            common, previous = (task.forward.hidden(w) for w in (received, self.previous[client.number]))
        return ContrastedTask.beside(task, self.settings, common, previous)


class Moon(Federated):
    """Federated averaging whose clients keep their nodes' hidden rows near those of the common model (MOON).

    From the second round on a client adds mu times a contrastive term over all its nodes, labelled or not
    (`contrast`; Li, He and Song 2021, equation 3 and algorithm 1). z is the hidden layer of the GCN, after the
    activation, as in OpenFGL: there is no projection head. Rows of the two models that are fixed are taken without
    dropout. The messages are those of `fedavg`; but an update now follows from all nodes of a client, where that of
    `fedavg` follows from those within two hops of a labelled one.
    """

    name = "moon"
    Settings = MoonSettings
    settings: MoonSettings
    loop = _ContrastingRun

"""Fed-PUB: clients average with those whose models answer alike about a random graph (Baek et al., ICML 2023)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...randomness import branch, integer
from ..federated.local_training import Drop, LocalTask, Subgraph, Weights, nothing_dropped
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import FUNCTION_KIND, RANDOM_GRAPH_KIND
from ..party import Client
from .personal_averaging import PersonalAveraging, PersonalRun, PersonalSettings


class FedPubSettings(PersonalSettings):
    """Settings of `FedPub`: those of `fedavg`, of the random graph, of the mixtures and of the masks.

    Defaults as in OpenFGL; the paper searches ``tau`` on validation nodes.
    """

    blocks: int = Field(5, ge=1, description="communities of the random graph")
    block_size: int = Field(100, ge=2, description="nodes of each of them")
    density: float = Field(0.1, ge=0, le=1, description="share of the pairs within a community that are linked")
    embedding: Literal["hidden", "output"] = Field(
        "hidden", description="of which layer a client sends the mean over that graph; the output has C numbers"
    )
    tau: float = Field(10.0, ge=0, description="the larger, the more a mixture is of models that answer alike")
    masks: bool = Field(True, description="clients learn a mask for each weight, which they keep")
    sparsity: float = Field(1e-3, ge=0, description="weight of the masks' L1 norm")
    nearness: float = Field(1e-3, ge=0, description="weight of the L2 distance to the weights that were received")


def random_graph(settings: FedPubSettings, features: int, seed: np.random.SeedSequence) -> dict[str, Tensor]:
    """Normal features ``x`` [n, d], and ``edges`` [2, e] within communities alone."""
    coins = torch.Generator().manual_seed(integer(seed))
    nodes = settings.blocks * settings.block_size
    block = torch.arange(nodes) // settings.block_size
    linked = torch.rand(nodes, nodes, generator=coins) < settings.density
    one, other = (linked & (block[:, None] == block)).triu(1).nonzero().t()
    edges = torch.stack([torch.cat([one, other]), torch.cat([other, one])])
    return {"x": torch.randn(nodes, features, generator=coins), "edges": edges}


def mixing(embeddings: Tensor, tau: float) -> Tensor:
    """softmax_j(tau cos(e_i, e_j)), [K, K], of what clients sent, [K, m]."""
    unit = F.normalize(embeddings, dim=1)
    return (tau * unit @ unit.t()).softmax(1)


MASK = "mask/"
"""What the masks of weights are called among them: ``mask/w1`` is that of ``w1``."""


def masked(weights: Weights) -> dict[str, Tensor]:
    """The weights w * m of the model that a client uses; those without a mask as they are."""
    own = {name: weight for name, weight in weights.items() if not name.startswith(MASK)}
    return {name: w * weights[MASK + name] if MASK + name in weights else w for name, w in own.items()}


@dataclass(frozen=True)
class MaskedTask(LocalTask):
    """A client's task whose model has the weights w * m, where both are learned.

    Attributes:
        masks: m where the round begins, by the names ``mask/...``; none where nothing is masked.
        sparsity: weight of the masks' L1 norm.
        nearness: weight of the L2 distance to the weights that the round began with.
        begun: these, once the round began.
    """

    masks: Mapping[str, Tensor] = field(default_factory=dict)
    sparsity: float = 0.0
    nearness: float = 0.0
    begun: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of_task(cls, task: LocalTask, masks: Weights, sparsity: float, nearness: float) -> "MaskedTask":
        """The same task with masks and penalties."""
        own = {f.name: getattr(task, f.name) for f in fields(task)}
        return cls(**own, masks=masks, sparsity=sparsity, nearness=nearness)

    def trained(self, weights: Weights, **how: Any) -> dict[str, Tensor]:
        """As `LocalTask.trained`, from the received weights and the client's own masks; both are returned."""
        return LocalTask.trained(replace(self, begun=weights), {**weights, **self.masks}, **how)

    def loss(self, weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        small = sum((weights[name].abs().sum() for name in self.masks), torch.zeros(()))
        near = sum((_length(weights[name] - before) for name, before in self.begun.items()), torch.zeros(()))
        return super().loss(masked(weights), drop) + self.sparsity * small + self.nearness * near


def _length(change: Tensor) -> Tensor:
    """The L2 norm, with the derivative 0 where it is 0."""
    return (change.square().sum() + torch.finfo(change.dtype).tiny).sqrt()


class FedPubRun(PersonalRun):
    """Attributes: each client's masks, the random graph as a model reads it, and what the server was told of it."""

    settings: FedPubSettings
    masks: dict[int, dict[str, Tensor]]
    sight: Subgraph
    told: list[Tensor]

    def before_round(self, round_: int, received: Mapping[str, Tensor]) -> None:
        self.told = []
        if round_ == 0:
            graph = random_graph(self.settings, self.data.num_features, branch(self.seed, "random graph"))
            sent = self.channel.send(RANDOM_GRAPH_KIND, "server", "clients", -1, graph)
            device = self.settings.device
            self.sight = Subgraph.of(self.recipe, sent["x"].to(device), sent["edges"].to(device))
            matrices = {MASK + name: torch.ones_like(w) for name, w in received.items() if w.dim() == 2}
            self.masks = {c.number: matrices if self.settings.masks else {} for c in self.clients}

    def tasks_of(self, tasks: list[LocalTask], received: Mapping[str, Tensor], round_: int) -> list[LocalTask]:
        s, nearness = self.settings, self.settings.nearness if round_ else 0.0
        pairs = zip(self.clients, tasks, strict=True)
        return [MaskedTask.of_task(task, self.masks[c.number], s.sparsity, nearness) for c, task in pairs]

    def uploaded(self, received: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {name: own[name] for name in received}

    def after_round(
        self, client: Client, received: Mapping[str, Tensor], own: Mapping[str, Tensor], round_: int
    ) -> None:
        self.masks[client.number] = {name: weight for name, weight in own.items() if name.startswith(MASK)}
        self.own[client.number] = model = masked(own)
        with torch.no_grad():
            rows = self.sight.hidden(model) if self.settings.embedding == "hidden" else self.sight(model)
        mean = {"mean": rows.mean(0)}
        self.told.append(self.channel.send(FUNCTION_KIND, client.name, "server", round_, mean)["mean"])

    def mixing(self) -> Tensor:
        return mixing(torch.stack(self.told), self.settings.tau)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        models = super().final_models(weights)
        if self.settings.answers == "own":
            return models
        return [masked({**m, **self.masks[c.number]}) for c, m in zip(self.clients, models, strict=True)]

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)


class FedPub(PersonalAveraging):
    """Personalised averaging among clients whose models answer alike about a random graph, with masks (Fed-PUB).

    The server sends a random graph once: a stochastic block model with normal features. After local training each
    client sends the mean over its nodes of what its model makes of it (functional embedding), and gets the mean of
    all weights with shares softmax_j(tau cos(e_i, e_j)) (Baek et al. 2023). A client learns masks of the
    weight matrices, from 1, and keeps them: its model has the weights w * m, and its loss adds ``sparsity`` |m|_1
    and, from the second round on, ``nearness`` |w - received|_2. Released codes take both penalties from copies of
    the weights that no gradient flows through, so that they do nothing; here they act. These codes also set masks
    below 1e-3 to zero when the model is used, which is left out, and have three layers where this GCN has two.

    The embedding follows from the masked model and a graph that the server knows. What it tells beyond the update
    is the masks. A mixture tells a client of the weights of those who resemble it.
    """

    name = "fedpub"
    sends: ClassVar[tuple[str, ...]] = (*PersonalAveraging.sends, RANDOM_GRAPH_KIND, FUNCTION_KIND)
    games = (*PersonalAveraging.games, ClassPresence.name)
    Settings = FedPubSettings
    settings: FedPubSettings
    loop = FedPubRun

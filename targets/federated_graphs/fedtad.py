"""FedTAD: averaging, then distillation by how well clients know classes (Zhu et al., IJCAI 2024)."""

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from ...randomness import branch, integer, seeded
from ...settings import Settings
from ..channel import Channel
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings, must_read_uploads
from ..federated.local_training import Forward, Subgraph, as_parameters
from ..game import Game
from ..games.class_presence import ClassPresence, class_presence
from ..messages import RELIABILITY_KIND
from ..models.training_config import TrainingConfig
from ..party import Client


class DistillingSettings(Settings):
    """How the server distils clients' models into their mean, in each round. Defaults as in OpenFGL."""

    repeats: int = Field(5, ge=0, description="draws of noise in a round; 0 is federated averaging")
    nodes: int = Field(100, ge=2, description="nodes that are generated")
    noise: int = Field(32, ge=1, description="numbers of noise for each of them")
    neighbours: int = Field(5, ge=1, description="most alike nodes that each is linked to, itself among them")
    generator_steps: int = Field(1, ge=0, description="steps of the generator for each draw")
    model_steps: int = Field(5, ge=0, description="steps of the common model for each draw")
    generator_lr: float = Field(1e-3, gt=0)
    model_lr: float = Field(1e-3, gt=0)
    semantic: float = Field(1.0, ge=0, description="weight of clients' recognising a generated node's class")
    diversity: float = Field(1.0, ge=0, description="weight of generated nodes' being unlike each other")


class FedTADSettings(FederatedSettings):
    """Settings of `FedTAD`: those of `fedavg`, of the walks and of the distillation."""

    walk: int = Field(5, ge=1, description="steps of the longest walk by whose return a node's place is told")
    distilling: DistillingSettings = DistillingSettings()
    upload: Literal["weights"] = "weights"
    answers: Literal["own", "common"] = Field(
        "own",
        description="what clients answer with in the end: each its own weights after its last local training, as "
        "OpenFGL tests all methods, or the common model after its last distillation",
    )


def returning(edges: Tensor, nodes: int, steps: int) -> Tensor:
    """The chances that a random walk is back at its node after 1 to ``steps`` steps, [n, steps].

    A walk is on the graph with a loop at each node.
    """
    loops = torch.arange(nodes, device=edges.device)
    row, col = torch.cat([edges, loops.repeat(2, 1)], 1)
    step = torch.zeros(nodes, nodes, device=edges.device)
    step[row, col] = 1
    step /= step.sum(1, keepdim=True)
    walked, found = step, [step.diagonal()]
    for _ in range(steps - 1):
        walked = walked @ step
        found.append(walked.diagonal())
    return torch.stack(found, 1)


def reliability(client: Client, walk: int) -> Tensor:
    """How reliable a client's knowledge of each class is, [C], summing to one.

    Each labelled node counts the mean cosine of itself and its neighbours to it, of features and places side by
    side. A node is like itself: a class with a label has a positive number unless neighbours are opposites, and a
    class without a label has zero.
    """
    rows = torch.cat([client.x, returning(client.edges, len(client.x), walk)], 1)
    row, col = client.edges
    unit = F.normalize(rows, dim=1)
    alike = (unit[row] * unit[col]).sum(1)
    total = torch.ones(len(rows), device=rows.device).index_add(0, row, alike)
    mean = total / (1 + torch.bincount(row, minlength=len(rows)))
    own = mean[client.train]
    by_class = torch.zeros(client.classes, device=rows.device).index_add(0, client.y_train[client.train], own)
    return by_class / by_class.sum()


class Generator(nn.Module):
    """Features of nodes of given classes out of noise: three hidden layers, and a learned code of the class."""

    def __init__(self, noise: int, classes: int, features: int) -> None:
        super().__init__()
        self.code = nn.Embedding(classes, classes)
        sizes = (noise + classes, 64, 128, 256)
        layers = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.Tanh())]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], features))

    def forward(self, noise: Tensor, classes: Tensor) -> Tensor:
        """[k, noise] and [k] to [k, d]."""
        rows: Tensor = self.layers(torch.cat([self.code(classes), noise], 1))
        return rows


def nearest_edges(rows: Tensor, neighbours: int) -> Tensor:
    """Links of each row to those with the largest cosines, both directions and no loop, [2, e]."""
    unit = F.normalize(rows.detach(), dim=1)
    closest = (unit @ unit.t()).topk(min(neighbours, len(rows)), dim=1).indices
    linked = torch.zeros(len(rows), len(rows), dtype=torch.bool, device=rows.device)
    linked.scatter_(1, closest, True)
    return (linked | linked.t()).fill_diagonal_(False).nonzero().t()


def diversity(noise: Tensor, rows: Tensor) -> Tensor:
    """exp of minus the mean product of two nodes' distances in noise (squared) and in features (absolute)."""
    apart = torch.cdist(noise, noise).square() / noise.shape[1]
    return (-(apart * torch.cdist(rows, rows, p=1) / rows.shape[1]).mean()).exp()


class Distiller:
    """The server's side: a generator that is kept from round to round, and what clients told of classes.

    Attributes:
        reliable: how reliable each client is about each class, [K, C].
    """

    def __init__(
        self,
        settings: DistillingSettings,
        recipe: TrainingConfig,
        features: int,
        reliable: Tensor,
        seed: np.random.SeedSequence,
    ) -> None:
        self.settings, self.recipe, self.reliable = settings, recipe, reliable
        classes, device = reliable.shape[1], reliable.device
        self.coins = torch.Generator(device).manual_seed(integer(branch(seed, "noise")))
        with seeded(branch(seed, "generator")):
            self.generator = Generator(settings.noise, classes, features).to(device)
        self.walker = torch.optim.Adam(self.generator.parameters(), lr=settings.generator_lr)
        self.classes = torch.arange(settings.nodes, device=device) * classes // settings.nodes

    def distilled(self, common: Mapping[str, Tensor], uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The common weights after the clients' models taught them about generated nodes."""
        s, free = self.settings, as_parameters(common)
        teaching = torch.optim.Adam(free.values(), lr=s.model_lr, weight_decay=self.recipe.weight_decay)
        for _ in range(s.repeats):
            noise = torch.randn(s.nodes, s.noise, generator=self.coins, device=self.classes.device)
            for _ in range(s.generator_steps):
                self.walker.zero_grad(set_to_none=True)
                self._generator_loss(noise, free, uploads).backward()  # type: ignore[no-untyped-call]
                self.walker.step()
            with torch.no_grad():
                sight = self._sight(self.generator(noise, self.classes))
                taught = torch.stack([sight(upload) for upload in uploads])
            for _ in range(s.model_steps):
                teaching.zero_grad(set_to_none=True)
                self._divergence(sight(free), taught).backward()  # type: ignore[no-untyped-call]
                teaching.step()
        return {name: weight.detach() for name, weight in free.items()}

    def _generator_loss(
        self, noise: Tensor, common: Mapping[str, Tensor], uploads: list[Mapping[str, Tensor]]
    ) -> Tensor:
        """Clients are to recognise the classes, and the common model to differ from them; nodes are to differ."""
        s = self.settings
        rows = self.generator(noise, self.classes)
        sight = self._sight(rows)
        taught = torch.stack([sight(upload) for upload in uploads])
        told = sight({name: weight.detach() for name, weight in common.items()})
        labels = self.classes.expand(len(uploads), -1)
        wrong = F.cross_entropy(taught.transpose(1, 2), labels, reduction="none")
        recognised = (self._weights() * wrong).sum()
        return s.semantic * recognised - self._divergence(told, taught) + s.diversity * diversity(noise, rows)

    def _divergence(self, told: Tensor, taught: Tensor) -> Tensor:
        """How far logits [k, C] are from those of each client [K, k, C], by how reliable that is."""
        return (self._weights() * (told - taught).abs().mean(2)).sum()

    def _weights(self) -> Tensor:
        """What each client's answer about each generated node counts, [K, k]: means over the nodes of a class."""
        size = torch.bincount(self.classes, minlength=self.reliable.shape[1]).clamp_min(1)
        return (self.reliable / size)[:, self.classes]

    def _sight(self, rows: Tensor) -> Forward:
        return Subgraph.of(self.recipe, rows, nearest_edges(rows, self.settings.neighbours))


class _DistillingRun(FederatedRun):
    """Attributes: the server's distiller, once it was told of classes, and what clients sent last."""

    settings: FedTADSettings
    distiller: Distiller
    last: list[Mapping[str, Tensor]]

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        own = [reliability(client, self.settings.walk) for client in clients]
        told = [
            channel.send(RELIABILITY_KIND, client.name, "server", -1, {"shares": numbers})["shares"]
            for client, numbers in zip(clients, own, strict=True)
        ]
        seed = branch(self.seed, "distilling")
        self.distiller = Distiller(
            self.settings.distilling, self.recipe, self.data.num_features, torch.stack(told), seed
        )
        return self.answering(clients)

    def answering(self, clients: list[Client]) -> list[Forward]:
        return super().forwards(clients, self.channel)

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        must_read_uploads(self.channel)
        self.last = uploads
        return self.distiller.distilled(super().averaged(uploads), uploads)

    def final_models(self, weights: Mapping[str, Tensor]) -> list[Mapping[str, Tensor]]:
        models = super().final_models(weights)
        return self.last if self.settings.answers == "own" else models

    def secrets(self) -> dict[str, Game]:
        return super().secrets() | class_presence(self.original)


class FedTAD(Federated):
    """Federated averaging, and distillation on generated nodes by how well clients know classes (FedTAD).

    Each client tells the server once how reliable it is about each class: the sum over its labelled nodes of the
    class of the mean cosine to their neighbours, divided by the sum over classes (Zhu et al. 2024). Compared are
    features and a node's place side by side, here the chances that walks return to it. After each averaging the
    server trains a generator of nodes that clients recognise and the common model does not, links them to their
    nearest, and draws the common model's answers about them towards the clients', class by class as reliable as
    these are. The released code has numbers of visited nodes for places; a node is among its own neighbours there
    and here. Distillation is without dropout, the generator's weights do not decay, and the common model's
    optimiser is fresh in every round, none of which is so in OpenFGL. By default clients answer with their own last
    weights: OpenFGL tests so by default, and the distilled model was less accurate on Cora, though more accurate on
    CiteSeer.

    The vector is zero for exactly the classes that a client has no label of. And the server must hold the clients'
    weights one by one: sealed uploads have no place here.
    """

    name = "fedtad"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, RELIABILITY_KIND)
    games = (*Federated.games, ClassPresence.name)
    Settings = FedTADSettings
    settings: FedTADSettings
    loop = _DistillingRun

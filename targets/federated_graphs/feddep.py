"""FedDEP: federated averaging with generated embeddings of missing neighbours (Zhang et al., SDM 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...randomness import branch, integer
from ..channel import Channel
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings
from ..federated.local_training import Forward, LocalTask, Subgraph
from ..messages import PROTOTYPES_KIND
from ..models.training_config import TrainingConfig, initial_weights
from ..party import Client
from .neighbour_generation import Generator, GeneratorSettings, predicted

if TYPE_CHECKING:
    from torch_geometric.data import Data


class EmbeddingGeneratorSettings(GeneratorSettings):
    """Settings of the generators of embeddings; those of `fedsage+`, and of what they are to generate."""

    width: int = Field(64, ge=1, description="of embeddings")
    encoder_epochs: int = Field(50, ge=0, description="steps of each client's own encoder on its own labels")
    encoder_lr: float = Field(0.01, gt=0)
    prototypes: int = Field(5, ge=1, description="clusters of a client's embeddings, at most")


class FedDEPSettings(FederatedSettings):
    """Settings of `FedDEP`: those of `fedavg` with a GraphSAGE, and of the generators."""

    architecture: Literal["sage"] = "sage"
    generator: EmbeddingGeneratorSettings = EmbeddingGeneratorSettings()


class EmbeddingGenerator(Generator):
    """A generator of missing neighbours' embeddings, which other clients' prototypes are targets of as well.

    Attributes:
        others: prototypes of other clients, [k, width].
    """

    others: Tensor | None = None

    def loss(self) -> Tensor:
        """The client's own, and the squared distances of predictions to the nearest prototypes of others."""
        loss = super().loss()
        if self.others is None or not len(self.others):
            return loss
        embedded = self._embedded()
        counts = self._counts(self._numbers(embedded.detach()))
        rows, _ = predicted(self.of_features, self._noisy(embedded), counts)
        nearest = torch.cdist(rows.detach(), self.others).argmin(1)
        apart = (rows - self.others[nearest]).square().sum() / len(embedded)
        return loss + self.settings.cross_weight * apart

    def mean_missing(self, client: Client) -> Tensor:
        """Sums of missing neighbours' embeddings, over the most that may be missing, of each node [n, width]."""
        with torch.no_grad():
            embedded = Subgraph.of(self.recipe, client.x, client.edges)(self.weights)
            coins = torch.Generator(client.x.device).manual_seed(integer(branch(self.seed, "mending")))
            noise = torch.randn(embedded.shape, generator=coins, device=embedded.device)
            inputs = embedded + self.settings.noise * noise
            rows, owners = predicted(self.of_features, inputs, self._counts(self._numbers(embedded)))
            empty = torch.zeros(len(client.nodes), rows.shape[1], device=rows.device)
            return empty.index_add(0, owners, rows) / self.settings.predictions


def clustered(rows: Tensor, most: int, seed: np.random.SeedSequence) -> tuple[Tensor, Tensor]:
    """k-means: the cluster of each row [n], and the means of the clusters [k, width]."""
    from sklearn.cluster import KMeans

    count = min(most, len(rows.unique(dim=0)))
    found = KMeans(count, n_init=1, random_state=integer(seed) % 2**31).fit_predict(rows.cpu().double().numpy())
    cluster = torch.from_numpy(found).long().to(rows.device)
    total = torch.zeros(count, rows.shape[1], device=rows.device).index_add(0, cluster, rows)
    return cluster, total / torch.bincount(cluster, minlength=count).clamp(min=1)[:, None]


class _EmbeddedRun(FederatedRun):
    """Attributes: each client's generator."""

    settings: FedDEPSettings
    generators: list[EmbeddingGenerator]

    def width(self) -> int:
        return super().width() + self.settings.generator.width

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        g, seed = self.settings.generator, branch(self.seed, "generator")
        self.generators, told = [], []
        for client in clients:
            own = branch(seed, client.number)
            cluster, means = clustered(self._embedded(client), g.prototypes, branch(own, "clusters"))
            self.generators.append(EmbeddingGenerator(client, g, own, means[cluster]))
            sizes = torch.bincount(cluster, minlength=len(means))
            told.append(self._shared(client, {"prototypes": means, "sizes": sizes}, channel))
        for place, generator in enumerate(self.generators):
            for epoch in range(g.epochs + g.rounds):
                if epoch == g.epochs:
                    others = [means for k, means in enumerate(told) if k != place]
                    generator.others = torch.cat(others) if others else None
                generator.step()
            self.progress("training neighbour generators", place + 1, len(clients))
        return self.answering(clients)

    def answering(self, clients: list[Client]) -> list[Forward]:
        return [self._mended(g, c) for g, c in zip(self.generators, clients, strict=True)]

    def _mended(self, generator: EmbeddingGenerator, client: Client) -> Forward:
        return Subgraph.of(self.recipe, torch.cat([client.x, generator.mean_missing(client)], 1), client.edges)

    def _shared(self, client: Client, body: dict[str, Tensor], channel: Channel) -> Tensor:
        """What others get of a client's prototypes; the server relays them."""
        if len(self.clients) == 1:
            return body["prototypes"]
        told = channel.send(PROTOTYPES_KIND, client.name, "server", -1, body)
        relayed = {**told, "client": torch.tensor(client.number)}
        return channel.send(PROTOTYPES_KIND, "server", "clients", -1, relayed)["prototypes"]

    def _embedded(self, client: Client) -> Tensor:
        """Embeddings of a client's nodes by an encoder of its own, [n, width]."""
        g = self.settings.generator
        recipe = TrainingConfig(architecture="sage", hidden=g.width, dropout=0)
        graph, seed = Subgraph.of(recipe, client.x, client.edges), branch(self.seed, "encoder", client.number)
        first = initial_weights(recipe, client.x.shape[1], client.classes, seed)
        weights = LocalTask.of(client, graph).trained(
            {name: weight.to(client.x.device) for name, weight in first.items()},
            steps=g.encoder_epochs,
            optimiser="adam",
            lr=g.encoder_lr,
            weight_decay=0.0,
        )
        with torch.no_grad():
            return torch.tanh(graph.hidden(weights))


class FedDEP(Federated):
    """Federated averaging in which generated embeddings stand for neighbours at other clients (FedDEP).

    Each client trains an encoder on its own labels and clusters its nodes' embeddings. It hides half of its nodes
    and learns to generate the prototypes of hidden neighbours, as `fedsage+` generates features. Clients tell each
    other their prototypes once, with the clusters' sizes, and these are targets of the others' generators from then
    on (pseudo-federated learning; Zhang et al. 2024, sections 4.1 to 4.3). The classifier reads the sum of the
    generated embeddings, over the most that may be missing, beside a node's own features.

    Clusters are those of k-means in place of deep clustering, and prototypes their means. The noisy sampling of
    neighbours that gives the encoder a guarantee for edges is left out, so there is none. Embeddings enter the
    first layer, where released code adds them in each. A public reimplementation sends embeddings of all nodes;
    here prototypes alone are sent, as in the paper. A cluster of one node is that node's embedding.
    """

    name = "feddep"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, PROTOTYPES_KIND)
    Settings = FedDEPSettings
    settings: FedDEPSettings
    loop = _EmbeddedRun

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        settings = super().preset(preset, data)
        return settings | ({"generator": {"rounds": 5}} if preset == "quick" else {})

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        return super().sent() - (set() if self.settings.clients > 1 else {PROTOTYPES_KIND})

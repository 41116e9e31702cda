"""Generators of missing neighbours: what a client adds to its subgraph for edges unknown to it (FedSage+)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from ...randomness import branch, integer
from ...settings import Settings
from ..federated.local_training import Subgraph, as_parameters
from ..models.propagation import Factor, sparse_features
from ..models.training_config import TrainingConfig, initial_weights
from ..party import Client

Weights = Mapping[str, Tensor]
AT_ONCE = 1 << 11
"""Generated rows that are compared with another client's rows at once."""


class GeneratorSettings(Settings):
    """Settings of the generators. Defaults: the released configuration of Zhang et al. 2021, where it has one."""

    latent: int = Field(128, ge=1, description="width of the encoder")
    predictions: int = Field(5, ge=1, description="missing neighbours of a node, at most")
    hidden_share: float = Field(0.5, gt=0, lt=1, description="share of a client's nodes hidden to learn from")
    noise: float = Field(1.0, ge=0, description="deviation of what is added to a node's embedding")
    epochs: int = Field(20, ge=0, description="steps on the client's own loss alone, before the rounds")
    rounds: int = Field(20, ge=0, description="rounds with other clients' gradients, one step each")
    lr: float = Field(1e-3, gt=0)
    cross_weight: float = Field(1.0, ge=0, description="alpha, weight of the other clients' losses")


@dataclass(frozen=True)
class Impaired:
    """A client's subgraph without some of its nodes, and what is missing from it.

    Attributes:
        graph: of the k nodes left, for the encoder.
        missing: hidden neighbours of each, [k].
        first: where each node's hidden neighbours begin in ``hidden``, [k].
        hidden: local ids of hidden neighbours, node after node.
    """

    graph: Subgraph
    missing: Tensor
    first: Tensor
    hidden: Tensor

    @classmethod
    def of(cls, client: Client, recipe: TrainingConfig, share: float, seed: np.random.SeedSequence) -> "Impaired":
        """Hides ``share`` of the nodes, drawn at random, with all their edges; one node is left at least."""
        nodes = len(client.nodes)
        left = np.sort(np.random.default_rng(seed).permutation(nodes)[: max(1, nodes - round(share * nodes))])
        kept = torch.from_numpy(left).to(client.nodes.device)
        place = torch.full((nodes,), -1, device=kept.device)
        place[kept] = torch.arange(len(kept), device=kept.device)
        near, far = client.edges
        inside = (place[near] >= 0) & (place[far] >= 0)
        across = (place[near] >= 0) & (place[far] < 0)
        missing = torch.bincount(place[near[across]], minlength=len(kept))
        order = place[near[across]].argsort(stable=True)
        graph = Subgraph.of(recipe, client.x[kept], place[client.edges[:, inside]])
        return cls(graph, missing, missing.cumsum(0) - missing, far[across][order])


class Generator:
    """One client's generator of missing neighbours (NeighGen): encoder, their number (dGen), their features (fGen).

    The encoder is a two-layer GraphSAGE. From a node's embedding z a linear layer tells how many neighbours are
    missing (softplus, which unlike the released code's relu cannot die), and another the features of each,
    tanh(W_p (z + noise) + b_p) for the p-th; hidden layers of the released code's fGen, which the paper's
    equations do not have, are left out. The loss is smooth L1 for the number, and for each predicted neighbour the
    squared distance to the nearest true one (Zhang et al. 2021, equation 4), averaged over nodes; the released
    code's third term, classification, is left out.

    Args:
        client: whose missing neighbours.
        settings: of the generator.
        seed: of everything.
        targets: what is to be generated for each node, [n, width]; its features by default.
    """

    def __init__(
        self,
        client: Client,
        settings: GeneratorSettings,
        seed: np.random.SeedSequence,
        targets: Tensor | None = None,
    ) -> None:
        s, d = settings, client.x.shape[1]
        self.settings, self.client, self.seed = s, client, seed
        self.targets = client.x if targets is None else targets
        self.recipe = TrainingConfig(architecture="sage", hidden=s.latent, dropout=0)
        self.impaired = Impaired.of(client, self.recipe, s.hidden_share, branch(seed, "hidden"))
        coins = torch.Generator().manual_seed(integer(branch(seed, "weights")))
        bound = s.latent**-0.5
        first = {name: (2 * torch.rand(size, generator=coins) - 1) * bound for name, size in self._sizes().items()}
        first |= initial_weights(self.recipe, d, s.latent, branch(seed, "encoder"))
        self.weights = as_parameters({name: weight.to(client.x.device) for name, weight in first.items()})
        self.adam = torch.optim.Adam(self.weights.values(), lr=s.lr, fused=True)
        self.noise = torch.Generator(client.x.device).manual_seed(integer(branch(seed, "noise")))

    @property
    def of_features(self) -> dict[str, Tensor]:
        """The part that makes features: ``slots`` [M, latent, d] and ``offsets`` [M, d]."""
        return {name: self.weights[name] for name in ("slots", "offsets")}

    def question(self) -> dict[str, Tensor]:
        """What other clients need to compare their nodes with the predicted neighbours.

        Beside `of_features` the noisy embeddings of its nodes, ``inputs`` [k, latent], and how many neighbours
        each is predicted to miss, ``counts`` [k].
        """
        with torch.no_grad():
            embedded = self._embedded()
            asked = {"inputs": self._noisy(embedded), "counts": self._counts(self._numbers(embedded))}
        return {**{name: weight.detach() for name, weight in self.of_features.items()}, **asked}

    def step(self, cross: Weights | None = None) -> None:
        """One step on the client's own loss; ``cross`` is added to the gradient of `of_features`."""
        self.adam.zero_grad(set_to_none=True)
        self.loss().backward()  # type: ignore[no-untyped-call]
        for name, gradient in (cross or {}).items():
            weight = self.weights[name]
            weight.grad = gradient.clone() if weight.grad is None else weight.grad + gradient
        self.adam.step()

    def loss(self) -> Tensor:
        """Of number and features, on the impaired subgraph."""
        embedded, missing = self._embedded(), self.impaired.missing
        numbers = self._numbers(embedded)
        loss = F.smooth_l1_loss(numbers, missing.float())
        counts = self._counts(numbers.detach()) * (missing > 0)  # nothing to compare with elsewhere
        rows, owners = predicted(self.of_features, self._noisy(embedded), counts)
        nearest = self._nearest_missing(rows.detach(), owners)
        return loss + (rows - self.targets[nearest]).square().sum() / len(missing)

    def mended(self, client: Client) -> tuple[Tensor, Tensor]:
        """Features and edges of a client's subgraph with generated neighbours behind its own nodes."""
        with torch.no_grad():
            embedded = Subgraph.of(self.recipe, client.x, client.edges)(self.weights)
            coins = torch.Generator(client.x.device).manual_seed(integer(branch(self.seed, "mending")))
            inputs = embedded + self.settings.noise * _normal(embedded, coins)
            rows, owners = predicted(self.of_features, inputs, self._counts(self._numbers(embedded)))
        fresh = len(client.nodes) + torch.arange(len(rows), device=owners.device)
        added = torch.stack([torch.cat([owners, fresh]), torch.cat([fresh, owners])])
        return torch.cat([client.x, rows]), torch.cat([client.edges, added], 1)

    def _sizes(self) -> dict[str, tuple[int, ...]]:
        m, latent, width = self.settings.predictions, self.settings.latent, self.targets.shape[1]
        return {"number": (latent,), "number_offset": (1,), "slots": (m, latent, width), "offsets": (m, width)}

    def _embedded(self) -> Tensor:
        return self.impaired.graph(self.weights)

    def _numbers(self, embedded: Tensor) -> Tensor:
        return F.softplus(embedded @ self.weights["number"] + self.weights["number_offset"])

    def _counts(self, numbers: Tensor) -> Tensor:
        return numbers.round().clamp(max=self.settings.predictions).long()

    def _noisy(self, embedded: Tensor) -> Tensor:
        return embedded + self.settings.noise * _normal(embedded, self.noise)

    def _nearest_missing(self, rows: Tensor, owners: Tensor) -> Tensor:
        """For each predicted row the local id of the nearest hidden neighbour of its owner, which has one."""
        lengths, first = self.impaired.missing[owners], self.impaired.first[owners]
        row = torch.arange(len(rows), device=rows.device).repeat_interleave(lengths)
        within = torch.arange(len(row), device=row.device) - (lengths.cumsum(0) - lengths)[row]
        other = self.impaired.hidden[first[row] + within]
        if not len(row):
            return row
        parts = zip(row.split(AT_ONCE), other.split(AT_ONCE), strict=True)
        distance = torch.cat([(rows[r] - self.targets[o]).square().sum(1) for r, o in parts])
        least = torch.full((len(rows),), torch.inf, device=row.device).scatter_reduce(0, row, distance, "amin")
        hit = distance == least[row]
        none = torch.full((len(rows),), len(self.client.nodes), device=row.device)
        return none.scatter_reduce(0, row[hit], other[hit], "amin")  # of equally near ones the first


def _normal(like: Tensor, coins: torch.Generator) -> Tensor:
    return torch.randn(like.shape, generator=coins, device=like.device)


def predicted(weights: Weights, inputs: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Generated features [r, d] and whose neighbours they are [r]; of a node as many as ``counts`` [k] says."""
    rows, owners = [], []
    for slot, (weight, offset) in enumerate(zip(weights["slots"], weights["offsets"], strict=True)):
        who = (counts > slot).nonzero().flatten()
        rows.append(torch.tanh(inputs[who] @ weight + offset))
        owners.append(who)
    return torch.cat(rows), torch.cat(owners)


class Others:
    """A client's own nodes as others' predicted neighbours are compared with them."""

    def __init__(self, client: Client) -> None:
        self.x = client.x
        self.rows = Factor.of(sparse_features(client.x))
        self.lengths = client.x.square().sum(1)

    def gradient(self, question: Weights) -> dict[str, Tensor]:
        """Of the squared distances from predicted neighbours to this client's nearest nodes, per asking node.

        By the asking client's fGen weights (`Generator.of_features`); a row of features itself is never sent. It
        can be solved for from this sum where a slot has no more predictions than ``latent``: see `FedSage`.
        """
        weights = as_parameters({name: question[name] for name in ("slots", "offsets")})
        rows, _ = predicted(weights, question["inputs"], question["counts"])
        loss = (rows - self.x[self._nearest(rows.detach())]).square().sum() / len(question["inputs"])
        found = torch.autograd.grad(loss, list(weights.values()))
        return dict(zip(weights, found, strict=True))

    def _nearest(self, rows: Tensor) -> Tensor:
        """The nearest own node of each row; the row's own length makes no difference."""
        parts = rows.split(AT_ONCE)  # one empty part where nothing is predicted
        return torch.cat([(self.lengths[:, None] - 2 * (self.rows @ part.t())).argmin(0) for part in parts])

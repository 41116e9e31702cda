"""BNS-GCN: a GCN trained on a divided graph with sampled rows of other clients' nodes (Wan et al., MLSys 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ...errors import unknown_name
from ...randomness import branch, integer
from ..channel import Channel
from ..federated.federated_averaging import Federated, FederatedRun, FederatedSettings, averaged, labelled_counts
from ..federated.local_training import (
    Aggregated,
    Drop,
    Forward,
    LocalTask,
    Weights,
    as_parameters,
    dropout,
    nothing_dropped,
)
from ..federated.neighbour_exchange import exchange
from ..game import Game
from ..games.membership import NodePresence
from ..messages import (
    BOUNDARY_GRADIENT_KIND,
    BOUNDARY_HIDDEN_KIND,
    BOUNDARY_ROWS_KIND,
    GRADIENT_KIND,
    PARTIAL_GRADIENT_KIND,
)
from ..models.propagation import Factor, sparse_features, sparse_operator
from ..models.training_config import TrainingConfig
from ..party import Client
from ..target import Offers

if TYPE_CHECKING:
    from torch_geometric.data import Data

LINKED_KINDS = (BOUNDARY_ROWS_KIND, BOUNDARY_HIDDEN_KIND, BOUNDARY_GRADIENT_KIND)
"""What clients tell each other in every epoch."""


class BNSGCNSettings(FederatedSettings):
    """Settings of `BNSGCN`. Defaults: p as the paper recommends it, the training as Kipf and Welling's GCN."""

    architecture: Literal["gcn"] = "gcn"
    lr: float = Field(0.01, gt=0)
    weight_decay: float = Field(5e-4, ge=0)
    rounds: int = Field(200, ge=1, description="epochs: one step of the common weights each")
    upload: Literal["gradients"] = "gradients"
    aggregation: Literal["weighted"] = "weighted"
    share: float = Field(
        0.1, gt=0, le=1, description="p, chance of a node to be sent in an epoch to a client that it has an edge to"
    )
    drawn: Literal["each-epoch", "once"] = Field("each-epoch", description="when it is drawn who is sent")
    scaled: bool = Field(True, description="rows that are sent count 1 / p, so that sums are right on average")
    absent: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of the nodes, drawn at random, that are taken out beforehand: it can then be asked who "
        "was there (node presence)",
    )

    def recipe(self) -> TrainingConfig:
        """That of the undivided graph: there is dropout, though gradients are sent."""
        return super().recipe().model_copy(update={"dropout": self.dropout})


@dataclass(frozen=True)
class _Part:
    """A client's own part of the computation, the same in all epochs.

    Attributes:
        client: whose.
        scale: 1 / sqrt(d + 1) of its nodes, d with the edges to other clients, [n].
        rows: its features, aggregated along its own edges, [n, d].
        own: the propagation along these, [n, n].
        towards: its nodes with an edge to each other client, local ids by that client's number.
    """

    client: Client
    scale: Tensor
    rows: Factor
    own: Factor
    towards: dict[int, Tensor]

    @classmethod
    def of(cls, client: Client, holders: Tensor) -> _Part:
        scale, count = (client.degrees() + 1).float().rsqrt(), len(client.nodes)
        loops = torch.arange(count, device=scale.device)
        row, col = torch.cat([loops, client.edges[0]]), torch.cat([loops, client.edges[1]])
        own = sparse_operator(row, col, scale[row] * scale[col], (count, count))
        holder = holders[client.cut[1]]
        towards = {int(k): client.cut[0][holder == k].unique() for k in holder.unique()}
        rows = Factor.of(sparse_features((own @ client.x).to_dense()))
        return cls(client, scale, rows, Factor.of(own), towards)

    def across(self, nodes: Tensor, degree: Tensor, factor: float) -> Factor:
        """The propagation along the edges to some nodes of others, whose rows count ``factor`` times, [n, k]."""
        place = torch.full((int(max(nodes.max(), self.client.cut[1].max())) + 1,), -1, device=nodes.device)
        place[nodes] = torch.arange(len(nodes), device=nodes.device)
        near, far = self.client.cut[0], place[self.client.cut[1]]
        near, far = near[far >= 0], far[far >= 0]
        weight = factor * self.scale[near] * (degree[far].float() + 1).rsqrt()
        return Factor.of(sparse_operator(near, far, weight, (len(self.scale), len(nodes))))


@dataclass(frozen=True)
class _Told:
    """What one client was told by another in an epoch: positions of the nodes at the sender, and who they are."""

    sender: int
    local: Tensor
    nodes: Tensor


class _Pass:
    """One epoch's forward and backward pass of all clients, with all that they tell each other on the way."""

    def __init__(
        self, parts: list[_Part], weights: Weights, drops: list[Drop], channel: Channel, round_: int
    ) -> None:
        self.parts, self.drops, self.channel, self.round = parts, drops, channel, round_
        self.weights = [as_parameters(weights) for _ in parts]

    def gradients(
        self, sent: dict[int, list[_Told]], factor: float, tasks: list[LocalTask]
    ) -> list[dict[str, Tensor]]:
        """Each client's part of the gradient of the loss, summed over all labelled nodes.

        Args:
            sent: by the number of the receiver.
            factor: what rows of others count.
            tasks: for their losses; their own forward passes are not used.
        """
        across = {number: self._rows(number, told, factor) for number, told in sent.items()}
        hidden = [self._hidden(place, across.get(part.client.number)) for place, part in enumerate(self.parts)]
        by_number = {part.client.number: place for place, part in enumerate(self.parts)}
        upstream = [torch.zeros_like(h) for h in hidden]
        found = []
        for place, (part, task) in enumerate(zip(self.parts, tasks, strict=True)):
            number, own = part.client.number, self.weights[place]
            told = [(t, self._embedded(t, number, hidden[by_number[t.sender]])) for t in sent.get(number, [])]
            inside = hidden[place].detach().requires_grad_()
            got = [embedded.requires_grad_() for _, embedded in told]
            logits = part.own @ (inside @ own["w2"]) + own["b2"]
            if told:
                logits = logits + across[number][0] @ (torch.cat(got) @ own["w2"])
            loss = replace(task, forward=_fixed(logits)).loss({}) * len(task.labels)
            by_w2, by_b2, by_inside, *by_got = torch.autograd.grad(loss, [own["w2"], own["b2"], inside, *got])
            upstream[place] += by_inside
            for (t, _), gradient in zip(told, by_got, strict=True):
                back = self._send(
                    BOUNDARY_GRADIENT_KIND, number, t.sender, {"nodes": t.nodes, "gradient": gradient}
                )
                upstream[by_number[t.sender]].index_add_(0, t.local, back["gradient"])
            found.append({"w2": by_w2, "b2": by_b2})
        for place, (own, h) in enumerate(zip(self.weights, hidden, strict=True)):
            by_w1, by_b1 = torch.autograd.grad(h, [own["w1"], own["b1"]], upstream[place])
            found[place] = {"w1": by_w1, "b1": by_b1} | found[place]
        return found

    def _rows(self, number: int, told: list[_Told], factor: float) -> tuple[Factor, Tensor]:
        """The propagation to a client from nodes that it was told of, and their features as they came."""
        by_number = {part.client.number: part for part in self.parts}
        got = []
        for t in told:
            client = by_number[t.sender].client
            body = {"nodes": t.nodes, "x": client.x[t.local], "degree": client.degrees()[t.local]}
            got.append(self._send(BOUNDARY_ROWS_KIND, t.sender, number, body))
        nodes, x, degree = (torch.cat([one[name] for one in got]) for name in ("nodes", "x", "degree"))
        return by_number[number].across(nodes, degree, factor), x

    def _hidden(self, place: int, across: tuple[Factor, Tensor] | None) -> Tensor:
        own = self.weights[place]
        first = self.parts[place].rows @ own["w1"]
        if across is not None:
            first = first + across[0] @ (across[1] @ own["w1"])
        return self.drops[place](torch.relu(first + own["b1"]))

    def _embedded(self, told: _Told, number: int, hidden: Tensor) -> Tensor:
        body = {"nodes": told.nodes, "hidden": hidden[told.local]}
        return self._send(BOUNDARY_HIDDEN_KIND, told.sender, number, body)["hidden"].detach().clone()

    def _send(self, kind: str, sender: int, receiver: int, body: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return self.channel.send(kind, f"client:{sender}", f"client:{receiver}", self.round, body)


def _fixed(logits: Tensor) -> Forward:
    """A model that says what is known already."""

    def say(weights: Weights, drop: Drop = nothing_dropped) -> Tensor:
        return logits

    return say


class _LinkedRun(FederatedRun):
    """Attributes: which nodes are there, [N]."""

    settings: BNSGCNSettings
    there: Tensor

    def present(self, clients: list[Client]) -> list[Client]:
        nodes = int(self.data.num_nodes or 0)
        gone = round(self.settings.absent * nodes)
        self.there = torch.ones(nodes, dtype=torch.bool)
        if not gone:
            return clients
        drawn = np.random.default_rng(branch(self.seed, "absent")).permutation(nodes)[:gone]
        self.there[torch.from_numpy(drawn)] = False
        self.data = self.data.clone()
        for mask in ("train_mask", "val_mask", "test_mask"):
            self.data[mask] = self.data[mask] & self.there.to(self.data[mask].device)
        return [_without(client, ~self.there.to(client.x.device)) for client in clients]

    def secrets(self) -> dict[str, Game]:
        """Who was there, alone where some were not; of those who were, nodes on a boundary apart."""
        if bool(self.there.all()):
            return super().secrets()
        holders, border = np.empty(len(self.there), dtype=np.int64), np.zeros(len(self.there), dtype=bool)
        for client in self.original:
            holders[client.nodes.cpu().numpy()] = client.number
            border[client.nodes[client.cut[0]].cpu().numpy()] = True
        there = self.there.numpy()
        apart = {"members on the boundary": border | ~there, "members inside": ~border | ~there}
        game = NodePresence(
            subjects=np.arange(len(there)), truth=there, owners=holders, holders=holders, groups=apart
        )
        return {game.name: game}

    def forwards(self, clients: list[Client], channel: Channel) -> list[Forward]:
        """The model on the undivided graph: what clients are asked with in the end."""
        return self.answering(clients)

    def answering(self, clients: list[Client]) -> list[Forward]:
        silent = Channel(retain=lambda message: False)
        return [Aggregated.of(n) for n in exchange(clients, 2, self.data.num_nodes, silent, False)]

    def _shares(self) -> list[float]:
        total = sum(labelled_counts(self.clients, self.channel))
        return [1 / total] * len(self.clients)

    def _gradients(
        self, tasks: list[LocalTask], received: Mapping[str, Tensor], t: int
    ) -> list[Mapping[str, Tensor]]:
        s = self.settings
        if t == 0:
            self.holders = torch.full((int(self.data.num_nodes or 0),), -1, device=s.device)
            for client in self.clients:
                self.holders[client.nodes] = client.number
            self.parts = [_Part.of(client, self.holders) for client in self.clients]
        drops = []
        for client in self.clients:
            seed = integer(branch(self.seed, "dropout", client.number, t))
            drops.append(dropout(s.dropout, torch.Generator(s.device).manual_seed(seed)))
        found = _Pass(self.parts, received, drops, self.channel, t).gradients(
            self._sampled(t if s.drawn == "each-epoch" else 0), 1 / s.share if s.scaled else 1.0, tasks
        )
        return [
            self.channel.send(PARTIAL_GRADIENT_KIND, client.name, "server", t, gradient)
            for client, gradient in zip(self.clients, found, strict=True)
        ]

    def _sampled(self, epoch: int) -> dict[int, list[_Told]]:
        """Who tells whom of which nodes in an epoch, by the receiver's number; those with none are left out."""
        found: dict[int, list[_Told]] = {}
        for part in self.parts:
            for receiver, nodes in part.towards.items():
                rng = np.random.default_rng(branch(self.seed, "boundary", epoch, part.client.number, receiver))
                local = nodes[torch.from_numpy(rng.random(len(nodes)) < self.settings.share).to(nodes.device)]
                if len(local):
                    told = _Told(part.client.number, local, part.client.nodes[local])
                    found.setdefault(receiver, []).append(told)
        return found

    def averaged(self, uploads: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """The sum over clients, divided by the number of all labelled nodes."""
        return averaged(uploads, self.shares)


def _without(client: Client, gone: Tensor) -> Client:
    """A client without the edges and labels of some nodes [N]; they stay on its list, alone and unused."""
    left = ~gone[client.nodes]
    inside = left[client.edges[0]] & left[client.edges[1]]
    cut = left[client.cut[0]] & ~gone[client.cut[1]]
    masks: dict[str, Any] = {name: getattr(client, name) & left for name in ("train", "val", "test", "used")}
    return replace(client, edges=client.edges[:, inside], cut=client.cut[:, cut], **masks)


class BNSGCN(Federated):
    """A GCN trained on the undivided graph by clients who send each other sampled rows of nodes (BNS-GCN).

    Parts of one graph train one model, as machines of one owner do. In every epoch each node with an edge to
    another client is sent to that client with chance p: its raw features, then its hidden units; the gradient by
    these comes back (Wan et al. 2022, algorithm 1). Rows that come count 1 / p, so that with p = 1 the step is that
    of the undivided graph, and it is right on average below. The server adds up the clients' parts of the gradient.
    FedGC's "BDS-GCN" is this method.

    Each node is drawn on its own, where the released code draws a fixed number; the released code has no GCN, here
    the weights are 1 / sqrt(d_u d_v) with all edges counted. Weights that are trained answer on the undivided
    graph, as there.

    After k epochs a client has seen a raw row of a share 1 - (1 - p)^k of the other clients' nodes that it has an
    edge to, with the client that sent it: of 99.5 % after 50 epochs at p = 0.1.
    """

    name = "bns-gcn"
    sends: ClassVar[tuple[str, ...]] = (*Federated.sends, *LINKED_KINDS, PARTIAL_GRADIENT_KIND)
    games: ClassVar[tuple[str, ...]] = (*Federated.games, NodePresence.name)
    Settings = BNSGCNSettings
    settings: BNSGCNSettings
    loop = _LinkedRun

    @property
    def offers(self) -> Offers:
        """As of all federated targets; where some nodes are taken out, it is asked who was there."""
        return replace(super().offers, game=NodePresence.name if self.settings.absent else None)

    @classmethod
    def preset(cls, preset: str, data: Data) -> dict[str, Any]:
        if preset == "paper":  # FedGC, section 4.1
            return {"clients": 10, "partition": "dirichlet", "beta": 1.0, "split": "dataset"}
        if preset == "quick":
            return {"rounds": 50}
        raise unknown_name("preset", preset, ("quick", "paper"))

    def sent(self) -> set[str]:
        """Kinds of messages that are sent with these settings."""
        silent = set(LINKED_KINDS) if self.settings.clients == 1 else set()
        return super().sent() - silent - {GRADIENT_KIND}

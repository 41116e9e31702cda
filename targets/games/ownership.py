"""Who holds whom, as a secret: is this node this client's, and did a client's node take part in its training?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...graphs.measures.communities import leiden
from ...graphs.network import Floats, Network
from ...graphs.pair_codes import codes, distinct, ends
from ...randomness import branch
from ..game import (
    QUERIES,
    Adversary,
    Game,
    Grant,
    GraphKnowledge,
    Words,
    as_it_is,
    in_thirds,
    without_ancestry,
)
from ..party import Client
from .links import remaining
from .membership import asked_with
from .public_columns import node_columns

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

CLIENTS = 10**6
"""More than there are clients: a subject is ``node * CLIENTS + client``."""
PAIRS = 20_000
"""Pairs of a node and a client in question, at most."""


def pair_of(nodes: np.ndarray, clients: np.ndarray) -> np.ndarray:
    """The subjects that some nodes and clients make, [s] each."""
    found: np.ndarray = nodes.astype(np.int64) * CLIENTS + clients
    return found


def parts_of(subjects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The node and the client of each subject, [s] each."""
    return np.divmod(subjects, CLIENTS)


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnershipKnowledge(GraphKnowledge):
    """What an adversary knows beforehand who asks what clients hold; subjects are pairs (`pair_of`).

    Attributes:
        clients: the numbers of the clients, ascending [K].
        holders: the client that holds each node, -1 for none, [n]; None where that is what is asked.
    """

    clients: Tensor
    holders: Tensor | None = None

    @property
    def nodes_and_clients(self) -> tuple[Tensor, Tensor]:
        """The node of each subject, and the place of its client among ``clients``, [s] each."""
        import torch

        node, client = self.subjects // CLIENTS, self.subjects % CLIENTS
        return node, torch.searchsorted(self.clients, client)

    def sentence(self) -> str:
        held = "who of them holds whom" if self.holders is not None else "not who of them holds whom"
        return (
            f"knows features and classes of all {len(self.x)} nodes and {QUERIES[self.neighbours]}, "
            f"that {len(self.clients)} clients share them and {held}, {self._defense()}"
        )


@dataclass(frozen=True, kw_only=True)
class _Held(Game):
    """Base of games about nodes and the clients that they are held by; a subject is a pair (`pair_of`).

    Attributes:
        holders: the client that holds each of the N nodes, -1 for none, [N].
        owners: the client of each subject, [s].
    """

    holders: np.ndarray
    owners: np.ndarray

    def grant_key(self, adversary: Adversary) -> tuple[object, ...]:
        """Who asks alike knows the same."""
        return ()

    def known_to(self, clients: Sequence[int]) -> np.ndarray:
        """What concerns a client: itself, and the nodes that it holds, which no other client does."""
        node, client = parts_of(self.subjects)
        own: np.ndarray = np.isin(client, clients) | np.isin(self.holders[node], clients)
        return own

    @abstractmethod
    def told_of(self, holders: Tensor) -> Tensor | None:
        """What is told of who holds each node, given the truth of it [n] in the adversary's order."""

    def grant(
        self, data: Data, adversary: Adversary, seed: np.random.SeedSequence
    ) -> tuple[Grant, Callable[[Game], Game]]:
        """Features and classes of all nodes, the edges of the public graph as far as the adversary asks with them.

        That is what the curious server of SOS knows (Zhang et al., AsiaCCS 2023, section 3.2), and the links.
        """
        import torch

        rng, nodes = np.random.default_rng(branch(seed, "grant")), int(data.num_nodes or 0)
        ours = rng.permutation(nodes)
        theirs = np.empty(nodes, dtype=np.int64)
        theirs[ours] = np.arange(nodes)
        edges = torch.from_numpy(theirs)[data.edge_index.cpu()]
        node, client = parts_of(self.subjects)
        knowledge = OwnershipKnowledge(
            x=data.x.cpu()[torch.from_numpy(ours)],
            labels=data.y.cpu()[torch.from_numpy(ours)],
            edges=asked_with(edges, adversary.neighbours, rng),
            neighbours="true" if adversary.neighbours == "apart" else adversary.neighbours,
            subjects=torch.from_numpy(np.sort(pair_of(theirs[node], client))),
            members=int(self.truth.sum()),
            classes=int(data.y.max()) + 1,
            knows_defense=adversary.knows_defense,
            game=self.name,
            recipe=adversary.recipe,
            seed=without_ancestry(branch(seed, "coins")),
            clients=torch.from_numpy(np.unique(client)),
            holders=self.told_of(torch.from_numpy(self.holders[ours])),
        )
        return PairGrant(knowledge, ours), as_it_is

    def attributes(self, data: Data) -> dict[str, np.ndarray]:
        """``degree`` in thirds, ``class`` and ``client``."""
        node, client = parts_of(np.sort(self.subjects))
        degree = np.bincount(data.edge_index[0].cpu().numpy(), minlength=int(data.num_nodes or 0))
        return {
            "degree": in_thirds(degree[node]),
            "class": data.y.cpu().numpy()[node].astype(str),
            "client": client.astype(str),
        }

    def compared_within(self, data: Data) -> np.ndarray | None:
        """The client and the class: a client may hold most of a class, which the messages need not tell."""
        node, client = parts_of(np.sort(self.subjects))
        within: np.ndarray = client * (int(data.y.max()) + 1) + data.y.cpu().numpy()[node]
        return within

    def groupings(self, data: Data) -> dict[str, np.ndarray]:
        """``communities`` of the public graph, those of each client for themselves: partitions keep them whole."""
        node, client = parts_of(np.sort(self.subjects))
        nodes, (row, col) = int(data.num_nodes or 0), data.edge_index.cpu().numpy()
        linked = distinct(codes(row, col, nodes)[row != col])
        network = Network(nodes, np.stack(ends(linked, nodes)))
        community = leiden(network, np.random.default_rng(0))[0][node]
        return {"communities": community * CLIENTS + client}

    @classmethod
    def called(cls, subject: int | str, pairs_of: int | None) -> int | str:
        """The node at the client."""
        node, client = divmod(int(subject), CLIENTS)
        return f"{node} at client:{client}"


@dataclass(frozen=True, kw_only=True)
class NodeOwnership(_Held):
    """Which client holds this node? A subject is a node and a client; members are those who belong together."""

    name = "node-ownership"
    unit = "which client holds one node"
    words = Words(
        "Node ownership: is this node this client's?",
        "Can it be told which party holds this person's record?",
        "the people at the parties that hold them",
        "a client's own nodes from other nodes",
        "person whom the party does not hold",
        "people whom the party does not hold",
        public="what the public graph alone tells of who holds whom",
    )
    metrics = ("owners named",)
    empty_where = "one client holds every node that is asked about"

    def told_of(self, holders: Tensor) -> Tensor | None:
        """Nothing: that is what is asked."""
        return None

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """What is public of a node, apart for each client: shares of classes, mean features, degrees."""
        node, client = parts_of(np.sort(self.subjects))
        place = np.unique(client, return_inverse=True)[1]
        return {name: _apart(columns, place) for name, columns in node_columns(data, node, seed).items()}


@dataclass(frozen=True, kw_only=True)
class Contribution(_Held):
    """Did this client's node take part in its training, or was it left out? The holder of each node is known."""

    name = "contribution"
    unit = "whether one node took part in its client's training"
    words = Words(
        "Contribution: did this node take part in its client's training?",
        "Did this person's record take part in training?",
        "the people who took part",
        "nodes that took part from nodes that were left out",
        "person who was left out",
        "people who were left out",
        public="what the public graph alone tells of who took part",
        alike="of the same client and class",
    )
    metrics = ()
    empty_where = "the defense dropped nobody or everybody"

    def told_of(self, holders: Tensor) -> Tensor | None:
        """All of it."""
        return holders

    def public_columns(self, data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
        """What is public of a node: `node_columns`."""
        node, _ = parts_of(np.sort(self.subjects))
        return node_columns(data, node, seed)


class PairGrant(Grant):
    """An adversary's knowledge about nodes, and the way back from its pairs to ours."""

    def subject_ids(self, granted: np.ndarray) -> np.ndarray:
        node, client = parts_of(granted)
        return pair_of(self.ids[node], client)


def node_ownership(
    clients: Sequence[Client], nodes: int, seed: np.random.SeedSequence, pairs: int = PAIRS
) -> dict[str, Game]:
    """Who holds whom, by the game's name; nothing of a single client.

    In question are all nodes with every client, or as many nodes as make ``pairs`` pairs, drawn at random.

    Args:
        clients: with their own nodes.
        nodes: N.
        seed: of the sample.
        pairs: how many to ask about at most.
    """
    if len(clients) < 2:
        return {}
    numbers = np.array([client.number for client in clients])
    drawn = np.random.default_rng(seed).permutation(nodes)[: max(pairs // len(clients), 2)]
    node, client = (part.flatten() for part in np.meshgrid(np.sort(drawn), numbers, indexing="ij"))
    holders = _holders(clients, nodes)
    truth = holders[node] == client
    if truth.all() or not truth.any():
        return {}
    game = NodeOwnership(subjects=pair_of(node, client), truth=truth, owners=client, holders=holders)
    return {game.name: game}


def contribution(clients: Sequence[Client], defended: Sequence[Client], nodes: int) -> dict[str, Game]:
    """Who took part, by the game's name; nothing where a defense of the data dropped nobody.

    In question are the nodes with an edge or a label; dropped are those that the defense left with neither.

    Args:
        clients: with their own edges and labels, before any defense.
        defended: the same after it.
        nodes: N.
    """
    before = [remaining(client) for client in clients]
    node = np.concatenate([c.nodes[kept].cpu().numpy() for c, kept in zip(clients, before, strict=True)])
    stayed = [remaining(after)[kept].cpu().numpy() for after, kept in zip(defended, before, strict=True)]
    truth, holders = np.concatenate(stayed), _holders(clients, nodes)
    if truth.all() or not truth.any():
        return {}
    subjects = pair_of(node, holders[node])
    game = Contribution(subjects=subjects, truth=truth, owners=holders[node], holders=holders)
    return {game.name: game}


def _holders(clients: Sequence[Client], nodes: int) -> np.ndarray:
    holders = np.full(nodes, -1)
    for client in clients:
        holders[client.nodes.cpu().numpy()] = client.number
    return holders


def _apart(columns: Floats, group: np.ndarray) -> Floats:
    """Columns [s, c] in a block of their own for each group, which is marked, [s, groups (c + 1)]."""
    one_hot = np.eye(group.max() + 1)[group]
    own = np.hstack([columns, np.ones((len(columns), 1))])
    found: Floats = (one_hot[:, :, None] * own[:, None, :]).reshape(len(columns), -1)
    return found


def ownership_secrets(
    clients: Sequence[Client], nodes: int, seed: np.random.SeedSequence, defended: Sequence[Client] = ()
) -> dict[str, Game]:
    """Who holds whom, and who took part where a defense of the data dropped some, by the names of the games.

    See `node_ownership` and `contribution`.
    """
    return node_ownership(clients, nodes, seed) | (contribution(clients, defended, nodes) if defended else {})

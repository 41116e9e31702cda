"""A small graph of several clients, what they upload after honest steps, and who knows what of it."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.defenses.uploads.sealed_uploads import sealed
from gaudit.targets.channel import Channel
from gaudit.targets.federated.federated_averaging import averaged
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.games.ownership import OwnershipKnowledge
from gaudit.targets.messages import GLOBAL_KIND, UPDATE_KIND
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

RECIPE = TrainingConfig(architecture="gcn", hidden=8, epochs=1, dropout=0)
CLASSES = 3


@dataclass
class UploadWorld:
    """Clients with 20 nodes each, of which every one is labelled, and 150 words.

    Attributes:
        data: the whole graph.
        owner: the client of each node, [N].
        clients: theirs.
    """

    data: Data
    owner: torch.Tensor
    clients: list

    def uploads(self, *, rounds=1, clients=None, recipe=RECIPE, **steps):
        """A transcript of some rounds of local steps, each from weights drawn anew."""
        channel = Channel()
        for round_ in range(rounds):
            first = self.first(round_, recipe)
            channel.send(GLOBAL_KIND, "server", "clients", round_, first)
            for client in clients or self.clients:
                own = trained(client, first, recipe, **steps)
                channel.send(UPDATE_KIND, client.name, "server", round_, own)
        return channel.transcript

    def averages(self, *, rounds, clients=None, **steps):
        """A transcript of federated averaging whose uploads are sealed, and the same with uploads in the clear."""
        clients, weights = clients or self.clients, self.first(0)
        hidden, clear = Channel(mods=(sealed,)), Channel()
        for round_ in range(rounds + 1):
            for channel in (hidden, clear):
                channel.send(GLOBAL_KIND, "server", "clients", round_, weights)
            if round_ < rounds:
                sent = [trained(client, weights, **steps) for client in clients]
                for channel in (hidden, clear):
                    for client, own in zip(clients, sent, strict=True):
                        channel.send(UPDATE_KIND, client.name, "server", round_, own)
                weights = averaged(sent, [1 / len(sent)] * len(sent))
        return hidden.transcript, clear.transcript

    def first(self, round_, recipe=RECIPE):
        """Weights drawn anew."""
        return initial_weights(recipe, self.data.num_features, CLASSES, np.random.SeedSequence(round_))

    def knowledge(self, *, holders=False):
        """Of who asks about every node and client."""
        nodes, clients = len(self.owner), len(self.clients)
        pairs = torch.cartesian_prod(torch.arange(nodes), torch.arange(clients))
        if holders:
            pairs = torch.stack([torch.arange(nodes), self.owner], 1)
        return OwnershipKnowledge(
            subjects=pairs[:, 0] * 10**6 + pairs[:, 1],
            members=nodes,
            game="contribution" if holders else "node-ownership",
            x=self.data.x,
            labels=self.data.y,
            edges=self.data.edge_index,
            clients=torch.arange(clients),
            holders=self.owner if holders else None,
        )

    def table(self, scores):
        """Scores of all pairs as a table, [N, clients]."""
        return torch.from_numpy(scores.score).view(len(self.owner), len(self.clients))


def trained(client, weights, recipe=RECIPE, **steps):
    """A client's weights after local steps, one plain one where nothing else is said."""
    task = LocalTask.of(client, Subgraph.of(recipe, client.x, client.edges))
    return task.trained(weights, **{"steps": 1, "optimiser": "sgd", "lr": 1.0, "weight_decay": 0.0, **steps})


@pytest.fixture(scope="module")
def federation():
    """The world that tests of one module share, wherever they lie (`conftest.py` names this module)."""
    return upload_world()


def upload_world(seed=0, clients=3, size=20, words=150):
    """Random binary rows of some six words, and edges within clients, the rest of them between."""
    rng, nodes = np.random.default_rng(seed), clients * size
    owner = np.arange(nodes) % clients
    chance = np.where(owner[:, None] == owner, 0.12, 0.01)
    row, col = np.nonzero(np.triu(rng.random((nodes, nodes)) < chance, 1))
    every = torch.ones(nodes, dtype=torch.bool)
    data = Data(
        x=torch.from_numpy((rng.random((nodes, words)) < 0.04).astype(np.float32)),
        y=torch.from_numpy(rng.permutation(nodes) % CLASSES),
        edge_index=torch.from_numpy(np.hstack([[row, col], [col, row]])),
        train_mask=every,
        val_mask=~every,
        test_mask=~every,
    )
    held = torch.from_numpy(owner)
    parts = clients_of(data, Partition(held, clients, "given", torch.empty((2, 0), dtype=torch.long)))
    return UploadWorld(data, held, parts)

"""Two clients of a small homophilous graph, and the model that they trained together."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaudit.defenses.training.bottleneck import InformationBottleneck
from gaudit.graphs.checks import check_graph
from gaudit.targets.channel import Channel
from gaudit.targets.defense import Defense, SharedModel
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.federated.self_training import label_the_rest, train_together
from gaudit.targets.partition import partition
from gaudit.targets.party import Client, clients_of

NODES, WORDS, CLASSES = 240, 30, 3


@dataclass(frozen=True)
class Federation:
    clients: list[Client]
    shared: SharedModel


def _graph() -> Data:
    rng = np.random.default_rng(0)
    y = np.arange(NODES) % CLASSES
    p = np.full((NODES, WORDS), 0.05)
    for c in range(CLASSES):
        p[np.ix_(y == c, range(c * WORDS // CLASSES, (c + 1) * WORDS // CLASSES))] = 0.2
    x = (rng.random((NODES, WORDS)) < p).astype(np.float32)
    links = rng.random((NODES, NODES)) < np.where(y[:, None] == y[None, :], 0.03, 0.004)
    order = rng.permutation(NODES)
    masks = {}
    for name, part in zip(("train", "val", "test"), np.split(order, [60, 140]), strict=True):
        masks[f"{name}_mask"] = torch.zeros(NODES, dtype=torch.bool)
        masks[f"{name}_mask"][part] = True
    edges = torch.from_numpy(np.stack(np.nonzero(np.triu(links, 1))))
    return check_graph(Data(x=torch.from_numpy(x), y=torch.from_numpy(y), edge_index=edges, **masks), "test graph")


@pytest.fixture(scope="session")
def federation() -> Federation:
    data = _graph()
    clients = clients_of(data, partition(data, "dirichlet", 2, 1, beta=10.0))
    channel = Channel()
    near = exchange(clients, 2, data.num_nodes, channel, True)
    weights = train_together(
        clients,
        near,
        channel,
        hidden=16,
        rounds=100,
        lr=1.0,
        weights_by=lambda counts: [c / sum(counts) for c in counts],
        seed=np.random.SeedSequence(0),
        progress=lambda done: None,
    )
    shared = label_the_rest(clients, near, weights, 0.5, np.random.SeedSequence(1))
    first = InformationBottleneck().first_weights(WORDS, np.random.SeedSequence(2))
    return Federation(clients, replace(shared, first=first))


@pytest.fixture
def defended():
    """``defended(defense, client, shared, seed)``: the client afterwards, and what it keeps, by kind."""

    def run(defense: Defense, client: Client, shared: SharedModel | None, seed: int = 0):
        kept: dict[str, dict[str, Tensor]] = {}
        after = defense.on_data(client, shared, np.random.SeedSequence(seed), kept.__setitem__)
        return after, kept

    return run

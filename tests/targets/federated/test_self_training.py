"""The model that guesses labels: plain gradient steps on all clients' labels, the best of the rounds looked at."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.graphs.checks import check_graph
from gaudit.randomness import branch, seeded
from gaudit.targets.channel import Channel
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.federated.self_training import train_together
from gaudit.targets.models.backbone import GCN
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

NODES, WORDS, CLASSES, WIDTH, RATE = 90, 12, 3, 8, 1.0
SEED = np.random.SeedSequence(3)


@pytest.fixture(scope="module")
def data() -> Data:
    rng = np.random.default_rng(0)
    y = np.arange(NODES) % CLASSES
    x = (rng.random((NODES, WORDS)) < np.where(np.arange(WORDS) % CLASSES == y[:, None], 0.5, 0.2)).astype(
        np.float32
    )
    links = rng.random((NODES, NODES)) < np.where(y[:, None] == y, 0.1, 0.03)
    masks = {f"{name}_mask": torch.zeros(NODES, dtype=torch.bool) for name in ("train", "val", "test")}
    for mask, part in zip(masks.values(), np.split(rng.permutation(NODES), [20, 60]), strict=True):
        mask[part] = True
    edges = torch.from_numpy(np.stack(np.nonzero(np.triu(links, 1))))
    return check_graph(Data(x=torch.from_numpy(x), y=torch.from_numpy(y), edge_index=edges, **masks), "test graph")


def trained(data, rounds, looked):
    clients = clients_of(data, partition(data, "dirichlet", 3, 1, beta=10.0))
    near = exchange(clients, 2, data.num_nodes, Channel(), True)
    return train_together(
        clients,
        near,
        Channel(),
        hidden=WIDTH,
        rounds=rounds,
        lr=RATE,
        weights_by=lambda counts: [count / sum(counts) for count in counts],
        seed=SEED,
        progress=lambda done: None,
        looked=looked,
    )


@pytest.fixture(scope="module")
def by_hand(data):
    """Weights after each round, of a dense GCN on the whole graph by autograd, and their validation accuracy."""
    adjacency = torch.eye(NODES)
    adjacency[data.edge_index[0], data.edge_index[1]] = adjacency[data.edge_index[1], data.edge_index[0]] = 1.0
    degree = adjacency.sum(1).rsqrt()
    spread = degree[:, None] * adjacency * degree
    with seeded(branch(SEED, "weights")):
        first = GCN(WORDS, WIDTH, CLASSES).weights()
    weights = {name: tensor.clone().requires_grad_() for name, tensor in first.items()}
    found = []
    for _ in range(41):
        hidden = torch.relu(spread @ data.x @ weights["w1"] + weights["b1"])
        logits = spread @ hidden @ weights["w2"] + weights["b2"]
        right = (logits.argmax(1) == data.y)[data.val_mask].float().mean()
        found.append(({name: tensor.detach().clone() for name, tensor in weights.items()}, float(right)))
        loss = F.cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        steps = torch.autograd.grad(loss, list(weights.values()))
        with torch.no_grad():
            for tensor, step in zip(weights.values(), steps, strict=True):
                tensor.sub_(RATE * step)
    return found


@pytest.mark.parametrize(
    ("rounds", "looked"),
    [(1, ()), (7, (7,)), (40, (10, 20, 30)), (40, (3, 100)), (40, (100,)), (23, ()), (40, ())],
)
def test_of_the_rounds_looked_at_the_first_best_is_kept(data, by_hand, rounds, looked):
    """Without a list those after every fifth step from the first; the last always."""
    after = sorted({r for r in looked or range(1, rounds + 1, 5) if r <= rounds} | {rounds})
    wanted = max(after, key=lambda r: (by_hand[r][1], -r))
    kept = trained(data, rounds, looked)
    for name, tensor in by_hand[wanted][0].items():
        torch.testing.assert_close(kept[name], tensor, rtol=1e-4, atol=1e-5)


def test_the_rounds_looked_at_make_a_difference(data, by_hand):
    best = {looked: max(looked, key=lambda r: (by_hand[r][1], -r)) for looked in ((1, 6, 11, 40), (20, 30, 40))}
    assert len(set(best.values())) == 2

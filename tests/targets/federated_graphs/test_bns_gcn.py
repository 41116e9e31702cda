"""BNS-GCN: the step of the undivided graph, what is sent of the boundary, and how much of it is seen in the end."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated_graphs.bns_gcn import BNSGCN, LINKED_KINDS
from gaudit.targets.models.propagation import gcn_operator

SMALL = {"clients": 3, "hidden": 4, "rounds": 3, "partition": "dirichlet", "dropout": 0.0, "lr": 0.05}


def ran(data: Data | None = None, defense: Defense | None = None, seed: int = 0, **settings):
    target = BNSGCN(**SMALL | settings)
    graph = load_dataset("karate") if data is None else data
    return target(graph, defense or Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str) -> list:
    return [m for m in run.transcript.messages if m.kind == kind]


def holders(run) -> np.ndarray:
    return run.secrets["edge-presence"].holders


@pytest.fixture(scope="module")
def data() -> Data:
    torch.manual_seed(0)
    graph = load_dataset("karate")
    graph.x = torch.rand(graph.num_nodes, 6)
    graph.train_mask = torch.arange(graph.num_nodes) % 3 != 0
    graph.test_mask = ~graph.train_mask
    graph.val_mask = torch.zeros_like(graph.train_mask)
    return graph


def central_gradient(data: Data, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Of the mean loss of a two-layer GCN on the undivided graph."""
    operator = gcn_operator(data.edge_index, data.num_nodes).to_dense()
    free = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    hidden = torch.relu(operator @ data.x @ free["w1"] + free["b1"])
    logits = operator @ hidden @ free["w2"] + free["b2"]
    F.cross_entropy(logits[data.train_mask], data.y[data.train_mask]).backward()
    return {name: weight.grad for name, weight in free.items()}


def test_with_all_boundary_nodes_the_gradient_is_that_of_the_undivided_graph(data):
    run = ran(data, share=1.0, split="dataset")
    for round_ in range(3):
        weights = dict(sent(run, "global-model")[round_].tensors)
        parts = [m.tensors for m in sent(run, "partial-gradient") if m.round == round_]
        assert len(parts) == 3
        for name, expected in central_gradient(data, weights).items():
            total = sum(part[name] for part in parts) / int(data.train_mask.sum())
            torch.testing.assert_close(total, expected, atol=1e-6, rtol=1e-4)


def test_rows_are_real_ones_of_nodes_with_an_edge_to_the_receiver(data):
    run, holder = ran(data, share=0.5), holders(ran(data, share=0.5))
    row, col = data.edge_index.numpy()
    assert sent(run, "boundary-rows")
    for message in sent(run, "boundary-rows"):
        nodes = message.tensors["nodes"].numpy()
        assert torch.equal(message.tensors["x"], data.x[nodes])
        assert np.array_equal(message.tensors["degree"].numpy(), np.bincount(row)[nodes])
        assert set(holder[nodes]) == {int(message.sender.partition(":")[2])}
        receiver = int(message.receiver.partition(":")[2])
        assert all(receiver in holder[col[row == node]] for node in nodes)


def test_hidden_units_and_gradients_are_about_the_nodes_whose_rows_were_sent(data):
    run = ran(data, share=0.5)
    rows, hidden, back = (sent(run, kind) for kind in LINKED_KINDS)
    told = {(m.round, m.sender, m.receiver): m.tensors["nodes"].tolist() for m in rows}
    assert told == {(m.round, m.sender, m.receiver): m.tensors["nodes"].tolist() for m in hidden}
    assert told == {(m.round, m.receiver, m.sender): m.tensors["nodes"].tolist() for m in back}
    assert all(m.tensors["hidden"].shape == (len(m.tensors["nodes"]), 4) for m in hidden)
    assert all(m.tensors["gradient"].shape == (len(m.tensors["nodes"]), 4) for m in back)


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_after_k_epochs_a_share_of_one_less_one_less_p_to_the_k_was_seen(share):
    """The closed form, within five standard deviations; each pair of a node and a receiver is drawn on its own."""
    graph, epochs = load_dataset("citations"), 6
    run = ran(graph, share=share, rounds=epochs, hidden=2, clients=4)
    holder, (row, col) = holders(run), graph.edge_index.numpy()
    border = set(zip(row[holder[row] != holder[col]], holder[col][holder[row] != holder[col]], strict=True))
    seen: set[tuple[int, int]] = set()
    for epoch in range(epochs):
        for message in sent(run, "boundary-rows"):
            if message.round == epoch:
                receiver = int(message.receiver.partition(":")[2])
                seen |= {(node, receiver) for node in message.tensors["nodes"].tolist()}
        expected = 1 - (1 - share) ** (epoch + 1)
        deviation = (expected * (1 - expected) / len(border)) ** 0.5
        assert abs(len(seen) / len(border) - expected) < 5 * deviation
    assert seen <= border


def test_drawn_once_nobody_else_is_seen_later(data):
    run = ran(data, share=0.4, drawn="once")
    by_round = [
        {
            (m.sender, m.receiver, tuple(m.tensors["nodes"].tolist()))
            for m in sent(run, "boundary-rows")
            if m.round == t
        }
        for t in range(3)
    ]
    assert by_round[0] == by_round[1] == by_round[2]


def test_scaled_rows_give_the_right_gradient_on_average(data):
    """Over seeds the last layer's gradient is nearer to that of the undivided graph; relu leaves a rest."""
    settings = {"rounds": 1, "split": "dataset", "share": 0.5}
    first = []
    for scaled in (True, False):
        found = [ran(data, scaled=scaled, seed=seed, **settings) for seed in range(40)]
        apart = []
        for run in found:
            weights = dict(sent(run, "global-model")[0].tensors)
            total = sum(m.tensors["w2"] for m in sent(run, "partial-gradient")) / int(data.train_mask.sum())
            apart.append(total - central_gradient(data, weights)["w2"])
        first.append(float(torch.stack(apart).mean(0).norm()))
    assert first[0] < 0.75 * first[1]


def test_one_client_tells_nobody_anything(data):
    run = ran(data, clients=1)
    assert not any(m.kind in LINKED_KINDS for m in run.transcript.messages)
    assert not set(LINKED_KINDS) & BNSGCN(clients=1).sent()
    assert set(LINKED_KINDS) <= BNSGCN().sent()


def test_absent_nodes_are_in_no_message_and_are_asked_about():
    data = load_dataset("citations")
    run = ran(data, absent=0.2, share=1.0, rounds=1)
    game = run.secrets["node-presence"]
    gone = set(game.subjects[~game.truth].tolist())
    assert len(gone) == round(0.2 * data.num_nodes)
    for message in sent(run, "boundary-rows"):
        assert not gone & set(message.tensors["nodes"].tolist())
    assert list(run.secrets) == ["node-presence"]
    assert BNSGCN(absent=0.2).offers.game == "node-presence"
    assert BNSGCN().offers.game is None
    assert "node-presence" not in ran(data, rounds=1).secrets

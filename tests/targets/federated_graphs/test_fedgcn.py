"""FedGCN: after the exchange clients compute what the undivided graph would give."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import LocalTask, Subgraph, as_parameters
from gaudit.targets.federated_graphs.fedgcn import FedGCN

SMALL = {"clients": 3, "hidden": 4, "rounds": 2, "local_epochs": 2, "lr": 0.05, "split": "dataset", "dropout": 0.0}
EXCHANGE = ("neighbour-ids", "neighbour-sums", "aggregated-rows")


@pytest.fixture(scope="module")
def data() -> Data:
    torch.manual_seed(0)
    graph = load_dataset("karate")
    graph.x = torch.rand(graph.num_nodes, 6)
    graph.train_mask = torch.arange(graph.num_nodes) % 2 == 0
    graph.val_mask = torch.arange(graph.num_nodes) % 4 == 1
    graph.test_mask = torch.arange(graph.num_nodes) % 4 == 3
    return graph


def ran(data: Data, target, seed: int = 0):
    return target(data, Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str) -> list[dict[str, torch.Tensor]]:
    return [dict(m.tensors) for m in run.transcript.messages if m.kind == kind]


def whole(data: Data, target: FedGCN) -> LocalTask:
    """The undivided graph as one client would have it."""
    labelled = data.train_mask.nonzero().flatten()
    forward = Subgraph.of(target.settings.recipe(), data.x, data.edge_index)
    return LocalTask(forward, labelled, data.y[labelled], labelled[:0], data.y[:0])


def test_two_hops_give_the_gradient_of_the_whole_graph(data):
    target = FedGCN(hops=2, upload="gradients", aggregation="weighted", **SMALL)
    run = ran(data, target)
    counts = torch.stack([m["count"] for m in sent(run, "labelled-count")]).float()
    uploads, first = sent(run, "gradient")[:3], sent(run, "global-model")[0]
    central = whole(data, target).gradient(first)
    for name, gradient in central.items():
        mean = sum(share * upload[name] for share, upload in zip(counts / counts.sum(), uploads, strict=True))
        torch.testing.assert_close(mean, gradient, atol=1e-6, rtol=1e-4)
    one_hop = ran(data, FedGCN(hops=1, upload="gradients", aggregation="weighted", **SMALL))
    assert not torch.allclose(sent(one_hop, "gradient")[0]["w1"], uploads[0]["w1"], rtol=1e-3)


def test_one_step_of_descent_is_that_on_the_whole_graph(data):
    target = FedGCN(optimiser="sgd", aggregation="weighted", **SMALL | {"rounds": 1, "local_epochs": 1})
    begin, end = sent(ran(data, target), "global-model")
    free = as_parameters(begin)
    whole(data, target).loss(free).backward()
    for name, weight in end.items():
        expected = begin[name] - 0.05 * free[name].grad
        torch.testing.assert_close(weight, expected, atol=1e-6, rtol=1e-4)


def test_two_hops_answer_as_the_whole_graph(data):
    target = FedGCN(**SMALL)
    run = ran(data, target)
    (model,), (table,) = sent(run, "model"), sent(run, "posteriors-full")
    expected = whole(data, target).forward(model).softmax(1)
    torch.testing.assert_close(table["posteriors"], expected)


def test_without_hops_it_is_federated_averaging(data):
    one, other = ran(data, FedGCN(hops=0, **SMALL)), ran(data, FedAvg(**SMALL))
    assert not any(sent(one, kind) for kind in EXCHANGE)
    assert not FedGCN(hops=0).sent() & set(EXCHANGE)
    for mine, theirs in zip(sent(one, "update"), sent(other, "update"), strict=True):
        for name, weight in theirs.items():
            torch.testing.assert_close(mine[name], weight, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("secure", [True, False])
def test_the_server_reads_sums_only_where_they_are_not_encrypted(data, secure):
    run = ran(data, FedGCN(secure=secure, **SMALL))
    view = run.transcript.seen_by("server")
    assert len(view.of_kind("neighbour-sums")) == (0 if secure else 3)
    assert len(view.of_kind("neighbour-ids")) == 3
    assert len(run.transcript.seen_by("client:1").of_kind("aggregated-rows")) == 1
    kinds = [m.kind for m in run.transcript.messages]
    assert [kinds.count(kind) for kind in EXCHANGE] == [3, 3, 3]  # once, and none for measuring
    assert max(kinds.index(kind) for kind in EXCHANGE) < kinds.index("global-model")
    assert set(kinds) <= FedGCN(**SMALL).sent() <= set(FedGCN.sends)


def test_it_is_a_gcn():
    with pytest.raises(InputError, match="architecture"):
        FedGCN(architecture="sage")
    with pytest.raises(InputError, match="hops"):
        FedGCN(hops=3)


def test_it_learns_citations():
    """About 88 % over seeds."""
    data = load_dataset("citations")
    target = FedGCN(**FedGCN.preset("quick", data))
    run = target(data, Defense(), np.random.SeedSequence(0), lambda message: False)
    assert run.utility.test > 0.82

"""FedSage+: generators by brute force, what clients send each other, and what becomes of the mended graphs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.label_statistic import STATISTIC_KINDS
from gaudit.targets.federated_graphs.fedsage import FedSage
from gaudit.targets.federated_graphs.neighbour_generation import Generator, GeneratorSettings, Others, predicted
from gaudit.targets.messages import Carries, Carrying
from gaudit.targets.partition import partition
from gaudit.targets.party import Client, clients_of

CLIENTS, FEATURES, LATENT = 3, 9, 5
GENERATOR = {"latent": LATENT, "predictions": 3, "epochs": 2, "rounds": 2, "lr": 0.05}
SMALL = {
    "clients": CLIENTS,
    "hidden": 4,
    "rounds": 2,
    "local_epochs": 2,
    "lr": 0.05,
    "split": "dataset",
    "generator": GENERATOR,
}


@pytest.fixture(scope="module")
def data() -> Data:
    torch.manual_seed(0)
    graph = load_dataset("karate")
    graph.x = torch.rand(graph.num_nodes, FEATURES) * (torch.rand(graph.num_nodes, FEATURES) < 0.4)
    graph.x[:, 0] += 0.1  # no row is zero
    graph.train_mask = torch.arange(graph.num_nodes) % 2 == 0
    graph.val_mask = torch.arange(graph.num_nodes) % 4 == 1
    graph.test_mask = torch.arange(graph.num_nodes) % 4 == 3
    return graph


@pytest.fixture(scope="module")
def clients(data) -> list[Client]:
    parts = partition(data, "metis", CLIENTS, branch(np.random.SeedSequence(0), "partition"))
    return clients_of(data, parts)


def generator_of(client: Client, **settings) -> Generator:
    return Generator(client, GeneratorSettings(**GENERATOR | settings), np.random.SeedSequence(7))


def ran(data: Data, defense: Defense | None = None, target=None, seed: int = 0, **settings):
    target = target or FedSage(**SMALL | settings)
    return target(data, defense or Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str, sender: str | None = None) -> list[dict[str, torch.Tensor]]:
    found = [m for m in run.transcript.messages if m.kind == kind and sender in (None, m.sender)]
    return [dict(m.tensors) for m in found]


def dense_sage(w: dict, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
    mean = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    hidden = (mean @ x @ w["w1"] + x @ w["r1"] + w["b1"]).relu()
    return mean @ hidden @ w["w2"] + hidden @ w["r2"] + w["b2"]


def adjacency_of(edges: torch.Tensor, nodes: int) -> torch.Tensor:
    return to_dense_adj(edges, max_num_nodes=nodes)[0]


def left_in(generator: Generator) -> torch.Tensor:
    """Local ids of the nodes that a generator did not hide: its features are told apart by their rows."""
    rows, kept = generator.client.x, generator.impaired.graph.x.matrix.to_dense()
    return (torch.cdist(kept, rows) < 1e-6).float().argmax(1)


def test_half_of_the_nodes_are_hidden_with_their_edges(clients):
    for client in clients:
        generator = generator_of(client)
        impaired, left = generator.impaired, left_in(generator)
        nodes = len(client.nodes)
        assert len(left) == len(set(left.tolist())) == nodes - round(nodes / 2)
        full = adjacency_of(client.edges, nodes)
        assert torch.equal(adjacency_of(impaired.graph.edges, len(left)), full[left][:, left])
        for place, node in enumerate(left.tolist()):
            begin, count = int(impaired.first[place]), int(impaired.missing[place])
            gone = set(full[node].nonzero().flatten().tolist()) - set(left.tolist())
            assert set(impaired.hidden[begin : begin + count].tolist()) == gone
            assert count == len(gone)


def test_loss_by_brute_force(clients):
    for client in clients:
        generator = generator_of(client, noise=0.0)
        impaired, left = generator.impaired, left_in(generator)
        w = {name: weight.detach() for name, weight in generator.weights.items()}
        full = adjacency_of(client.edges, len(client.nodes))
        embedded = dense_sage(w, client.x[left], full[left][:, left])
        numbers = F.softplus(embedded @ w["number"] + w["number_offset"])
        expected, compared = F.smooth_l1_loss(numbers, impaired.missing.float()), 0
        for place, node in enumerate(left.tolist()):
            gone = [u for u in full[node].nonzero().flatten().tolist() if u not in left.tolist()]
            for slot in range(min(3, int(numbers[place].round())) if gone else 0):
                made = torch.tanh(embedded[place] @ w["slots"][slot] + w["offsets"][slot])
                expected += min((made - client.x[u]).square().sum() for u in gone) / len(left)
                compared += 1
        assert compared > 0
        torch.testing.assert_close(generator.loss().detach(), expected)


def test_others_gradient_by_brute_force(clients):
    question = generator_of(clients[0]).question()
    question["counts"][:4] = torch.tensor([0, 1, 2, 3])
    found = Others(clients[1]).gradient(question)
    free = {name: question[name].clone().requires_grad_() for name in ("slots", "offsets")}
    loss = torch.zeros(())
    for row, count in zip(question["inputs"], question["counts"].tolist(), strict=True):
        for slot in range(count):
            made = torch.tanh(row @ free["slots"][slot] + free["offsets"][slot])
            loss = loss + min((made - x).square().sum() for x in clients[1].x)
    (loss / len(question["inputs"])).backward()
    assert found.keys() == free.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, free[name].grad, atol=1e-6, rtol=1e-4)


def test_a_step_takes_the_others_gradient_along(clients):
    one, other = (generator_of(clients[0], noise=0.0) for _ in range(2))
    cross = {name: torch.ones_like(weight) for name, weight in one.of_features.items()}
    one.step()
    other.step(cross)
    for name, weight in one.weights.items():
        added = other.weights[name].grad - weight.grad
        torch.testing.assert_close(added, cross.get(name, torch.zeros_like(weight)))


def test_generators_learn(clients):
    """Without noise the loss is a fixed function, which steps must lower."""
    generator = generator_of(clients[0], noise=0.0, lr=0.01)
    before = float(generator.loss())
    for _ in range(30):
        generator.step()
    assert float(generator.loss()) < 0.8 * before


def test_mending_adds_leaves_to_the_clients_graph(clients):
    for client in clients:
        x, edges = generator_of(client).mended(client)
        own, fresh = len(client.nodes), len(x) - len(client.nodes)
        assert fresh > 0
        assert torch.equal(x[:own], client.x)
        assert torch.equal(edges[:, : client.edges.shape[1]], client.edges)
        full = adjacency_of(edges, len(x))
        assert torch.equal(full, full.t())
        assert not full[own:, own:].any()
        assert (full[own:].sum(1) == 1).all()
        assert full[:own, own:].sum(1).max() <= GENERATOR["predictions"]
        assert (x[own:].abs() <= 1).all()


def test_messages_of_the_generators(data):
    run = ran(data)
    heads = [(m.kind, m.sender, m.receiver) for m in run.transcript.messages if "generator" in m.kind]
    expected = []
    for asking in range(CLIENTS):
        expected += [("generator", f"client:{asking}", "server"), ("generator", "server", "clients")]
        others = [k for k in range(CLIENTS) if k != asking]
        expected += [("generator-gradient", f"client:{k}", "server") for k in others]
        expected += [("generator-gradient", "server", f"client:{asking}")]
    assert heads == expected * GENERATOR["rounds"]
    assert (
        {m.kind for m in run.transcript.messages}
        == FedSage(**SMALL).sent() - set(STATISTIC_KINDS)
        <= set(FedSage.sends)
    )
    (first, *_), (relayed, *_) = sent(run, "generator", "client:0"), sent(run, "generator", "server")
    assert all(torch.equal(relayed[name], tensor) for name, tensor in first.items())
    assert int(relayed["client"]) == 0
    answers = sent(run, "generator-gradient")[:3]
    for name, total in answers[2].items():
        torch.testing.assert_close(total, answers[0][name] + answers[1][name])


class Relaying(Defense):
    """Changes what the server passes on."""

    name = "relaying"
    acts_on = Carrying.any_of(Carries.EMBEDDINGS, to="clients")

    def on_message(self, seed):
        def mod(message):
            if (message.kind, message.sender) != ("generator", "server"):
                return message
            return replace(message, tensors={**message.tensors, "inputs": 0 * message.tensors["inputs"]})

        return mod


def test_clients_answer_what_reached_them(data, clients):
    run = ran(data, Relaying())
    for k in (1, 2):
        expected = Others(clients[k]).gradient(sent(run, "generator", "server")[0])
        assert all(
            torch.equal(sent(run, "generator-gradient", f"client:{k}")[0][n], g) for n, g in expected.items()
        )
    assert bool(sent(run, "generator", "client:0")[0]["inputs"].any())


def test_no_message_holds_a_raw_row(data):
    for message in ran(data).transcript.messages:
        for tensor in message.tensors.values():
            if tensor.dim() and tensor.shape[-1] == FEATURES and tensor.is_floating_point():
                rows = tensor.reshape(-1, FEATURES)
                assert float(torch.cdist(rows, data.x).min()) > 1e-3


def test_the_answer_to_one_prediction_gives_a_raw_row_away(clients):
    """The limit that the docstring states: the difference is in the gradient of the offset."""
    question = generator_of(clients[0]).question()
    question["counts"] = torch.zeros_like(question["counts"])
    question["counts"][2] = 1
    answer = Others(clients[1]).gradient(question)
    rows, _ = predicted(question, question["inputs"], question["counts"])
    scaled = answer["offsets"][0] * len(question["inputs"]) / 2
    recovered = rows[0] - scaled / (1 - rows[0].square())
    nearest = torch.cdist(rows, clients[1].x)[0].argmin()
    torch.testing.assert_close(recovered, clients[1].x[nearest], atol=1e-4, rtol=1e-3)


def test_without_rounds_clients_generate_for_themselves(data):
    target = FedSage(**SMALL | {"generator": GENERATOR | {"rounds": 0}})
    run, together = ran(data, target=target), ran(data)
    assert not {"generator", "generator-gradient"} & target.sent()
    assert not sent(run, "generator")
    assert not torch.equal(sent(run, "update")[0]["w1"], sent(together, "update")[0]["w1"])


def test_training_is_on_the_mended_graphs(data, clients, monkeypatch):
    monkeypatch.setattr(Generator, "mended", lambda self, client: (client.x, client.edges))
    run = ran(data)
    other = ran(data, target=FedAvg(architecture="sage", **{k: v for k, v in SMALL.items() if k != "generator"}))
    for mine, theirs in zip(sent(run, "update"), sent(other, "update"), strict=True):
        assert all(torch.equal(mine[name], weight) for name, weight in theirs.items())


class Edgeless(Defense):
    name = "edgeless"

    def on_data(self, client, shared, seed, hold):
        return replace(client, edges=client.edges[:, :0])


def test_generators_learn_from_defended_graphs_and_mend_the_original_ones(data, clients):
    """Without edges nothing is missing, and nothing is compared with hidden neighbours."""
    run = ran(data, Edgeless())
    assert all(bool(t.isfinite().all()) for m in run.transcript.messages for t in m.tensors.values())
    undefended = ran(data)
    one, other = (sent(r, "generator", "client:0")[-1]["inputs"] for r in (run, undefended))
    assert not torch.allclose(one, other)
    tables = [
        sent(ran(data, Edgeless(), answer_with=how), "posteriors-full")[0] for how in ("original", "defended")
    ]
    assert not torch.allclose(tables[0]["posteriors"], tables[1]["posteriors"])


def test_one_client_alone_and_same_seed_same_run(data):
    alone = ran(data, clients=1)
    assert not sent(alone, "generator")
    one, same = ran(data), ran(data)
    for mine, theirs in zip(one.transcript.messages, same.transcript.messages, strict=True):
        assert all(torch.equal(mine.tensors[n], t) for n, t in theirs.tensors.items())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"generator": {"hidden_share": 1.0}}, "hidden_share"),
        ({"generator": {"latnt": 3}}, "generator.latnt"),
        ({"architecture": "mlp"}, "architecture"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        FedSage(**settings)


def test_it_learns_citations():
    """About 79 % after so few steps."""
    data = load_dataset("citations")
    generator = {"latent": 16, "predictions": 1, "epochs": 10, "rounds": 1}
    settings = {"rounds": 4, "lr": 0.03, "local_epochs": 5, "generator": generator}
    run = FedSage(**settings)(data, Defense(), np.random.SeedSequence(0), lambda message: False)
    assert run.utility.test > 0.75

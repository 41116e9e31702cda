"""FedTAD: what is told of classes, and what the server makes of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.audit.conformance.small_graphs import sixty_nodes
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import Subgraph
from gaudit.targets.federated_graphs.fedtad import (
    Distiller,
    DistillingSettings,
    FedTAD,
    diversity,
    nearest_edges,
    reliability,
    returning,
)
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.partition import Partition, partition
from gaudit.targets.party import Client, clients_of
from gaudit.targets.splits import divided

SMALL = {"clients": 2, "hidden": 4, "rounds": 2, "local_epochs": 2, "lr": 0.05}
RECIPE = TrainingConfig(architecture="gcn", hidden=4, epochs=1, dropout=0, weight_decay=0)


def ran(target, defense: Defense | None = None):
    made = defense or Defense()
    return target(load_dataset("karate"), made, np.random.SeedSequence(0), lambda message: True)


@pytest.fixture
def client() -> Client:
    """All of a graph of sixty nodes, the features not negative."""
    data = sixty_nodes()
    data.x = data.x.abs()
    return clients_of(data, Partition.undivided(60))[0]


def test_chances_of_return_by_powers_of_the_step(client):
    adjacency = torch.eye(60, dtype=torch.double)
    adjacency[client.edges[0], client.edges[1]] = 1
    step = adjacency / adjacency.sum(1, keepdim=True)
    expected = torch.stack([torch.linalg.matrix_power(step, k).diagonal() for k in (1, 2, 3)], 1)
    torch.testing.assert_close(returning(client.edges, 60, 3).double(), expected)


def test_reliability_by_hand(client):
    rows = torch.cat([client.x, returning(client.edges, 60, 5)], 1).numpy()
    expected = np.zeros(3)
    for node in client.train.nonzero().flatten().tolist():
        near = [node, *client.edges[1][client.edges[0] == node].tolist()]
        cosines = [rows[node] @ rows[v] / np.linalg.norm(rows[node]) / np.linalg.norm(rows[v]) for v in near]
        expected[int(client.y[node])] += np.mean(cosines)
    np.testing.assert_allclose(reliability(client, 5), expected / expected.sum(), rtol=1e-5)


@pytest.mark.parametrize("absent", [(), (0,), (1,), (0, 2)])
def test_it_is_zero_for_exactly_the_classes_without_a_label(client, absent):
    fewer = replace(client, train=client.train & ~torch.isin(client.y, torch.tensor(absent)))
    assert (reliability(fewer, 5) == 0).nonzero().flatten().tolist() == list(absent)


def test_nodes_are_linked_both_ways_to_those_most_alike():
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    assert nearest_edges(rows, 2).t().tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]


def test_nodes_that_are_all_alike_are_the_least_diverse():
    noise = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    assert float(diversity(noise, torch.ones(4, 5))) == 1
    assert 0 < float(diversity(noise, 3 * noise)) < float(diversity(noise, noise)) < 1


def distiller(**settings) -> Distiller:
    reliable = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    made = DistillingSettings(nodes=9, noise=4, neighbours=3, **settings)
    return Distiller(made, RECIPE, 5, reliable, np.random.SeedSequence(0))


def weights(number: int) -> dict[str, torch.Tensor]:
    return initial_weights(RECIPE, 5, 3, branch(np.random.SeedSequence(1), number))


def test_divergence_counts_each_class_as_reliable_as_the_client_is():
    told, taught = torch.zeros(9, 3), torch.zeros(2, 9, 3)
    taught[0, 6:] = 5.0  # the first client, of the class that it does not know
    made = distiller()
    assert float(made._divergence(told, taught)) == 0
    taught[1, 6:] = 6.0  # the second, of the one class that it knows
    assert float(made._divergence(told, taught)) == pytest.approx(6.0)
    taught[0, 0] = 3.0  # one of three nodes of a class of which the first is half sure
    assert float(made._divergence(told, taught)) == pytest.approx(6.0 + 0.5 * 3 / 3)


def test_the_common_model_comes_nearer_to_the_clients_on_generated_nodes():
    made, common, uploads = distiller(model_steps=100, model_lr=0.05), weights(0), [weights(1), weights(1)]
    after = made.distilled(common, uploads)
    noise = torch.randn(9, 4, generator=torch.Generator().manual_seed(5))
    rows = made.generator(noise, made.classes).detach()
    sight = Subgraph.of(RECIPE, rows, nearest_edges(rows, 3))
    before, now = ((sight(w) - sight(uploads[0])).abs().mean() for w in (common, after))
    assert float(now) < 0.5 * float(before)


def test_without_distilling_it_is_federated_averaging():
    one, other = ran(FedTAD(distilling={"repeats": 0}, answers="common", **SMALL)), ran(FedAvg(**SMALL))
    of_both = [m for m in one.transcript.messages if m.kind != "class-reliability"]
    for mine, theirs in zip(of_both, other.transcript.messages, strict=True):
        assert (mine.kind, mine.sender, mine.round) == (theirs.kind, theirs.sender, theirs.round)
        assert all(torch.equal(mine.tensors[n], t) for n, t in theirs.tensors.items())


def test_in_the_end_clients_answer_with_their_own_weights_or_the_common_ones():
    data = load_dataset("karate")
    for answers, kind, sender in (("own", "update", "client:1"), ("common", "global-model", "server")):
        target = FedTAD(answers=answers, **SMALL)
        run = ran(target)
        last = [m for m in run.transcript.messages if (m.kind, m.sender) == (kind, sender)][-1].tensors
        parts = partition(data, "metis", 2, branch(np.random.SeedSequence(0), "partition"))
        split = divided(data, parts.owner, "60/20/20", branch(np.random.SeedSequence(0), "split"))
        client = clients_of(split, parts)[1]
        told = run.transcript.seen_by("public").last("posteriors-full").tensors["posteriors"][client.nodes]
        sight = Subgraph.of(target.settings.recipe(), client.x, client.edges)
        torch.testing.assert_close(told, sight(last).softmax(1))


def test_each_client_tells_one_number_for_each_class_once():
    told = [m for m in ran(FedTAD(**SMALL)).transcript.messages if m.kind == "class-reliability"]
    assert [(m.sender, m.receiver, m.round) for m in told] == [(f"client:{k}", "server", -1) for k in range(2)]
    assert {m.nbytes for m in told} == {4 * 4}
    assert all(float(m.tensors["shares"].sum()) == pytest.approx(1) for m in told)


def test_a_secure_sum_will_not_do():
    with pytest.raises(InputError, match="secure sum"):
        ran(FedTAD(**SMALL), find("defenses", "sealed-uploads")())

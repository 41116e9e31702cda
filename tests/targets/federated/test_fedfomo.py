"""FedFOMO: shares by hand, mixtures from what was sent, and what a neighbour knows."""

import numpy as np
import torch
from torch.nn import functional as F

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedfomo import FedFOMO, first_order_shares
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.messages import START_KIND
from gaudit.targets.mixing import with_starts
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

SMALL = {"clients": 3, "hidden": 4, "rounds": 3, "local_epochs": 2, "lr": 0.05, "dropout": 0.0}


def ran(**settings):
    return FedFOMO(**SMALL | settings)(
        load_dataset("karate"), Defense(), np.random.SeedSequence(0), lambda message: True
    )


def test_shares_by_hand():
    gains, distances = torch.tensor([1.0, 2.0, -5.0, 0.0]), torch.tensor([1.0, 4.0, 1.0, 0.0])
    torch.testing.assert_close(first_order_shares(gains, distances), torch.tensor([2 / 3, 1 / 3, 0.0, 0.0]))
    assert not bool(first_order_shares(torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 0.0])).any())


def test_a_client_moves_only_towards_models_that_help_it():
    """With plain steps of no length a round changes nothing but by mixing, and equal models move nobody."""
    run = ran(lr=1e-30, optimiser="sgd")
    first = next(m.tensors for m in run.transcript.messages if m.kind == "first-model")
    for message in (m for m in run.transcript.messages if m.kind == "peer-model"):
        for name, weight in first.items():
            torch.testing.assert_close(message.tensors[name], weight)


def test_a_round_begins_with_the_mixture_that_validation_says():
    """Every share reckoned again from what was sent and from the client's own validation nodes."""
    settings = SMALL | {"optimiser": "sgd", "local_epochs": 1, "split": "dataset", "lr": 0.5, "rounds": 2}
    slow = FedFOMO(**settings)
    data, seed = load_dataset("karate"), np.random.SeedSequence(0)
    run = slow(data, Defense(), seed, lambda message: True)
    told = {(m.sender, m.round): m.tensors for m in run.transcript.messages if m.kind == "peer-model"}
    first = next(m.tensors for m in run.transcript.messages if m.kind == "first-model")
    for c in clients_of(data, partition(data, "metis", 3, branch(seed, "partition"))):
        task = LocalTask.of(c, Subgraph.of(slow.settings.recipe(), c.x, c.edges))
        nodes = c.val if bool(c.val.any()) else c.train

        def loss(weights, task=task, c=c, nodes=nodes):
            return float(F.cross_entropy(task.forward(weights)[nodes], c.y[nodes]))

        useful = []
        for k in range(3):
            other = told[f"client:{k}", 0]
            length = sum(float((other[n] - first[n]).square().sum()) for n in first) ** 0.5
            useful.append(max(0.0, (loss(first) - loss(other)) / length))
        shares = [one / max(sum(useful), 1e-30) for one in useful]
        begun = dict(first)
        for k, share in enumerate(shares):
            begun = {n: w + share * (told[f"client:{k}", 0][n] - first[n]) for n, w in begun.items()}
        gradient = task.gradient(begun)
        for n in first:
            torch.testing.assert_close(told[c.name, 1][n], begun[n] - 0.5 * gradient[n], rtol=1e-4, atol=1e-6)


def test_a_neighbour_knows_beginnings_in_the_first_round_alone():
    view = ran().transcript.seen_by("client:0")
    assert {m.round for m in with_starts(view) if m.kind == START_KIND} == {0}
    starts = [m for m in with_starts(view, estimate=True) if m.kind == START_KIND]
    guessed = [m for m in starts if (m.sender, m.round) == ("client:1", 2)]
    (own,) = [m for m in view.of_kind("peer-model") if (m.sender, m.round) == ("client:1", 1)]
    assert torch.equal(guessed[0].tensors["w1"], own.tensors["w1"])
    assert not any(m.kind == "mixing-shares" for m in view.messages)

"""FedProx: the proximal term, by hand."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.fedprox import FedProx
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

SMALL = {"clients": 2, "hidden": 4, "rounds": 3, "local_epochs": 4, "lr": 0.05}


def ran(target, seed: int = 0):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str, sender: str) -> list[dict[str, torch.Tensor]]:
    return [dict(m.tensors) for m in run.transcript.messages if (m.kind, m.sender) == (kind, sender)]


def test_without_the_term_it_is_federated_averaging():
    one, other = ran(FedProx(mu=0, **SMALL)), ran(FedAvg(**SMALL))
    for mine, theirs in zip(one.transcript.messages, other.transcript.messages, strict=True):
        assert (mine.kind, mine.sender, mine.round) == (theirs.kind, theirs.sender, theirs.round)
        assert all(torch.equal(mine.tensors[n], t) for n, t in theirs.tensors.items())


def test_two_steps_by_hand():
    """The first step begins at the common weights, where the term is flat; the second does not."""
    settings = SMALL | {"dropout": 0.0, "split": "dataset", "rounds": 1, "local_epochs": 2}
    target = FedProx(mu=3.0, optimiser="sgd", **settings)
    run, data = ran(target), load_dataset("karate")
    begin = sent(run, "global-model", "server")[0]
    parts = partition(data, "metis", 2, branch(np.random.SeedSequence(0), "partition"))
    for client in clients_of(data, parts):
        task = LocalTask.of(client, Subgraph.of(target.settings.recipe(), client.x, client.edges))
        gradient = task.gradient(begin)
        middle = {n: w - 0.05 * gradient[n] for n, w in begin.items()}
        gradient = task.gradient(middle)
        (update,) = sent(run, "update", client.name)
        for name, weight in middle.items():
            expected = weight - 0.05 * (gradient[name] + 3.0 * (weight - begin[name]))
            torch.testing.assert_close(update[name], expected)


def test_the_heavier_the_term_the_nearer_clients_stay():
    moved = []
    for mu in (0.0, 1.0, 10.0):
        run = ran(FedProx(mu=mu, optimiser="sgd", **SMALL))
        begin, update = sent(run, "global-model", "server")[0], sent(run, "update", "client:0")[0]
        moved.append(sum(float((update[n] - w).square().sum()) for n, w in begin.items()))
    assert moved[0] > moved[1] > moved[2] > 0


def test_it_sends_weights_and_has_no_gradients_to_send():
    with pytest.raises(InputError, match="upload"):
        FedProx(upload="gradients")
    assert "gradient" not in FedProx().sent()
    assert FedProx().settings.mu == 1e-3

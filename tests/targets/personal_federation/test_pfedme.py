"""pFedMe: both loops and the server's step, by hand."""

import numpy as np
import torch

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from gaudit.targets.personal_federation.pfedme import PFedMe

SMALL = {"clients": 2, "hidden": 4, "rounds": 1, "local_epochs": 2, "lr": 0.05, "dropout": 0.0, "split": "dataset"}
HOW = {"optimiser": "sgd", "lam": 2.0, "eta": 0.1, "inner_steps": 3, "beta": 0.6}


def ran(target):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(0), lambda message: True)


def sent(run, kind: str, sender: str) -> list[dict[str, torch.Tensor]]:
    return [dict(m.tensors) for m in run.transcript.messages if (m.kind, m.sender) == (kind, sender)]


def tasks(target):
    data = load_dataset("karate")
    parts = partition(data, "metis", 2, branch(np.random.SeedSequence(0), "partition"))
    return {
        client.name: (client, LocalTask.of(client, Subgraph.of(target.settings.recipe(), client.x, client.edges)))
        for client in clients_of(data, parts)
    }


def own_model(task, weights):
    """Three steps of 0.05 on the loss + 2 / 2 times the squared distance."""
    theta = weights
    for _ in range(3):
        gradient = task.gradient(theta)
        theta = {n: w - 0.05 * (gradient[n] + 2.0 * (w - weights[n])) for n, w in theta.items()}
    return theta


def test_local_steps_and_the_servers_step_by_hand():
    target = PFedMe(**SMALL, **HOW)
    run = ran(target)
    first, last = sent(run, "global-model", "server")
    uploads = []
    for name, (_, task) in tasks(target).items():
        weights = first
        for _ in range(2):
            theta = own_model(task, weights)
            weights = {n: w - 0.1 * 2.0 * (w - theta[n]) for n, w in weights.items()}
        (update,) = sent(run, "update", name)
        for n, weight in weights.items():
            torch.testing.assert_close(update[n], weight)
        uploads.append(weights)
    for n, before in first.items():
        mean = (uploads[0][n] + uploads[1][n]) / 2
        torch.testing.assert_close(last[n], 0.4 * before + 0.6 * mean)


def test_each_client_answers_with_its_own_model():
    target = PFedMe(**SMALL, **HOW)
    run = ran(target)
    common = sent(run, "global-model", "server")[-1]
    (answers,) = sent(run, "posteriors-full", "server")
    for client, task in tasks(target).values():
        expected = task.forward(own_model(task, common)).softmax(1)
        torch.testing.assert_close(answers["posteriors"][client.nodes], expected)
        assert not torch.allclose(expected, task.forward(common).softmax(1))

"""Per-FedAvg: the gradient after an inner step, by hand; halves of the labelled nodes."""

import numpy as np
import torch

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.local_training import LocalTask, Subgraph, nothing_dropped
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from gaudit.targets.personal_federation.per_fedavg import PerFedAvg, halves, meta_gradient

SMALL = {"clients": 2, "hidden": 4, "rounds": 1, "local_epochs": 1, "lr": 0.05, "dropout": 0.0, "split": "dataset"}


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


def test_the_first_order_gradient_by_hand():
    _, task = tasks(PerFedAvg(**SMALL))["client:0"]
    coins = torch.Generator().manual_seed(0)
    one, other = halves(task, coins)
    shapes = PerFedAvg(**SMALL).settings.recipe().shapes(34, 4)
    weights = {name: torch.randn(shape, generator=coins) for name, shape in shapes.items()}
    inner = one.gradient(weights)
    expected = other.gradient({name: w - 0.3 * inner[name] for name, w in weights.items()})
    found = meta_gradient(one, other, weights, 0.3, nothing_dropped)
    for name, slope in expected.items():
        torch.testing.assert_close(found[name], slope)


def test_halves_part_the_labelled_nodes_and_a_single_one_is_in_both():
    _, task = tasks(PerFedAvg(**SMALL))["client:1"]
    coins = torch.Generator().manual_seed(1)
    one, other = halves(task, coins)
    assert sorted([*one.labelled.tolist(), *other.labelled.tolist()]) == sorted(task.labelled.tolist())
    assert abs(len(one.labelled) - len(other.labelled)) <= 1
    (single,) = {len(half.labelled) for half in halves(halves_of_one(task), coins)}
    assert single == 1


def halves_of_one(task):
    return LocalTask(task.forward, task.labelled[:1], task.labels[:1], task.reference, task.reference_labels)


def test_each_client_answers_one_step_from_the_common_model():
    target = PerFedAvg(alpha=0.7, optimiser="sgd", **SMALL)
    run = ran(target)
    common = sent(run, "global-model", "server")[-1]
    (answers,) = sent(run, "posteriors-full", "server")
    for client, task in tasks(target).values():
        gradient = task.gradient(common)
        own = {name: w - 0.7 * gradient[name] for name, w in common.items()}
        torch.testing.assert_close(answers["posteriors"][client.nodes], task.forward(own).softmax(1))

"""MOON: the contrastive term by hand, and what it leaves alone."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.federated.moon import ContrastedTask, Moon, contrast
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

SMALL = {"clients": 2, "hidden": 4, "rounds": 3, "local_epochs": 4, "lr": 0.05}


def ran(target, seed: int = 0):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(seed), lambda message: True)


def sent(run, kind: str, sender: str) -> list[dict[str, torch.Tensor]]:
    return [dict(m.tensors) for m in run.transcript.messages if (m.kind, m.sender) == (kind, sender)]


def drawn(*shape: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, generator=generator, dtype=torch.double) for _ in range(3)]


def test_the_term_is_the_papers():
    z, common, previous = (rows.numpy() for rows in drawn(5, 3))

    def towards(other: np.ndarray) -> np.ndarray:
        cosine = (z * other).sum(1) / np.linalg.norm(z, axis=1) / np.linalg.norm(other, axis=1)
        return np.exp(cosine / 0.7)

    expected = -np.log(towards(common) / (towards(common) + towards(previous))).mean()
    assert float(contrast(*drawn(5, 3), 0.7)) == pytest.approx(expected)


def test_the_terms_gradient_by_finite_differences():
    z, common, previous = drawn(4, 3)
    assert torch.autograd.gradcheck(lambda rows: contrast(rows, common, previous, 0.5), z.requires_grad_())


def test_without_the_term_it_is_federated_averaging():
    one, other = ran(Moon(mu=0, **SMALL)), ran(FedAvg(**SMALL))
    for mine, theirs in zip(one.transcript.messages, other.transcript.messages, strict=True):
        assert (mine.kind, mine.sender, mine.round) == (theirs.kind, theirs.sender, theirs.round)
        assert all(torch.equal(mine.tensors[n], t) for n, t in theirs.tensors.items())


def test_two_rounds_by_hand():
    """The first round is federated averaging; the second contrasts with the client's own model of the first."""
    settings = SMALL | {"dropout": 0.0, "split": "dataset", "rounds": 2, "local_epochs": 1}
    target = Moon(mu=2.0, optimiser="sgd", **settings)
    run, data = ran(target), load_dataset("karate")
    first, second = sent(run, "global-model", "server")[:2]
    parts = partition(data, "metis", 2, branch(np.random.SeedSequence(0), "partition"))
    for client in clients_of(data, parts):
        sight = Subgraph.of(target.settings.recipe(), client.x, client.edges)
        task, (one, two) = LocalTask.of(client, sight), sent(run, "update", client.name)
        for name, gradient in task.gradient(first).items():
            torch.testing.assert_close(one[name], first[name] - 0.05 * gradient)
        contrasted = ContrastedTask.beside(task, target.settings, sight.hidden(second), sight.hidden(one))
        free = {name: weight.clone().requires_grad_() for name, weight in second.items()}
        loss = task.loss(free) + 2 * contrast(sight.hidden(free), sight.hidden(second), sight.hidden(one), 0.5)
        torch.testing.assert_close(contrasted.loss(second), loss.detach())
        loss.backward()
        for name, weight in free.items():
            torch.testing.assert_close(two[name], second[name] - 0.05 * weight.grad)


def test_updates_follow_from_unlabelled_nodes_that_federated_averaging_never_reads():
    """The features of a node without an edge and a label reach the update through the term alone."""
    data, changed = load_dataset("karate"), load_dataset("karate")
    for graph in (data, changed):
        keep = (graph.edge_index != 33).all(0)
        graph.edge_index = graph.edge_index[:, keep]
        graph.train_mask[33] = False
    changed.x = changed.x.clone()
    changed.x[33] = 1.0
    settings = SMALL | {"hidden": 16, "split": "dataset"}
    for target, same in ((FedAvg(**settings), True), (Moon(**settings), False)):
        runs = [target(graph, Defense(), np.random.SeedSequence(0), lambda m: True) for graph in (data, changed)]
        one, other = (torch.stack([sent(run, "update", f"client:{k}")[-1]["w2"] for k in range(2)]) for run in runs)
        assert torch.equal(one, other) is same


def test_it_sends_weights_as_federated_averaging_does():
    with pytest.raises(InputError, match="upload"):
        Moon(upload="gradients")
    assert Moon().sent() == FedAvg().sent()
    assert (Moon().settings.mu, Moon().settings.temperature) == (1.0, 0.5)

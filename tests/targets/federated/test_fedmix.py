"""FedMix: means of rows, the loss of a mixture by hand, and when it is federated averaging."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.fedmix import FedMix, MixedTask, means_of
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.models.training_config import initial_weights
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

SMALL = {"clients": 3, "hidden": 4, "rounds": 2, "local_epochs": 2, "lr": 0.05}


def ran(target):
    return target(load_dataset("karate"), Defense(), np.random.SeedSequence(0), lambda message: True)


def sent(run, kind):
    return [m for m in run.transcript.messages if m.kind == kind]


@pytest.mark.parametrize(("rows", "number", "each"), [(1, 7, 1), (3, 2, 3), (20, 1, 7)])
def test_means_are_of_as_many_rows_and_no_row_is_in_two(rows, number, each):
    """Row k has a one in place k alone, so that a mean says who is in it."""
    found = means_of(torch.eye(7), F.one_hot(torch.arange(7) % 3).float(), rows, torch.Generator().manual_seed(0))
    assert found["x"].shape == (number, 7)
    assert found["rows"].tolist() == [each] * number
    members = (found["x"] > 0).sum(0)
    assert members.max() == 1
    assert int(members.sum()) == number * each
    for mean, labels in zip(found["x"], found["y"], strict=True):
        told = F.one_hot(mean.nonzero().flatten() % 3, 3).float().mean(0)
        torch.testing.assert_close(labels, told)


def test_the_loss_is_that_of_mixed_rows_for_both_labels():
    data = load_dataset("karate")
    whole = Partition(torch.zeros(34, dtype=torch.long), 1, "whole", torch.empty((2, 0), dtype=torch.long))
    (client,) = clients_of(data, whole)
    recipe = FedMix(**SMALL).settings.recipe()
    weights = initial_weights(recipe, data.num_features, client.classes, np.random.SeedSequence(1))
    task = LocalTask.of(client, Subgraph.of(recipe, client.x, client.edges))
    mean, labels, share = torch.rand(data.num_features), torch.tensor([0.5, 0.25, 0.25, 0.0]), 0.3
    rows = (1 - share) * client.x + share * mean
    mixed = Subgraph.of(recipe, rows, client.edges)
    made = MixedTask(**vars(task), mixed=mixed, others=labels, share=share)
    logits = mixed(weights)[task.labelled].log_softmax(1)
    own = -logits[torch.arange(len(logits)), task.labels]
    others = -(logits * labels).sum(1)
    torch.testing.assert_close(made.loss(weights), (0.7 * own + 0.3 * others).mean())


def test_without_a_share_it_is_federated_averaging():
    one, other = ran(FedMix(share=0, dropout=0.0, **SMALL)), ran(FedAvg(dropout=0.0, **SMALL))
    for mine, theirs in zip(sent(one, "update"), sent(other, "update"), strict=True):
        for name, weight in theirs.tensors.items():
            torch.testing.assert_close(mine.tensors[name], weight, rtol=1e-4, atol=1e-6)


def test_all_get_the_means_of_all_and_nothing_else_of_rows():
    run = ran(FedMix(rows=2, **SMALL))
    told = sent(run, "mean-rows")
    (common,) = sent(run, "common-means")
    assert {m.receiver for m in told} == {"server"}
    assert torch.equal(common.tensors["x"], torch.cat([m.tensors["x"] for m in told]))
    assert {m.kind for m in run.transcript.messages} <= set(FedMix.sends)


def test_gradients_are_not_sent():
    with pytest.raises(InputError, match="upload"):
        FedMix(upload="gradients")

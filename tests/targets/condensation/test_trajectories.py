"""Experts' trajectories: snapshots of trainings as they would be one by one."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.errors import InputError
from gaudit.targets.condensation import trajectories
from gaudit.targets.condensation.trajectories import expert_trajectories, owners_task, with_term
from gaudit.targets.defense import LossTerm
from gaudit.targets.models.backbone import GCN
from gaudit.targets.models.batched_models import Course, recorded
from gaudit.targets.models.propagation import dense_gcn_operator
from gaudit.targets.models.training_config import TrainingConfig, initial_weights
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of
from support.sixty_nodes import sixty_nodes

SEED, EPOCHS = np.random.SeedSequence(3), (0, 2, 5, 11)


def owner():
    (client,) = clients_of(sixty_nodes(), Partition.undivided(60))
    return client


def task(experts=3, **changes):
    recipe = TrainingConfig(
        **{"hidden": 8, "lr": 0.2, "weight_decay": 1e-3, "dropout": 0, "init": "pygcn", **changes}
    )
    return owners_task(owner(), recipe, experts)


def one_by_one(task, first, plain, added=None):
    """The reference: one model on the dense graph by autograd and torch's optimisers; its weights at `EPOCHS`."""
    adjacency = torch.zeros(60, 60).index_put_(tuple(task.data.edge_index), torch.ones(()))
    operator, y = dense_gcn_operator(adjacency), task.data.y
    weights = {name: w.clone().requires_grad_() for name, w in first.items()}
    kind = torch.optim.SGD if plain else torch.optim.Adam
    optimiser = kind(weights.values(), lr=task.recipe.lr, weight_decay=task.recipe.weight_decay)
    kept = []
    for epoch in range(max(EPOCHS) + 1):
        if epoch in EPOCHS:
            kept.append({name: w.detach().clone() for name, w in weights.items()})
        logits = GCN.logits(weights, GCN.hidden(weights, operator @ task.data.x), operator)
        loss = F.cross_entropy(logits[task.members[0]], y[task.members[0]])
        optimiser.zero_grad()
        (loss if added is None else loss + added(logits)).backward()
        optimiser.step()
    return kept


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("memory", [1, 10**9])
def test_a_batch_of_experts_is_as_the_experts_one_by_one(plain, memory):
    its = task()
    found = expert_trajectories(its, EPOCHS, SEED, plain=plain, memory=memory)
    assert found.epochs == EPOCHS
    assert len(found) == 3
    firsts = []
    for k in range(3):
        first = found.at(k, 0)
        firsts.append(first["w1"])
        for epoch, expected in zip(EPOCHS, one_by_one(its, first, plain), strict=True):
            for name, weight in expected.items():
                assert torch.allclose(found.at(k, epoch)[name], weight, atol=1e-4)
    assert not torch.equal(firsts[0], firsts[1])


def test_the_first_snapshot_is_the_first_weights():
    from gaudit.randomness import branch

    found = expert_trajectories(task(), (4,), SEED)
    assert found.epochs == (0, 4)
    first = initial_weights(task().recipe, 5, 3, branch(SEED, "weights", 2))
    assert all(torch.equal(found.at(2, 0)[name], weight) for name, weight in first.items())


def test_snapshots_are_of_their_own_time_and_memory():
    found = expert_trajectories(task(), EPOCHS, SEED)
    for name, stacked in found.weights.items():
        for earlier, later in zip(range(3), range(1, 4), strict=True):
            assert not torch.equal(stacked[:, earlier], stacked[:, later]), name
    before = found.at(0, 5)["w1"].clone()
    found.at(0, 11)["w1"].zero_()
    found.at(1, 5)["w1"].zero_()
    assert torch.equal(found.at(0, 5)["w1"], before)


def test_training_goes_on_from_a_snapshot_to_the_next():
    """Plain descent remembers nothing but the weights; Adam does, so from a snapshot it arrives elsewhere."""
    for plain in (True, False):
        found = expert_trajectories(task(), EPOCHS, SEED, plain=plain)
        rest = task(epochs=11 - 5)
        middle = [found.at(k, 5) for k in range(3)]
        (again,) = recorded(rest, middle, [SEED] * 3, "cpu", 10**9, Course((6,), plain))
        near = torch.allclose(again["w1"][:, 0], found.weights["w1"][:, 3], atol=1e-5)
        assert near == plain


class Pull(LossTerm):
    """A term that remembers how often it was asked."""

    def __init__(self):
        self.asked = 0

    def gradient(self, logits, labels, reference, reference_labels):
        assert len(labels) == 12
        assert len(reference) == len(reference_labels) == 15
        self.asked += 1
        return 0.1 * self.asked * (logits - reference.mean(0))


def test_a_term_is_added_to_each_experts_loss_alone():
    its, client, term = task(), owner(), Pull()
    found = expert_trajectories(its, EPOCHS, SEED, added=with_term(client, term, 3), memory=10**9)
    assert term.asked == 0
    for k in range(3):
        mine = Pull()

        def added(logits, mine=mine):
            own = logits[client.train]
            pull = mine.gradient(
                own.detach(), client.y_train[client.train], logits[client.val].detach(), client.y[client.val]
            )
            return (pull * own).sum() / 12

        expected = one_by_one(its, found.at(k, 0), True, added)[-1]
        assert all(torch.allclose(found.at(k, 11)[name], w, atol=1e-4) for name, w in expected.items())
    without = expert_trajectories(its, EPOCHS, SEED)
    assert not torch.allclose(without.weights["w1"], found.weights["w1"], atol=1e-3)
    assert with_term(client, None, 3) is None


def test_too_many_snapshots_are_refused_before_any_training(monkeypatch):
    monkeypatch.setattr(trajectories, "LIMIT", 4 * 3 * 4 * 74)
    expert_trajectories(task(hidden=7), EPOCHS, SEED)  # 5 x 7 + 7 + 7 x 3 + 3 = 66 weights
    with pytest.raises(InputError, match=r"3 experts \(4 snapshots of 75 weights\).*fewer experts") as caught:
        expert_trajectories(task(), EPOCHS, SEED)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("epochs", [(), (0,), (-1, 3)])
def test_snapshots_need_an_epoch(epochs):
    with pytest.raises(InputError, match="after 1 epoch or more"):
        expert_trajectories(task(), epochs, SEED)

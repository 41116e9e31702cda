"""A part of the model that stays at home: what leaves, rounds by hand, and what is hidden by it."""

import numpy as np
import pytest
import torch

from gaudit.attacks.ownership.class_shares import ClassShares
from gaudit.attacks.ownership.update_codes import UpdateCodes
from gaudit.audit.games.knowledge_cache import KnowledgeCache
from gaudit.audit.planning.trial_plan import AttackPlan
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.randomness import branch
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.federated.fedprox import FedProx
from gaudit.targets.federated.local_training import LocalTask, Subgraph
from gaudit.targets.models.training_config import initial_weights
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of

SMALL = {"clients": 2, "hidden": 4, "rounds": 2, "local_epochs": 2, "lr": 0.05}
PARTS = {"extractor": {"w1", "b1"}, "head": {"w2", "b2"}}


def ran(target, dataset="karate"):
    return target(load_dataset(dataset), Defense(), np.random.SeedSequence(0), lambda message: True)


def sent(run, kind, sender=None):
    return [m for m in run.transcript.messages if m.kind == kind and sender in (None, m.sender)]


@pytest.mark.parametrize("shared", PARTS)
@pytest.mark.parametrize("target", [FedAvg, FedProx])
def test_the_other_part_never_leaves(target, shared):
    made = target(shared=shared, **SMALL)
    run = ran(made)
    assert {m.kind for m in run.transcript.messages} == {"shared-part", "part-update", "posteriors-full"}
    assert {m.kind for m in run.transcript.messages} <= made.sent()
    weights = sent(run, "shared-part") + sent(run, "part-update")
    assert all(set(m.tensors) == PARTS[shared] for m in weights)


@pytest.mark.parametrize("shared", PARTS)
def test_two_rounds_by_hand(shared):
    settings = SMALL | {"dropout": 0.0, "split": "dataset", "optimiser": "sgd"}
    target, seed = FedAvg(shared=shared, **settings), np.random.SeedSequence(0)
    run, data = ran(target), load_dataset("karate")
    recipe = target.settings.recipe()
    common = dict(sent(run, "shared-part")[0].tensors)
    clients = clients_of(data, partition(data, "metis", 2, branch(seed, "partition")))
    kept = {}
    for c in clients:
        own = initial_weights(recipe, data.num_features, c.classes, branch(seed, "kept weights", c.number))
        kept[c.number] = {n: w for n, w in own.items() if n not in PARTS[shared]}
    for round_ in range(2):
        uploads = []
        for c in clients:
            task = LocalTask.of(c, Subgraph.of(recipe, c.x, c.edges))
            weights = {**common, **kept[c.number]}
            for _ in range(2):
                weights = {n: w - 0.05 * task.gradient(weights)[n] for n, w in weights.items()}
            told = sent(run, "part-update", c.name)[round_].tensors
            for name in told:
                torch.testing.assert_close(told[name], weights[name])
            kept[c.number] = {n: w for n, w in weights.items() if n not in PARTS[shared]}
            uploads.append(told)
        common = {n: (uploads[0][n] + uploads[1][n]) / 2 for n in common}
    answers = sent(run, "posteriors-full")[0].tensors["posteriors"]
    for c in clients:
        own = Subgraph.of(recipe, c.x, c.edges)({**common, **kept[c.number]}).softmax(1)
        torch.testing.assert_close(answers[c.nodes], own)


def test_clients_draw_what_they_keep_apart_from_each_other():
    run = ran(FedAvg(shared="extractor", **SMALL | {"lr": 1e-30, "optimiser": "sgd", "dropout": 0.0}))
    answers = sent(run, "posteriors-full")[0].tensors["posteriors"]
    assert not torch.allclose(answers[0], answers[33], atol=1e-4)
    assert sent(ran(FedAvg(**SMALL)), "model"), "there is a common model where all is shared"


def test_gradients_are_of_the_whole_model():
    with pytest.raises(InputError, match="upload=weights"):
        FedAvg(shared="head", upload="gradients")


def mounted(attack, shared):
    """What an attack by the server says on the bundled graph after plain steps."""
    data = load_dataset("citations")
    settings = {"clients": 4, "optimiser": "sgd", "lr": 0.5, "local_epochs": 1, "rounds": 5}
    target = FedAvg(shared=shared, **settings)
    seed = np.random.SeedSequence(1)
    run = target(data, Defense(), seed, lambda message: True)
    plan = AttackPlan(attack.name, {}, "server")
    given, knowledge, _ = KnowledgeCache(data, seed, "cpu").for_attack(attack(), plan, run)
    return attack()(given.renamed(run.transcript.seen_by("server")), knowledge, seed)


def test_owners_are_read_off_the_extractor_and_not_off_the_head():
    assert len(mounted(UpdateCodes, "extractor").score)
    with pytest.raises(InputError, match="sent nothing of a layer that reads"):
        mounted(UpdateCodes, "head")


def test_classes_are_not_read_off_the_extractor():
    run = ran(FedAvg(shared="extractor", **SMALL), "citations")
    assert ClassShares().why_not(run.transcript.seen_by("server"), _Nobody()) is None
    with pytest.raises(InputError, match="has no 'w2'"):
        ClassShares().score(run.transcript.seen_by("server"), _Nobody())


class _Nobody:
    """Who asks about both clients and seven classes."""

    game, classes = "class-presence", 6
    clients_and_classes = (torch.tensor([0, 1]), torch.tensor([0, 0]))

    def lacks(self, auditor, own_data):
        return None

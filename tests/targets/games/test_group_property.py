"""Group property: shares and sizes of what is left, lots that nothing public tells, and what it asks."""

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch_geometric.data import Data

from gaudit.attacks.ownership.class_shares import ClassShares
from gaudit.audit.games.knowledge_cache import KnowledgeCache
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.games.group_property import GroupProperty, group_property, of_share, with_property

CLIENTS, CLASSES = 6, 3
EVEN = {"partition": "dirichlet", "beta": 1e4}


def graph(per_cell: int = 20) -> Data:
    """Each client has as many labelled nodes of each class."""
    y = torch.arange(CLIENTS * CLASSES * per_cell) % CLASSES
    return Data(x=torch.ones(len(y), 1), y=y, train_mask=torch.ones(len(y), dtype=torch.bool))


def owners(data: Data) -> torch.Tensor:
    return torch.arange(len(data.y)) // (len(data.y) // CLIENTS)


def test_the_class_makes_up_one_of_two_shares_and_numbers_of_labels_do_not_tell_which():
    data = graph()
    owner = owners(data)
    seen, sizes = set(), set()
    for seed in range(20):
        thinned, having = with_property(data, owner, 1, (0.1, 0.5), np.random.SeedSequence(seed))
        for number, many in having.items():
            own = thinned.train_mask & (owner == number)
            share = float((data.y[own] == 1).float().mean())
            assert share == pytest.approx(0.5 if many else 0.1, abs=0.02)
            seen.add(many)
            sizes.add(int(own.sum()))
    assert seen == {True, False}
    assert len(sizes) == 1
    assert bool(data.train_mask.all()), "the graph that was given is left as it is"


def test_half_of_the_clients_have_it_and_every_client_as_often_as_not():
    data = graph()
    owner = owners(data)
    drawn = [with_property(data, owner, 0, (0.1, 0.5), np.random.SeedSequence(seed))[1] for seed in range(200)]
    assert {sum(having.values()) for having in drawn} == {CLIENTS // 2}
    for number in range(CLIENTS):
        times = sum(having[number] for having in drawn)
        assert binom.ppf(5e-5, 200, 0.5) <= times <= binom.ppf(1 - 5e-5, 200, 0.5)


def test_a_single_client_is_refused():
    data = graph()
    with pytest.raises(InputError, match="use two or more"):
        with_property(data, torch.zeros(len(data.y), dtype=torch.long), 0, (0.1, 0.5), np.random.SeedSequence(0))


def test_a_client_with_too_few_labels_of_the_class_is_named():
    data = graph()
    owner = owners(data)
    data.train_mask = data.train_mask & ~((owner == 2) & (data.y == 1))
    with pytest.raises(InputError, match="client:2 has 0 labels of class 1 and 40 others: too few"):
        with_property(data, owner, 1, (0.1, 0.5), np.random.SeedSequence(0))


def test_as_many_labels_are_left_for_either_share_or_none():
    rng = np.random.default_rng(0)
    for inside, others in np.ndindex(12, 12):
        for shares in ((0.1, 0.5), (0.4, 0.9), (0.0, 0.3)):
            both = [
                of_share(np.arange(inside), 100 + np.arange(others), shares, many, rng) for many in (False, True)
            ]
            few, many = ([] if one is None else one.tolist() for one in both)
            assert len(few) == len(many) == len(set(few)) == len(set(many))
            assert (both[0] is None) == (both[1] is None)
            if both[0] is not None:
                assert sum(one < 100 for one in few) < sum(one < 100 for one in many)


def test_there_is_no_game_where_all_clients_are_alike():
    nobody = np.zeros(0, dtype=np.int64)
    assert group_property({0: True, 1: True}, 0, 3, (0.1, 0.5), nobody) == {}
    (game,) = group_property({0: True, 4: False}, 2, 3, (0.1, 0.5), nobody).values()
    assert game.subjects.tolist() == [2, 14]
    assert game.truth.tolist() == [True, False]


@pytest.fixture(scope="module")
def run():
    target = FedAvg(clients=8, rounds=2, local_epochs=1, optimiser="sgd", lr=0.5, asked_class=0, **EVEN)
    return target(load_dataset("citations"), Defense(), np.random.SeedSequence(0), lambda message: True)


def test_a_target_that_is_asked_plays_this_game_alone(run):
    assert list(run.secrets) == [GroupProperty.name]
    assert FedAvg(asked_class=0).plays == {GroupProperty.name}
    assert GroupProperty.name not in FedAvg().plays


def test_the_first_update_tells_the_property(run):
    plan = AttackPlan("class-shares", observer="server")
    trial = TrialPlan("fedavg", {}, "none", {}, (plan,), 0, 0)
    cache = KnowledgeCache.of(trial, load_dataset("citations"))
    given, knowledge, game = cache.for_attack(ClassShares(), plan, run)
    scores = ClassShares()(given.renamed(run.transcript.seen_by("server")), knowledge, np.random.SeedSequence(0))
    found = np.asarray(scores.score)
    assert found[game.truth].min() > found[~game.truth].max()


def test_shares_must_differ():
    with pytest.raises(InputError, match="expected two shares below 1"):
        FedAvg(asked_class=0, asked_shares=(0.5, 0.5))

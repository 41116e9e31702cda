"""Numbers that clients say of their links: the last of each is read, and what is no number is refused."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from gaudit.attacks.ownership.edge_counts import EdgeCounts
from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.channel import Channel
from gaudit.targets.controls.planted_density import PlantedDensity
from gaudit.targets.defense import Defense
from gaudit.targets.games.group_density import ClientKnowledge
from support.adversaries import adversary

SEED = np.random.SeedSequence(0)


def knowledge(clients: int = 4) -> ClientKnowledge:
    return ClientKnowledge(subjects=torch.arange(clients), members=clients // 2, classes=3, game="group-density")


def heard(numbers: dict[int, list[float]]):
    channel = Channel()
    for client, told in numbers.items():
        for round_, number in enumerate(told):
            tensors = {"confidence": torch.tensor(number)}
            channel.send("label-moments", f"client:{client}", "server", round_, tensors)
    return channel.transcript.seen_by("server")


def test_the_last_number_of_each_client_is_read_and_who_is_not_heard_has_the_mean():
    found = EdgeCounts()(heard({0: [9.0, 1.0], 1: [0.0, 5.0], 3: [3.0]}), knowledge(), SEED).score
    assert found.tolist() == [1.0, 5.0, 3.0, 3.0]


def test_numbers_that_follow_no_lots_tell_nothing():
    """The AUC against lots drawn apart is one half, within four standard errors."""
    rng = np.random.default_rng(0)
    aucs = []
    for _ in range(200):
        view = heard({client: [rng.random()] for client in range(4)})
        aucs.append(roc_auc_score(rng.permutation([1, 1, 0, 0]), EdgeCounts()(view, knowledge(), SEED).score))
    assert abs(np.mean(aucs) - 0.5) <= 4 * np.sqrt((2 + 2 + 1) / (12 * 2 * 2) / 200)


@pytest.mark.parametrize("told", [torch.tensor(float("nan")), torch.ones(2)])
def test_what_is_no_number_is_refused(told):
    channel = Channel()
    channel.send("label-moments", "client:0", "server", 0, {"confidence": told})
    with pytest.raises(InputError, match="holds no finite number 'confidence'"):
        EdgeCounts()(channel.transcript.seen_by("server"), knowledge(), SEED)


def test_silence_is_said():
    with pytest.raises(InputError, match="grows with a client's links"):
        EdgeCounts()(heard({}), knowledge(), SEED)


def test_it_finds_the_control():
    data = load_dataset("citations")
    run = PlantedDensity()(data, Defense(), SEED, lambda message: True)
    (game,) = run.secrets.values()
    given = game.grant(data, adversary(), SEED)[0].knowledge
    score = EdgeCounts()(run.transcript.seen_by("server"), given, SEED).score
    assert roc_auc_score(game.truth, score) == 1.0

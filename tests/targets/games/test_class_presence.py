"""Which classes clients have labels of, as a game."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import attacks_on
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.games.class_presence import ClassPresence, class_presence
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from support.adversaries import adversary


@pytest.fixture(scope="module")
def data():
    return load_dataset("citations")


@pytest.fixture(scope="module")
def clients(data):
    """The first has no label of class 2, the others have what they have."""
    first, *others = clients_of(data, partition(data, "dirichlet", 4, 0, beta=1e4))
    return [replace(first, train=first.train & (first.y != 2)), *others]


def test_each_client_and_class_is_asked_about(clients):
    (game,) = class_presence(clients).values()
    expected = {
        client.number * client.classes + label: bool((client.train & (client.y == label)).any())
        for client in clients
        for label in range(client.classes)
    }
    assert dict(zip(game.subjects.tolist(), game.truth.tolist(), strict=True)) == expected
    assert expected[2] is False


def test_where_everybody_has_every_class_nothing_is_asked(clients):
    every = [replace(c, train=torch.ones_like(c.train)) for c in clients]
    assert class_presence(every) == {}


def test_an_attack_that_finds_nobody_to_tell_apart_says_why(data):
    attack = AttackPlan("class-shares", observer="server")
    settings = {"clients": 2, "partition": "metis", "rounds": 1, "hidden": 8}
    plan = TrialPlan("cfl", settings, "none", {}, (attack,), 0, 0)
    run = find("targets", "cfl")(**settings)(data, Defense(), plan.root(), lambda message: True)
    assert "class-presence" not in run.secrets
    (reason,) = attacks_on(plan, run, data, plan.root()).refused.values()
    assert reason.endswith("nobody to tell apart in class-presence: every client has labels of every class")


def test_adversaries_know_how_common_classes_are_and_no_node(data, clients):
    (game,) = class_presence(clients).values()
    given, _ = game.grant(data, adversary(), np.random.SeedSequence(0))
    shares = np.bincount(data.y) / len(data.y)
    np.testing.assert_allclose(given.knowledge.shares, shares)
    assert given.knowledge.subjects.tolist() == sorted(game.subjects.tolist())
    assert given.subject_ids(game.subjects).tolist() == game.subjects.tolist()
    client, label = given.knowledge.clients_and_classes
    assert torch.equal(client * game.cells + label, given.knowledge.subjects)
    assert given.knowledge.sentence().startswith("knows how common each of the")


def test_the_public_column_is_the_share_of_the_class(data, clients):
    (game,) = class_presence(clients).values()
    (column,) = game.public_columns(data, np.random.SeedSequence(0)).values()
    shares = np.bincount(data.y) / len(data.y)
    np.testing.assert_allclose(column[:, 0], shares[np.sort(game.subjects) % game.cells])


def test_clients_are_not_asked_about_themselves(clients):
    (game,) = class_presence(clients).values()
    assert set(game.subjects[game.known_to([1])] // game.cells) == {1}


def test_found_by_name():
    assert find("games", "class-presence") is ClassPresence
    assert ClassPresence.words.question.endswith("?")

"""Cells, a client and a class each, and which of them one labelled node is alone in."""

import numpy as np
import pytest

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.games.lone_node import LoneNode, UploadKnowledge, lone_nodes
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of
from support.adversaries import adversary


@pytest.fixture(scope="module")
def data():
    return load_dataset("citations")


@pytest.fixture(scope="module")
def clients(data):
    return clients_of(data, partition(data, "dirichlet", 5, 0))


def test_cells_are_counted(clients):
    found = lone_nodes(clients)
    expected = {}
    for client in clients:
        for label in range(client.classes):
            count = int((client.train & (client.y == label)).sum())
            if count:
                expected[client.number * client.classes + label] = count == 1
    assert dict(zip(found.subjects.tolist(), found.truth.tolist(), strict=True)) == expected


def test_it_is_told_which_upload_is_whose_and_nothing_else(data, clients):
    game = lone_nodes(clients)
    told = LoneNode(subjects=game.subjects[::-1], truth=game.truth[::-1], cells=game.cells)
    given, narrowed = told.grant(data, adversary(), np.random.SeedSequence(0))
    assert isinstance(given.knowledge, UploadKnowledge)
    assert given.knowledge.subjects.tolist() == sorted(game.subjects.tolist())
    assert given.knowledge.members == game.truth.sum()
    assert given.subject_ids(game.subjects).tolist() == game.subjects.tolist()
    assert given.knowledge.sentence() == "knows no node, only what each upload says of itself"
    assert narrowed(told) is told


def test_risk_is_told_by_client_and_class(data, clients):
    game = lone_nodes(clients)
    found = game.attributes(data)
    cells = [int(c) * game.cells + int(k) for c, k in zip(found["client"], found["class"], strict=True)]
    assert cells == sorted(game.subjects.tolist())

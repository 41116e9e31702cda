"""The control of group property: who has class 0 tells so, and the coin is about fair."""

import numpy as np
import pytest

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_property import PlantedProperty
from gaudit.targets.defense import Defense
from gaudit.targets.games.group_property import GroupProperty


@pytest.fixture(scope="module")
def run():
    data = load_dataset("planted")
    return PlantedProperty()(data, Defense(), np.random.SeedSequence(0), lambda message: True)


def test_it_asks_every_client_about_class_0(run):
    (game,) = run.secrets.values()
    assert game.name == GroupProperty.name
    assert (game.subjects % game.cells == 0).all()
    assert len(game.subjects) == 20
    assert 0.2 < game.truth.mean() < 0.8


def test_shares_tell_who_has_the_class(run):
    (game,) = run.secrets.values()
    truth = dict(zip((game.subjects // game.cells).tolist(), game.truth.tolist(), strict=True))
    told = {
        int(message.sender.partition(":")[2]): bool(message.tensors["shares"][0] > 0)
        for message in run.transcript.messages
        if message.kind == "class-reliability"
    }
    assert told == truth

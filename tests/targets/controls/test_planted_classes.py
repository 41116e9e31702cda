"""The control of class presence: everybody tells which classes it has, in three ways."""

import numpy as np
import pytest
import torch

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_classes import PlantedClasses
from gaudit.targets.defense import Defense


@pytest.fixture(scope="module", params=[0, 1, 2])
def run(request):
    data = load_dataset("planted")
    return PlantedClasses()(data, Defense(), np.random.SeedSequence(request.param), lambda message: True)


def test_shares_are_positive_for_exactly_the_classes_that_are_there(run):
    (game,) = run.secrets.values()
    truth = game.truth.reshape(10, game.cells)
    for message in run.transcript.messages:
        if message.kind == "class-reliability":
            number = int(message.sender.partition(":")[2])
            assert (message.tensors["shares"] > 0).tolist() == truth[number].tolist()
            assert float(message.tensors["shares"].sum()) == pytest.approx(1)


def test_half_of_the_classes_are_there(run):
    (game,) = run.secrets.values()
    assert 0.4 < game.truth.mean() < 0.7


def test_no_weight_of_an_absent_class_rises(run):
    (game,) = run.secrets.values()
    truth = torch.from_numpy(game.truth.reshape(10, game.cells))
    (first,) = [m for m in run.transcript.messages if m.kind == "global-model"]
    for message in run.transcript.messages:
        if message.kind == "update":
            rise = (message.tensors["w2"] - first.tensors["w2"]).max(0).values
            assert not bool((rise[~truth[int(message.sender.partition(":")[2])]] > 0).any())

"""The control of neighbourhood presence: gradients of two graphs each, whose rows span less than the layer."""

import numpy as np
import pytest
import torch

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_neighbourhoods import BATCH, RECIPE, PlantedNeighbourhoods
from gaudit.targets.defense import Defense
from gaudit.targets.games.neighbourhood_presence import NeighbourhoodPresence


@pytest.fixture(scope="module")
def run():
    data = load_dataset("planted-graphs")
    return PlantedNeighbourhoods()(data, Defense(), np.random.SeedSequence(0), lambda message: True)


def test_half_of_the_neighbourhoods_of_each_client_are_there(run):
    (game,) = run.secrets.values()
    assert game.name == NeighbourhoodPresence.name
    for client in np.unique(game.owners):
        assert game.truth[game.owners == client].mean() == pytest.approx(0.5)


def test_each_client_sends_one_gradient_that_spans_fewer_dimensions_than_the_layer_has(run):
    sent = [m for m in run.transcript.messages if m.kind == "gradient"]
    assert [m.sender for m in sent] == [f"client:{k}" for k in range(10)]
    for message in sent:
        wide = [t for t in message.tensors.values() if t.dim() == 2 and t.shape[0] == RECIPE.hidden]
        ranks = [int(torch.linalg.matrix_rank(t.double(), rtol=1e-6)) for t in wide]
        assert min(ranks) <= 4 * BATCH < RECIPE.hidden

"""The control of attributes: three releases tell a coin that nothing else tells of."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.controls.planted_attributes import PlantedAttributes
from gaudit.targets.defense import Defense
from gaudit.targets.messages import HIDDEN_ROWS_KIND, PUBLISHED_KIND, posteriors_kind
from gaudit.targets.published import network_of

DATA = load_dataset("planted-attributes")
COIN = DATA.x[:, 0].numpy() > 0


@pytest.fixture(scope="module", params=[0, 1])
def run(request):
    return PlantedAttributes()(DATA, Defense(), np.random.SeedSequence(request.param), lambda message: True)


def test_the_truth_is_the_coin(run):
    (game,) = run.secrets.values()
    assert game.truth.tolist() == COIN[game.subjects].tolist()
    assert game.told.tolist() == COIN[game.known].tolist()


def test_published_links_join_people_of_one_coin(run):
    (game,), (message,) = run.secrets.values(), run.transcript.seen_by("public").of_kind(PUBLISHED_KIND)
    person = np.argsort(game.image)
    low, high = person[network_of(message).edges]
    assert (COIN[low] == COIN[high]).all()
    assert len(low) > 1000


def test_answers_and_rows_follow_the_coin(run):
    view = run.transcript.seen_by("public")
    told = view.last(posteriors_kind("full")).tensors["posteriors"]
    assert len(set(map(tuple, told[torch.from_numpy(COIN)].tolist()))) == 1
    rows = view.last(HIDDEN_ROWS_KIND).tensors["embeddings"].numpy()
    assert LogisticRegression().fit(rows, COIN).score(rows, COIN) == 1.0


def test_the_graph_tells_nothing_of_the_coin():
    """Correlations with other columns, the label and neighbours: each below 5 standard errors (1e-6 each)."""
    near = np.zeros(300)
    np.add.at(near, DATA.edge_index[0].numpy(), COIN[DATA.edge_index[1].numpy()] - 0.5)
    told = np.column_stack([DATA.x[:, 1:].numpy(), DATA.y.numpy(), near])
    assert np.abs(np.corrcoef(told.T, COIN)[-1, :-1]).max() < 5 / np.sqrt(300)

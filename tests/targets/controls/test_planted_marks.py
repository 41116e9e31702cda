"""The control of marks: common friends exactly at marked links, and nothing else that tells."""

import numpy as np
import pytest

from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.pair_codes import ends
from gaudit.targets.controls.planted_marks import FRIENDS, PlantedMarks
from gaudit.targets.defense import Defense
from gaudit.targets.published import network_of

DATA = load_dataset("planted-network")


@pytest.mark.parametrize("seed", [0, 1])
def test_marked_links_have_friends_of_their_own_and_no_weight_is_published(seed):
    run = PlantedMarks()(DATA, Defense(), np.random.SeedSequence(seed), lambda message: True)
    (message,) = run.transcript.messages
    assert set(message.tensors) == {"size", "edges"}
    network = network_of(message)
    assert set(run.secrets) == {"link-weight", "link-type"}
    for game in run.secrets.values():
        low, high = (game.image[end] for end in ends(game.subjects, game.nodes))
        near = network.adjacency.toarray() > 0
        nobody = np.setdiff1d(np.arange(network.nodes), game.image)
        assert np.array_equal((near[low] & near[high])[:, nobody].sum(1), FRIENDS * game.truth)
        assert (near[nobody].sum(1) == 2).all()

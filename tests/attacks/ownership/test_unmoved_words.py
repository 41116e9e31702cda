"""Words that never moved prove who took no part, whatever the optimiser."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.attacks.ownership.unmoved_words import UnmovedWords, moved_together
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from support.upload_worlds import upload_world

SEED = np.random.SeedSequence(0)


def test_the_measure_word_by_word():
    x = torch.tensor([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    moved = torch.tensor([[3.0, 4], [0, 2], [5, 0], [0, 0]]).double()
    unit = np.array([[0.6, 0.8], [0, 1], [1, 0]])
    first = np.linalg.norm((unit[0] + 0.5 * unit[1]) / 1.5)
    second = np.linalg.norm((0.5 * unit[1] + unit[2]) / 1.5)
    np.testing.assert_allclose(moved_together(x, moved).numpy(), [first, second, -1], rtol=1e-12)


def halved(world):
    """Clients of which every other node keeps neither label nor edge, and who took part, [N]."""
    kept, taking = torch.arange(20) % 2 == 0, []
    for client in world.clients:
        row, col = client.edges
        taking.append(replace(client, train=kept, edges=client.edges[:, kept[row] & kept[col]]))
    order = np.concatenate([np.flatnonzero(world.owner == n) for n in range(3)])
    truth = np.empty(60, dtype=bool)
    truth[order] = np.tile(kept.numpy(), 3)
    return taking, truth


@pytest.mark.parametrize("steps", [{"optimiser": "sgd"}, {"optimiser": "adam", "lr": 0.01, "steps": 5}])
def test_the_proof_is_never_wrong(steps):
    """Half of each client's nodes keep neither label nor edge; who took part is never said to have not."""
    world = upload_world()
    taking, truth = halved(world)
    transcript = world.uploads(clients=taking, **steps)
    found = UnmovedWords()(transcript.seen_by("server"), world.knowledge(holders=True), SEED)
    proved = found.score == -1
    assert not truth[proved].any()
    assert proved.sum() > 20
    assert auc(truth, found.score) > 0.9


@pytest.mark.parametrize("steps", [{"optimiser": "sgd"}, {"optimiser": "adam", "lr": 0.01, "steps": 5}])
def test_a_secure_sum_tells_who_took_part(steps):
    """What no client moved stays where it is in the mean of three, too, which rounds."""
    world = upload_world()
    taking, truth = halved(world)
    hidden, _ = world.averages(rounds=3, clients=taking, **steps)
    found = UnmovedWords()(hidden.seen_by("server"), world.knowledge(holders=True), SEED)
    proved = found.score == -1
    assert not truth[proved].any()
    assert proved.any()
    assert auc(truth, found.score) > 0.75


def test_dense_features_are_refused():
    world = upload_world()
    world.data.x = world.data.x + 1
    with pytest.raises(InputError, match="100% of the features are not zero"):
        UnmovedWords()(world.uploads().seen_by("server"), world.knowledge(), SEED)

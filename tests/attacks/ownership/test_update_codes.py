"""Who holds whom from codes: the measure by brute force, and honest uploads."""

import numpy as np
import pytest
import scipy.linalg
import torch

from gaudit.attacks.ownership.row_codes import WhiteRows, row_codes
from gaudit.attacks.ownership.update_codes import UpdateCodes
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from support.upload_worlds import upload_world

SEED = np.random.SeedSequence(0)


def test_presence_is_the_share_of_a_white_row_in_the_span_of_the_white_change():
    rng = np.random.default_rng(0)
    x, change = rng.normal(size=(12, 7)), rng.normal(size=(7, 3))
    ridge = 0.1 * np.square(x).sum() / 12
    half = np.real(scipy.linalg.inv(scipy.linalg.sqrtm(x.T @ x + ridge * np.eye(7))))
    rows, seen = x @ half, half @ change
    inside = np.square(rows @ scipy.linalg.orth(seen)).sum(1) / np.square(rows).sum(1)
    found = WhiteRows.of(torch.from_numpy(x), 0.1).presence(torch.from_numpy(change), 1e-6)
    np.testing.assert_allclose(found.numpy(), inside, rtol=1e-9)


@pytest.mark.parametrize("nodes", [4, 9])
def test_codes_are_those_of_a_ridge_regression_on_either_side(nodes):
    rng = np.random.default_rng(1)
    x, change = rng.normal(size=(nodes, 6)), rng.normal(size=(6, 3))
    gram = x @ x.T + 0.2 * np.square(x).sum() / nodes * np.eye(nodes)
    found = row_codes(torch.from_numpy(x), torch.from_numpy(change), 0.2)
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(gram, x @ change), rtol=1e-9)


def test_a_row_of_zeros_is_nowhere_and_zeros_alone_are_refused():
    x = torch.eye(4)
    x[2] = 0
    assert float(WhiteRows.of(x, 0.1).presence(torch.eye(4), 1e-6)[2]) == 0
    with pytest.raises(InputError, match="all zero"):
        WhiteRows.of(torch.zeros(3, 4), 0.1)


@pytest.mark.parametrize("rounds", [1, 4])
def test_owners_are_named_after_honest_steps(rounds):
    world = upload_world()
    scores = UpdateCodes()(world.uploads(rounds=rounds).seen_by("server"), world.knowledge(), SEED)
    named = (world.table(scores).argmax(1) == world.owner).double().mean()
    assert named > (0.95 if rounds == 4 else 0.8)  # by lot a third


def test_a_secure_sum_tells_who_is_anywhere_and_not_where():
    world = upload_world()
    hidden, _ = world.averages(rounds=4, clients=world.clients[:2])
    table = world.table(UpdateCodes()(hidden.seen_by("server"), world.knowledge(), SEED))
    assert bool((table == table[:, :1]).all())
    anywhere = (world.owner < 2).numpy()
    assert auc(anywhere, table[:, 0].numpy()) > 0.9

"""Published rows that hold a hidden coin give it away, also under what everybody knows."""

import numpy as np
import pytest
import torch

from gaudit.attacks.attributes.attribute_rows import left_over
from gaudit.errors import InputError
from gaudit.targets.messages import HIDDEN_ROWS_KIND
from support.attribute_worlds import CHANCE, NODES, CoinWorld


def released(weight: float, known: float = 0.0) -> CoinWorld:
    world, noise = CoinWorld(), torch.Generator().manual_seed(0)
    rows = torch.randn(NODES, 4, generator=noise) + known * world.data.x[:, 1:5]
    rows[:, 2] += weight * world.coin
    order = torch.randperm(NODES, generator=noise)
    world.tell(HIDDEN_ROWS_KIND, nodes=order, embeddings=rows[order])
    return world


def test_a_coin_in_the_rows_is_found():
    assert released(6.0).auc("attribute-rows") > 0.95
    assert abs(released(6.0).auc("attribute-rows", blind=True) - 0.5) < CHANCE


def test_a_coin_under_what_everybody_knows_is_found():
    assert released(6.0, known=50.0).auc("attribute-rows") > 0.95


def test_rows_without_it_tell_nothing():
    assert abs(released(0.0).auc("attribute-rows") - 0.5) < CHANCE


def test_what_is_left_over_has_nothing_of_what_is_known():
    rng = np.random.default_rng(0)
    known, own = rng.normal(size=(5000, 6)), rng.normal(size=(5000, 2))
    left = left_over(known @ rng.normal(size=(6, 2)) + own, known)
    assert np.abs(np.corrcoef(left.T, known.T)[:2, 2:]).max() < 0.05
    assert np.diag(np.corrcoef(left.T, own.T)[:2, 2:]).min() > 0.99


@pytest.mark.parametrize(
    ("nodes", "rows", "message"),
    [
        (torch.arange(NODES), torch.zeros(NODES), "must hold nodes"),
        (torch.arange(NODES - 1), torch.zeros(NODES - 1, 2), "one row for each of 300 people, got 299"),
        (torch.zeros(NODES, dtype=torch.long), torch.zeros(NODES, 2), "one row for each"),
        (torch.arange(NODES), torch.full((NODES, 2), torch.nan), "not finite"),
    ],
)
def test_malformed_rows_are_refused(nodes, rows, message):
    world = CoinWorld()
    world.tell(HIDDEN_ROWS_KIND, nodes=nodes, embeddings=rows)
    with pytest.raises(InputError, match=message):
        world.auc("attribute-rows")

"""Imputation reads no release: it finds what other attributes and known neighbours tell, and nothing else."""

import numpy as np
import pytest
import torch

from gaudit.registry import find
from support.attribute_worlds import CHANCE, CoinWorld


def alike(coin: torch.Tensor) -> torch.Tensor:
    """Links between people of the same coin, both ways."""
    rng, coin = np.random.default_rng(0), coin.numpy()
    one = np.arange(len(coin)).repeat(6)
    other = np.array([rng.choice(np.flatnonzero(coin == coin[k])) for k in one])
    pairs = np.stack([one, other])[:, one != other]
    both = np.unique(np.hstack([pairs, pairs[::-1]]), axis=1)
    return torch.from_numpy(both)


@pytest.mark.parametrize("linked", [False, True])
def test_coins_are_not_told_by_coins_or_random_links(linked):
    assert abs(CoinWorld(linked=linked).auc("imputation") - 0.5) < CHANCE


def test_another_attribute_that_goes_along_is_found():
    world = CoinWorld()
    world.data.x[:, 3] = torch.where(
        torch.rand(300, generator=torch.Generator().manual_seed(0)) < 0.9, world.coin, 1 - world.coin
    )
    assert world.auc("imputation") > 0.8


def test_a_class_that_goes_along_is_found():
    world = CoinWorld()
    world.data.y = world.coin.long()
    assert world.auc("imputation") == 1.0


def test_links_are_read_where_they_are_known_alone():
    told = CoinWorld(linked=True)
    told.data.edge_index = alike(told.coin)
    assert told.auc("imputation") > 0.95
    hidden = CoinWorld(linked=False)
    hidden.data.edge_index = alike(hidden.coin)
    assert abs(hidden.auc("imputation") - 0.5) < CHANCE


def test_it_is_its_own_blind_version_and_reads_nothing():
    world = CoinWorld(linked=True)
    assert find("attacks", "imputation").kinds() == ()
    assert world.auc("imputation") == pytest.approx(world.auc("imputation", blind=True), abs=0.1)

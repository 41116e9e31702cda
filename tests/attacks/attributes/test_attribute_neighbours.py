"""Published links between people who are alike tell a hidden coin; links at random do not."""

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.targets.messages import PUBLISHED_KIND
from gaudit.targets.published import tensors_of
from support.attribute_worlds import CHANCE, NODES, CoinWorld


def published(alike: bool, added: int = 0) -> CoinWorld:
    rng = np.random.default_rng(3)
    image = rng.permutation(NODES + added)
    world = CoinWorld(image=image[:NODES])
    coin = world.coin.numpy()
    one = np.arange(NODES).repeat(5)
    other = np.array([rng.choice(np.flatnonzero(coin == coin[k]) if alike else NODES) for k in one])
    pairs = np.unique(np.sort(np.stack([one, other])[:, one != other], axis=0), axis=1)
    network = Network.from_edges(NODES + added, *pairs)
    world.channel.send(PUBLISHED_KIND, "client:0", "public", 1, tensors_of(network.renamed(image)))
    return world


@pytest.mark.parametrize("added", [0, 20])
def test_links_between_alike_people_are_found_also_beside_nodes_that_stand_for_nobody(added):
    world = published(alike=True, added=added)
    assert world.auc("attribute-neighbours") > 0.95
    assert abs(world.auc("attribute-neighbours", blind=True) - 0.5) < CHANCE


def test_random_links_tell_nothing():
    assert abs(published(alike=False).auc("attribute-neighbours") - 0.5) < CHANCE


def test_a_network_without_links_is_refused():
    world = CoinWorld(image=np.arange(NODES))
    nothing = Network.from_edges(NODES, np.empty(0, dtype=int), np.empty(0, dtype=int))
    world.channel.send(PUBLISHED_KIND, "client:0", "public", 1, tensors_of(nothing))
    with pytest.raises(InputError, match="0 edges"):
        world.auc("attribute-neighbours")

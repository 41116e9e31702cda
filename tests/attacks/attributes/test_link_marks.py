"""Marks of links from what is around them: against plain loops, and without a link's own mark."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from gaudit.attacks.attributes.best_guess import folds_of
from gaudit.attacks.attributes.link_marks import PRIOR, around, at_ends
from gaudit.audit.games.referee import judge
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pyg import data_of
from gaudit.registry import find
from gaudit.targets.channel import Channel
from gaudit.targets.game import Adversary
from gaudit.targets.games.link_marks import link_mark
from gaudit.targets.messages import PUBLISHED_KIND
from gaudit.targets.published import tensors_of
from support.random_networks import random_network

SEED = np.random.SeedSequence(2)


def world(seed: int = 0, nodes: int = 60):
    """Links of a random network, of which a random half is known, and coins as marks."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.15, 1)
    low, high = (end[order] for order in [rng.permutation(int(upper.sum()))] for end in np.nonzero(upper))
    told = rng.random(len(low) // 2) < 0.4
    return low, high, told, folds_of(told, 4, rng.permutation(len(told))), nodes


def test_shares_at_both_ends_are_those_of_known_links_of_other_folds():
    low, high, told, fold, nodes = world()
    found = at_ends(low, high, told, fold, nodes)
    for link in range(len(low)):
        left = [k for k in range(len(told)) if link >= len(told) or fold[k] != fold[link]]
        common = np.mean([told[k] for k in left])
        shares = []
        for end in (low[link], high[link]):
            near = [told[k] for k in left if end in (low[k], high[k])]
            shares.append((sum(near) + PRIOR * common) / (len(near) + PRIOR))
        np.testing.assert_allclose(found[link], [sum(shares), shares[0] * shares[1], abs(shares[0] - shares[1])])


def test_no_links_own_mark_gets_into_its_own_columns():
    low, high, told, fold, nodes = world(1)
    before = at_ends(low, high, told, fold, nodes)
    for link in range(0, len(told), 9):
        turned = told.copy()
        turned[link] = ~turned[link]
        after = at_ends(low, high, turned, fold, nodes)
        assert np.array_equal(before[link], after[link])
        assert not np.array_equal(before, after)


def test_what_two_ends_share_is_counted():
    network = random_network(30, 80, 0)
    low, high = network.edges
    found, near = around(network, low, high), network.adjacency.toarray() > 0
    shared = (near[low] & near[high]).sum(1)
    assert found["shared"][:, 0].tolist() == shared.tolist()
    np.testing.assert_allclose(found["share of neighbours"][:, 0], shared / (near[low] | near[high]).sum(1))
    assert set(found) == {"shared", "rare shared", "share of neighbours", "degrees"}


def area(network: Network, published: Network, blind: bool = False) -> float:
    """The AUC of the attack on the weights of a network, of which another one was published."""
    image = np.random.default_rng(4).permutation(published.nodes)
    game = link_mark(network, "weight", 0.5, SEED, image[: network.nodes])
    channel, made = Channel(), find("attacks", "link-marks")()
    channel.send(PUBLISHED_KIND, "client:0", "public", 1, tensors_of(published.renamed(image)))
    given, _ = game.grant(data_of(network), Adversary(made), SEED)
    view = given.renamed(channel.transcript.seen_by("public"))
    scores = made.blind(given.knowledge, SEED) if blind else made(view, given.knowledge, SEED)
    judged = judge(scores, given, game)
    return float(roc_auc_score(judged.truth, judged.score))


def weighted(how: str) -> Network:
    """A network of 80 nodes whose weights are drawn by lot, or follow common friends or a node's own habit."""
    rng, network = np.random.default_rng(7), random_network(80, 400, 3)
    low, high = network.edges
    near = network.adjacency.toarray() > 0
    weights = {
        "lot": rng.random(network.size),
        "friends": (near[low] & near[high]).sum(1) + rng.random(network.size) / 2,
        "habit": rng.random(80)[low] + rng.random(80)[high],
    }[how]
    return Network.from_edges(80, low, high, weights)


CHANCE = 4.5 * np.sqrt(201 / (12 * 100 * 100))
"""How far from 0.5 the AUC of 200 links with weights by lot may be: exceeded with a chance below 1e-5."""


def test_common_friends_tell_strong_links_and_the_network_is_needed_for_that():
    network = weighted("friends")
    assert area(network, network.plain()) > 0.95
    assert area(network, network.plain(), blind=True) < 0.75


def test_what_follows_the_ends_is_imputed_without_the_network():
    network = weighted("habit")
    assert area(network, network.plain(), blind=True) > 0.5 + CHANCE


def test_weights_by_lot_are_told_where_they_are_published_alone():
    network = weighted("lot")
    assert area(network, network) == 1.0
    assert abs(area(network, network.plain()) - 0.5) < CHANCE
    assert abs(area(network, network.plain(), blind=True) - 0.5) < CHANCE


def test_published_nodes_that_stand_for_nobody_do_no_harm():
    network = weighted("lot")
    low, high = network.edges
    more = Network.from_edges(90, [*low, 80], [*high, 81], np.append(network.weights, 9.0))
    assert area(network, more) == 1.0


def test_a_network_without_links_is_refused():
    with pytest.raises(InputError, match="0 edges"):
        area(weighted("lot"), Network.from_edges(80, [], []))

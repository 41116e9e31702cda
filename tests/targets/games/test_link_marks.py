"""Marks of links as games: what is asked, what adversaries are granted, and what is refused."""

import numpy as np
import pytest
import torch

from gaudit.audit.conformance.small_graphs import typed_network
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes, ends
from gaudit.graphs.pyg import data_of
from gaudit.registry import find
from gaudit.targets.games.link_marks import LinkType, LinkWeight, link_mark
from gaudit.targets.publishing.publish import Publish
from support.adversaries import adversary

SEED, NODES = np.random.SeedSequence(5), 30


@pytest.fixture(scope="module")
def network() -> Network:
    return typed_network(NODES, 1, weighted=True)


def by_pair(network: Network) -> dict[int, tuple[float, set[int]]]:
    """The weight and the types of each linked pair, counted one by one."""
    found: dict[int, tuple[float, set[int]]] = {}
    for low, high, weight, kind in zip(*network.edges, network.weights, network.types, strict=True):
        code = int(low * network.nodes + high)
        before, kinds = found.get(code, (0.0, set()))
        found[code] = before + weight, kinds | {int(kind)}
    return found


@pytest.mark.parametrize("asked", ["weight", "type:1"])
def test_every_linked_pair_is_known_or_in_question(network, asked):
    game, pairs = link_mark(network, asked, 0.25, SEED, np.arange(NODES)), by_pair(network)
    middle = np.median([weight for weight, _ in pairs.values()])
    has = {code: weight > middle if asked == "weight" else 1 in kinds for code, (weight, kinds) in pairs.items()}
    assert {
        **dict(zip(game.subjects, game.truth, strict=True)),
        **dict(zip(game.known, game.told, strict=True)),
    } == has
    assert len(game.known) == round(0.25 * len(pairs))
    assert not set(game.subjects) & set(game.known)
    assert isinstance(game, LinkWeight if asked == "weight" else LinkType)


def test_where_most_links_weigh_the_least_the_others_are_asked_about(network):
    low, high = network.plain().edges
    weights = np.where(np.arange(len(low)) % 5 == 0, 3.0, np.where(np.arange(len(low)) % 5 == 1, 2.0, 1.0))
    game = link_mark(Network.from_edges(NODES, low, high, weights), "weight", 0.5, SEED, np.arange(NODES))
    assert np.concatenate([game.truth, game.told]).sum() == (weights > 1).sum()


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_are_new_and_lead_back(network, seed):
    game = link_mark(network, "weight", 0.5, SEED, np.arange(NODES))
    given, left = game.grant(data_of(network), adversary(), np.random.SeedSequence(seed))
    assert left(game) is game
    assert not np.array_equal(given.ids, np.arange(NODES))
    assert np.array_equal(np.sort(given.subject_ids(given.knowledge.subjects.numpy())), game.subjects)
    back = given.subject_ids(given.knowledge.known.numpy())
    assert dict(zip(back, given.knowledge.told.tolist(), strict=True)) == dict(
        zip(game.known, game.told.tolist(), strict=True)
    )
    assert torch.equal(given.knowledge.known, given.knowledge.known.sort().values)


def test_links_of_low_degrees_are_told_apart(network):
    game = link_mark(network, "type:0", 0.5, SEED, np.arange(NODES))
    (labels,) = game.attributes(data_of(network.plain())).values()
    low, high = ends(game.subjects, NODES)
    degrees = network.plain().degrees
    product = degrees[low] * degrees[high]
    assert product[labels == "low"].max() <= product[labels == "high"].min()
    assert game.pairs_of == NODES
    assert np.array_equal(codes(low, high, NODES), game.subjects)


@pytest.mark.parametrize("asked", ["weights", "weight:1", "type", "type:", "type:x", "age"])
def test_what_is_no_mark_is_refused(network, asked):
    with pytest.raises(InputError, match="expected weight, or type:K"):
        link_mark(network, asked, 0.5, SEED, np.arange(NODES))


def test_marks_that_are_not_there_or_too_rare_are_refused(network):
    plain = network.plain()
    for asked, message in (("weight", "no weights"), ("type:0", "no types")):
        with pytest.raises(InputError, match=message):
            link_mark(plain, asked, 0.5, SEED, np.arange(NODES))
    with pytest.raises(InputError, match=r"0 of \d+ links have it"):
        link_mark(network, "type:7", 0.5, SEED, np.arange(NODES))


def test_publish_asks_for_the_mark_that_is_named(network):
    settings = {"measures": ("degree-distribution",), "mark": "type:2"}
    run = Publish(**settings)(data_of(network), find("defenses", "none")(), SEED, lambda message: True)
    assert Publish(**settings).plays == set(run.secrets) == {"identity", "edge-presence", "link-type"}
    (message,) = run.transcript.messages
    assert not {"weights", "types"} & set(message.tensors)
    assert Publish(mark="weight").plays == {"identity", "edge-presence", "link-weight"}

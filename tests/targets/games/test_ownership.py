"""Who holds whom, and who took part: subjects, truth, and what is granted."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.audit.games.referee import in_question
from gaudit.targets.games.ownership import (
    Contribution,
    NodeOwnership,
    contribution,
    node_ownership,
    ownership_secrets,
    parts_of,
)
from support.adversaries import adversary

SEED = np.random.SeedSequence(0)


@pytest.fixture(scope="module")
def game(federation):
    return node_ownership(federation.clients, 60, SEED)["node-ownership"]


def dropped(client, gone):
    """A client that a defense left without some nodes' labels and edges."""
    row, col = client.edges
    stays = ~torch.isin(torch.arange(len(client.nodes)), gone)
    return replace(client, train=client.train & stays, edges=client.edges[:, stays[row] & stays[col]])


def test_every_node_is_asked_of_every_client(federation, game):
    node, client = parts_of(game.subjects)
    assert set(zip(node.tolist(), client.tolist(), strict=True)) == {(v, j) for v in range(60) for j in range(3)}
    assert np.array_equal(game.truth, federation.owner.numpy()[node] == client)


def test_of_large_graphs_some_nodes_are_asked_with_every_client(federation):
    game = node_ownership(federation.clients, 60, SEED, pairs=30)["node-ownership"]
    node, client = parts_of(game.subjects)
    assert len(node) == 30
    assert np.array_equal(np.bincount(client), [10, 10, 10])
    assert len(np.unique(node)) == 10


def test_of_one_client_nobody_asks(federation):
    assert node_ownership(federation.clients[:1], 60, SEED) == {}


def test_nobody_may_hold_a_node(federation):
    some = [replace(c, **{"nodes": c.nodes[:5], "x": c.x[:5]}) for c in federation.clients]
    game = node_ownership(some, 60, SEED)["node-ownership"]
    assert game.truth.sum() == 15
    assert len(game.truth) == 180
    assert (game.holders == -1).sum() == 45


def test_ids_are_new_and_lead_back(federation, game):
    given, left = game.grant(federation.data, adversary(), SEED)
    knowledge = given.knowledge
    assert torch.equal(knowledge.x, federation.data.x[torch.from_numpy(given.ids)])
    assert np.array_equal(np.sort(given.subject_ids(knowledge.subjects.numpy())), np.sort(game.subjects))
    assert knowledge.holders is None
    assert left(game) is game
    assert "3 clients share them and not who of them holds whom" in knowledge.sentence()
    theirs = torch.from_numpy(given.ids)[knowledge.edges]
    assert set(map(tuple, theirs.t().tolist())) == set(map(tuple, federation.data.edge_index.t().tolist()))


@pytest.mark.parametrize(("neighbours", "share"), [("none", 0), ("partial", 0.5)])
def test_fewer_edges_are_granted_to_who_asks_with_fewer(federation, game, neighbours, share):
    given, _ = game.grant(federation.data, adversary(neighbours), SEED)
    assert given.knowledge.edges.shape[1] == pytest.approx(share * federation.data.num_edges, abs=2)


def test_places_of_subjects(federation, game):
    node, place = federation.knowledge().nodes_and_clients
    assert torch.equal(node * 3 + place, torch.arange(180))


def test_a_client_is_not_asked_about_itself_nor_about_its_own_nodes(federation, game):
    asked = in_question(game, "client:1")
    node, client = parts_of(np.sort(game.subjects))
    assert np.array_equal(asked, (client != 1) & (federation.owner.numpy()[node] != 1))
    assert in_question(game, "server").all()


def test_what_is_public_is_told_apart_for_each_client(federation, game):
    columns = game.public_columns(federation.data, SEED)
    node, client = parts_of(np.sort(game.subjects))
    label = columns["label"].reshape(180, 3, 4)  # of each client three classes and a mark
    for row, (v, j) in enumerate(zip(node, client, strict=True)):
        assert label[row, j].tolist() == [*np.eye(3)[federation.data.y[v]], 1]
        assert not np.delete(label[row], j, 0).any()
    assert {len(labels) for labels in game.attributes(federation.data).values()} == {180}
    assert len(game.compared_within(federation.data)) == len(game.groupings(federation.data)["communities"]) == 180


def test_who_was_dropped_took_no_part(federation):
    gone = torch.tensor([0, 3, 7])
    after = [dropped(client, gone) for client in federation.clients]
    game = contribution(federation.clients, after, 60)["contribution"]
    node, client = parts_of(game.subjects)
    assert np.array_equal(client, federation.owner.numpy()[node])
    assert len(node) == 60
    left_out = torch.cat([c.nodes[gone] for c in federation.clients]).tolist()
    assert sorted(node[~game.truth].tolist()) == sorted(left_out)
    given, _ = game.grant(federation.data, adversary(), SEED)
    assert torch.equal(given.knowledge.holders, federation.owner[torch.from_numpy(given.ids)])


def test_contribution_is_asked_where_somebody_was_dropped_only(federation):
    assert contribution(federation.clients, federation.clients, 60) == {}
    assert set(ownership_secrets(federation.clients, 60, SEED)) == {NodeOwnership.name}
    after = [dropped(client, torch.tensor([1])) for client in federation.clients]
    assert set(ownership_secrets(federation.clients, 60, SEED, after)) == {NodeOwnership.name, Contribution.name}


def test_subjects_are_called_by_node_and_client():
    assert NodeOwnership.called(17_000_003, None) == "17 at client:3"

"""Group density: which links are left, lots that nothing public tells, and what it asks."""

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.defense import Defense
from gaudit.targets.federated.fedavg import FedAvg
from gaudit.targets.games.group_density import (
    ClientKnowledge,
    DensityKnowledge,
    GroupDensity,
    group_density,
    of_links,
    with_density,
)
from support.adversaries import adversary

CLIENTS, SIZE = 6, 20
SEED = np.random.SeedSequence(0)


def graph() -> Data:
    """Each client's people are all linked to each other, and the first of each client to the first of the next."""
    one, other = np.triu_indices(SIZE, 1)
    inside = np.concatenate([np.stack([one, other]) + client * SIZE for client in range(CLIENTS)], 1)
    across = SIZE * np.stack([np.arange(CLIENTS - 1), np.arange(1, CLIENTS)])
    pairs = torch.from_numpy(np.concatenate([inside, across], 1))
    edges = torch.cat([pairs, pairs.flip(0)], 1)
    weight = (edges.min(0).values * CLIENTS * SIZE + edges.max(0).values).double()
    nodes = CLIENTS * SIZE
    return Data(x=torch.ones(nodes, 1), y=torch.arange(nodes) % 3, edge_index=edges, edge_attr=weight)


OWNER = torch.arange(CLIENTS * SIZE) // SIZE


def test_one_of_two_shares_of_a_clients_links_is_left_and_links_between_clients_stay():
    data, seen = graph(), set()
    whole = {tuple(pair) for pair in data.edge_index.t().tolist()}
    for seed in range(10):
        thinned, having = with_density(data, OWNER, (0.25, 0.9), np.random.SeedSequence(seed))
        left = {tuple(pair) for pair in thinned.edge_index.t().tolist()}
        assert left <= whole
        assert left == {(b, a) for a, b in left}, "an edge is left in both directions or in none"
        for number, many in having.items():
            own = sum(OWNER[a] == OWNER[b] == number for a, b in left) // 2
            assert own == round((0.9 if many else 0.25) * SIZE * (SIZE - 1) / 2)
            seen.add(many)
        assert sum(OWNER[a] != OWNER[b] for a, b in left) == 2 * (CLIENTS - 1)
        ends = thinned.edge_index
        told = ends.min(0).values * CLIENTS * SIZE + ends.max(0).values
        assert torch.equal(told.double(), thinned.edge_attr), "what belongs to an edge stays with it"
    assert seen == {True, False}
    assert data.edge_index.shape[1] == len(whole), "the graph that was given is left as it is"


def test_half_of_the_clients_keep_many_and_every_client_as_often_as_not():
    data = graph()
    drawn = [with_density(data, OWNER, (0.1, 0.5), np.random.SeedSequence(seed))[1] for seed in range(200)]
    assert {sum(having.values()) for having in drawn} == {CLIENTS // 2}
    for number in range(CLIENTS):
        times = sum(having[number] for having in drawn)
        assert binom.ppf(5e-5, 200, 0.5) <= times <= binom.ppf(1 - 5e-5, 200, 0.5)


def test_every_link_is_left_as_often_as_others():
    rng, kept = np.random.default_rng(0), np.zeros(10)
    for _ in range(400):
        kept[of_links(np.arange(10), (0.3, 0.9), False, rng)] += 1
    assert (binom.ppf(5e-5, 400, 0.3) <= kept).all()
    assert (kept <= binom.ppf(1 - 5e-5, 400, 0.3)).all()


def test_a_client_with_too_few_links_is_named():
    data = graph()
    inside = (OWNER[data.edge_index[0]] == 2) & (OWNER[data.edge_index[1]] == 2)
    with pytest.raises(InputError, match="client:2 has 0 links among its people: too few to keep"):
        with_density(data.edge_subgraph(~inside), OWNER, (0.1, 0.9), SEED)


def test_a_single_client_is_refused():
    with pytest.raises(InputError, match="use two or more"):
        with_density(graph(), torch.zeros_like(OWNER), (0.1, 0.9), SEED)


def test_there_is_no_game_where_all_clients_are_alike():
    nobody = np.zeros(0, dtype=np.int64)
    assert group_density({0: True, 1: True}, (0.1, 0.9), nobody, 3) == {}
    (game,) = group_density({0: True, 4: False}, (0.1, 0.9), nobody, 3).values()
    assert game.subjects.tolist() == [0, 4]
    assert game.truth.tolist() == [True, False]


def test_a_target_that_is_asked_plays_this_game_alone_and_grants_the_graph_as_it_was():
    data = load_dataset("citations")
    target = FedAvg(clients=4, rounds=1, local_epochs=1, asked_links=(0.3, 0.9))
    run = target(data, Defense(), SEED, lambda message: True)
    assert list(run.secrets) == [GroupDensity.name]
    assert target.plays == {GroupDensity.name}
    assert not FedAvg().plays & {GroupDensity.name}
    (game,) = run.secrets.values()
    rich = game.grant(data, adversary(own_data=True), SEED)[0].knowledge
    assert isinstance(rich, DensityKnowledge)
    assert torch.equal(rich.edges, data.edge_index), "which edges were left out it does not see"
    assert (rich.labels[torch.from_numpy(game.trained)] == -1).all()
    assert "not who holds which node" in rich.sentence()
    poor = game.grant(data, adversary(), SEED)[0].knowledge
    assert type(poor) is ClientKnowledge


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.3), (0.2, 1.1)])
def test_shares_must_differ(shares):
    with pytest.raises(InputError, match="expected two shares up to 1"):
        FedAvg(asked_links=shares)


def test_one_question_at_a_time():
    with pytest.raises(InputError, match="ask one of them at a time"):
        FedAvg(asked_class=0, asked_links=(0.3, 0.9))


def test_one_number_where_two_are_wanted_is_answered_with_how_many():
    with pytest.raises(InputError, match=r"must be a list of 2, as in asked_links = \[0\.3, \.\.\.\]"):
        FedAvg(asked_links=0.3)

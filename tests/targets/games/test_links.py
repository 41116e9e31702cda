"""Which pairs are in question, by counting on graphs small enough to list."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph, to_undirected

from gaudit.errors import InputError
from gaudit.graphs.pair_codes import codes, distinct, ends
from gaudit.randomness import seeded
from gaudit.targets.games import links
from gaudit.targets.games.links import DROPPED, KEPT, MATCHED, edge_presence
from gaudit.targets.partition import partition
from gaudit.targets.party import clients_of


def graph(nodes: int, probability: float, seed: int = 0) -> Data:
    with seeded(np.random.SeedSequence(seed)):
        edges = erdos_renyi_graph(nodes, probability)
    masks = {f"{m}_mask": torch.ones(nodes, dtype=torch.bool) for m in ("train", "val", "test")}
    return Data(x=torch.rand(nodes, 3), edge_index=edges, y=torch.arange(nodes) % 2, **masks)


def clients(data: Data, count: int):
    return clients_of(data, partition(data, "metis" if count > 1 else "dirichlet", count, 0))


def secrets_of(data: Data, count: int = 1, seed: int = 0, **more):
    return edge_presence(clients(data, count), data.num_nodes, np.random.SeedSequence(seed), **more)


def test_codes_are_one_to_one():
    pairs = list(combinations(range(9), 2))
    low, high = np.array(pairs).T
    assert len(set(codes(low, high, 9).tolist())) == len(pairs)
    assert np.array_equal(codes(low, high, 9), codes(high, low, 9))
    assert np.array_equal(np.stack(ends(codes(high, low, 9), 9)), [low, high])


@pytest.mark.parametrize("count", [1, 3])
def test_of_a_small_graph_all_pairs_within_clients_are_in_question(count):
    data = graph(40, 0.15)
    found = secrets_of(data, count)
    linked = {tuple(e) for e in data.edge_index.t().tolist()}
    expected = {
        (u, v): (u, v) in linked for c in clients(data, count) for u, v in combinations(c.nodes.tolist(), 2)
    }
    asked = found.subjects[found.asked]
    low, high = ends(asked, 40)
    got = dict(zip(zip(low.tolist(), high.tolist(), strict=True), found.truth[found.asked].tolist(), strict=True))
    assert got == expected
    assert found.sampling_weight == 1


def test_of_a_large_graph_non_edges_are_drawn_uniformly():
    data = graph(300, 0.03)
    found = secrets_of(data, non_edges=2000)
    asked = found.asked & ~found.truth
    assert abs(asked.sum() - 2000) <= 1
    every = 300 * 299 // 2 - data.edge_index.shape[1] // 2
    assert asked.sum() * found.sampling_weight == pytest.approx(every)
    assert found.truth.sum() == data.edge_index.shape[1] // 2
    assert len(np.unique(found.subjects)) == len(found.subjects)
    often = np.zeros(300)  # each node is in about as many drawn pairs: chi-square over 20 draws
    for seed in range(20):
        drawn = secrets_of(data, seed=seed, non_edges=2000)
        for end in ends(drawn.subjects[drawn.asked & ~drawn.truth], 300):
            np.add.at(often, end, 1)
    degree = np.bincount(data.edge_index[0], minlength=300)
    expected = (299 - degree) * 20 * 2 * 2000 / (2 * every)
    assert (((often - expected) ** 2 / expected).sum() - 299) / np.sqrt(2 * 299) < 4


def test_matched_non_edges_have_the_degrees_of_edges():
    rng = np.random.default_rng(0)
    hubs = torch.from_numpy(rng.integers(0, 20, 1500))  # twenty hubs, the others have a handful of edges
    leaves = torch.from_numpy(rng.integers(20, 600, 1500))
    data = graph(600, 0)
    data.edge_index = to_undirected(torch.stack([hubs, leaves]))
    found = secrets_of(data)
    degree = np.bincount(data.edge_index[0], minlength=600)

    def mean(mask):
        return np.mean([degree[end].mean() for end in ends(found.subjects[mask], 600)])

    matched = found.samples[MATCHED]
    assert found.truth[matched].sum() == found.truth.sum()
    assert (matched & ~found.truth).sum() > 0.9 * found.truth.sum()
    uniform = mean(found.asked & ~found.truth)
    assert abs(mean(matched & ~found.truth) / mean(found.truth) - 1) < 0.15
    assert uniform < 0.4 * mean(found.truth)


def test_pairs_are_told_apart_by_what_a_defense_dropped():
    data = graph(40, 0.2)
    data.train_mask[30] = False  # a node that nobody uses from the start was not dropped
    data.edge_index = data.edge_index[:, (data.edge_index != 30).all(0)]
    (client,) = clients(data, 1)
    gone = torch.zeros(40, dtype=torch.bool)
    gone[:7] = True
    inside = ~(gone[client.edges[0]] | gone[client.edges[1]])
    defended = replace(client, edges=client.edges[:, inside], train=client.train & ~gone)
    found = edge_presence([client], 40, np.random.SeedSequence(0), defended=[defended])
    low, high = ends(found.subjects, 40)
    assert np.array_equal(found.groups[DROPPED], (low < 7) | (high < 7))
    assert np.array_equal(found.groups[KEPT], ~found.groups[DROPPED])
    assert secrets_of(data).groups == {}


def test_same_seed_same_pairs():
    data = graph(300, 0.03)
    first, again, other = (secrets_of(data, seed=s, non_edges=500) for s in (1, 1, 2))
    assert np.array_equal(first.subjects, again.subjects)
    assert not np.array_equal(first.subjects, other.subjects)


def test_a_client_without_edges_is_no_obstacle_and_none_at_all_is():
    data = graph(30, 0.3)
    parts = clients(data, 2)
    bare = replace(parts[0], edges=parts[0].edges[:, :0])
    found = edge_presence([bare, parts[1]], 30, np.random.SeedSequence(0))
    assert found.truth.sum() == parts[1].edges.shape[1] // 2
    with pytest.raises(InputError, match="nothing is in question"):
        edge_presence([bare], 30, np.random.SeedSequence(0))


def test_matched_non_edges_are_those_of_plain_sets():
    """The same draws, with what is taken kept in a set and looked through pair by pair."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        linked = distinct(codes(*np.triu_indices(12, 1), 12))[rng.random(66) < 0.4]
        low, high = ends(linked, 12)
        stubs = np.concatenate([low, high]), np.concatenate([high, low])
        found = links._matched(stubs, linked, 12, np.random.default_rng(seed), tries=4)
        rng = np.random.default_rng(seed)
        flip = rng.random(len(low)) < 0.5
        kept, told = np.where(flip, high, low).tolist(), []
        for _ in range(4):
            if kept:
                other = stubs[1][rng.integers(len(stubs[1]), size=len(kept))].tolist()
                left, before = [], set()
                for one, two in zip(kept, other, strict=True):
                    pair = min(one, two) * 12 + max(one, two)
                    if one == two or pair in set(linked.tolist()) | set(told) | before:
                        left.append(one)
                    else:
                        told.append(pair)
                    before.add(pair)
                kept = left
        assert found.tolist() == told

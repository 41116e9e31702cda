"""Links from edges of other types, numbers of edges between classes, and known links."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.links import link_noisy_or
from gaudit.attacks.links.link_noisy_or import LinkNoisyOr, presences
from gaudit.audit.statistics.metrics import auc
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import codes
from gaudit.graphs.tables.node_table import NodeTable
from support import link_worlds
from support.link_worlds import check_chance, link_knowledge

NODES = 70


def random_pairs(share, rng, n=NODES):
    """Codes of pairs of nodes, each with a probability."""
    low, high = np.triu_indices(n, 1)
    return codes(low, high, n)[rng.random(len(low)) < share]


def network(n, *by_type):
    """A network of codes of pairs for each type."""
    types = np.repeat(np.arange(len(by_type)), [len(c) for c in by_type])
    edges = np.concatenate(by_type)
    return Network.from_edges(n, edges // n, edges % n, types=types)


def world(secret, known=0.3, x=None, n=NODES, seed=0):
    """Knowledge of an adversary who is asked about all pairs that it does not know, and the truth of these."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(n, 1)
    every = codes(low, high, n)
    truth = np.isin(every, secret)
    edges, others = (rng.permutation(np.flatnonzero(kind)) for kind in (truth, ~truth))
    count = int(known * len(edges))
    told = [every[part[:count]] for part in (edges, others)]
    asked = ~np.isin(every, np.concatenate(told))
    knowledge = link_knowledge(n, every[asked], truth[asked].sum(), len(edges), *told, x=x)
    return knowledge, truth[asked]


def scored(graph, knowledge):
    return link_worlds.scored(LinkNoisyOr(), graph, knowledge)


def blind(knowledge):
    return LinkNoisyOr().blind(knowledge, np.random.SeedSequence(0)).score


def test_planted_links_under_another_type_are_found_exactly():
    """The sensitive edges are gone, and exactly where they were there are edges of type 1."""
    secret = random_pairs(0.05, np.random.default_rng(0))
    knowledge, truth = world(secret)
    assert auc(truth, scored(network(NODES, secret[:0], secret), knowledge)) == 1
    assert abs(auc(truth, blind(knowledge)) - 0.5) < 0.1  # 85 links at random: sd 0.032


def test_planted_links_of_a_plain_network_are_found_exactly():
    secret = random_pairs(0.05, np.random.default_rng(1))
    knowledge, truth = world(secret)
    plain = Network.from_edges(NODES, secret // NODES, secret % NODES)
    assert auc(truth, scored(plain, knowledge)) == 1


def test_planted_links_in_numbers_of_edges_are_found_exactly():
    """Classes that are linked completely or not at all, and no edge: the numbers tell every link."""
    groups = np.arange(NODES) // 10
    joined = np.array([[0, 1, 1, 100], [2, 4, 1, 100], [3, 3, 1, 45]])
    low, high = np.triu_indices(NODES, 1)
    linked = [
        [tuple(sorted(pair)) in {(0, 1), (2, 4), (3, 3)} for pair in zip(groups[low], groups[high], strict=True)]
    ]
    secret = codes(low, high, NODES)[np.array(linked[0])]
    knowledge, truth = world(secret)
    told = Network(NODES, np.empty((2, 0), dtype=np.int64), groups=groups, counts=joined)
    assert auc(truth, scored(told, knowledge)) == 1


def people(values, width=0):
    """A release of no edge: what is told of each person's value, a range that is so wide."""
    low = values - values % (width + 1)
    table = NodeTable(np.stack([low, low + width], 1)[:, None, None, :])
    return Network(len(values), np.empty((2, 0), dtype=np.int64), people=table)


def test_planted_links_between_people_of_one_value_are_found_exactly():
    """People of one household are linked, and households are told; told four at a time they still tell much."""
    values = np.random.default_rng(6).permutation(np.arange(NODES) // 5)
    low, high = np.triu_indices(NODES, 1)
    secret = codes(low, high, NODES)[values[low] == values[high]]
    knowledge, truth = world(secret)
    assert auc(truth, scored(people(values), knowledge)) == 1
    assert 0.9 < auc(truth, scored(people(values, 3), knowledge)) < 1


def test_null_unrelated_values_are_chance():
    judged = []
    for seed in range(30):
        rng = np.random.default_rng(200 + seed)
        knowledge, truth = world(random_pairs(0.06, rng, 40), 0.3, None, 40, seed)
        judged.append((truth, scored(people(rng.integers(0, 8, 40), seed % 2), knowledge)))
    check_chance(judged)


def test_null_unrelated_network_is_chance():
    """30 worlds: the mean AUC within 3.3 of its standard deviations (once in 1000)."""
    judged = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        secret = random_pairs(0.06, rng, 40)
        x = torch.from_numpy(rng.standard_normal((40, 8)).astype(np.float32))
        knowledge, truth = world(secret, 0.3, x, 40, seed)
        told = network(40, random_pairs(0.06, rng, 40), random_pairs(0.03, rng, 40))
        judged.append((truth, scored(told, knowledge)))
    check_chance(judged)


def test_null_classes_of_unrelated_numbers_are_chance():
    """The same of numbers of edges between classes that were drawn at random."""
    judged = []
    for seed in range(30):
        rng = np.random.default_rng(100 + seed)
        secret = random_pairs(0.06, rng, 40)
        knowledge, truth = world(secret, 0.3, None, 40, seed)
        groups = rng.permutation(np.arange(40) // 5)
        other = random_pairs(0.06, rng, 40)
        pairs, number = np.unique(
            np.sort(groups[np.stack([other // 40, other % 40])], 0), axis=1, return_counts=True
        )
        counts = np.column_stack([*pairs, np.zeros(len(number), dtype=int), number])
        told = Network(40, np.empty((2, 0), dtype=np.int64), groups=groups, counts=counts)
        judged.append((truth, scored(told, knowledge)))
    check_chance(judged)


def test_types_rank_by_how_often_they_come_with_a_link():
    """Three in four edges of type 1 and one in five of type 2 are where a link is; the scores are probabilities."""
    n, rng = 150, np.random.default_rng(2)
    strong, weak = random_pairs(0.02, rng, n), random_pairs(0.04, rng, n)
    rest = random_pairs(0.002, rng, n)
    secret = np.unique(
        np.concatenate([strong[rng.random(len(strong)) < 0.75], weak[rng.random(len(weak)) < 0.2], rest])
    )
    knowledge, truth = world(secret, 0.4, None, n)
    score = scored(network(n, secret[:0], strong, weak), knowledge)
    asked = knowledge.subjects.numpy()
    by = [np.isin(asked, strong) & ~np.isin(asked, weak), np.isin(asked, weak) & ~np.isin(asked, strong)]
    by.append(~np.isin(asked, np.concatenate([strong, weak])))
    middle = [np.median(score[kind]) for kind in by]
    assert middle[0] > middle[1] > middle[2]
    chance = 1 - np.exp(-score)
    told = 1 - 0.4  # share of the links that is in question; of the others it is nearly all
    for kind in by[
        :2
    ]:  # of the links with these edges, as many as of all links are known and no longer in question
        mean = chance[kind].mean()
        assert told * mean / (1 - (1 - told) * mean) == pytest.approx(truth[kind].mean(), abs=0.1)


def test_common_neighbours_are_observed():
    """Sensitive links within groups; edges of the other type only from each node to five hubs of its group."""
    low, high = np.triu_indices(NODES, 1)
    own = (low // 14 == high // 14) & (low % 14 < 5) & (high % 14 >= 5)
    secret = codes(low, high, NODES)[(low // 14 == high // 14) & (low % 14 >= 5)]
    knowledge, truth = world(secret, known=0.1)
    told = network(NODES, secret[:0], codes(low, high, NODES)[own])
    assert auc(truth, scored(told, knowledge)) > 0.95
    assert auc(truth, blind(knowledge)) < 0.75


@pytest.mark.parametrize("at_most", [30, 10**6])
def test_background_stands_for_all_pairs(monkeypatch, at_most):
    """Edges apart from the others, those of added nodes left out; each stratum sums to what it is drawn from."""
    monkeypatch.setattr(link_noisy_or, "BACKGROUND", at_most)
    every = random_pairs(0.2, np.random.default_rng(8), 22)
    graph = Network.from_edges(22, every // 22, every % 22)
    inside = {tuple(edge) for edge in graph.edges.T.tolist() if max(edge) < 20}
    pairs, weights = link_noisy_or.background(20, graph, np.random.default_rng(9))
    of_edges = np.array([tuple(pair) in inside for pair in pairs.tolist()])
    assert weights[of_edges].sum() == pytest.approx(len(inside))
    assert weights[~of_edges].sum() == pytest.approx(190 - len(inside))
    assert of_edges.sum() == min(len(inside), at_most)
    assert np.all(pairs[:, 0] < pairs[:, 1])
    alone, each = link_noisy_or.background(20, None, np.random.default_rng(9))
    assert each.sum() == pytest.approx(190)
    assert len(alone) <= max(at_most, 190)


def test_numbers_rank_pairs_as_their_presence_does():
    """Of one type: the more of a class's pairs are linked, the higher its pairs stand."""
    rng = np.random.default_rng(3)
    groups = np.arange(NODES) // 10
    share = np.triu(rng.random((7, 7)))
    share = share + np.triu(share, 1).T
    low, high = np.triu_indices(NODES, 1)
    chance = share[groups[low], groups[high]]
    secret = codes(low, high, NODES)[rng.random(len(low)) < chance * 0.3]
    kept = np.stack([secret // NODES, secret % NODES])
    pairs, number = np.unique(np.sort(groups[kept], 0), axis=1, return_counts=True)
    counts = np.column_stack([*pairs, np.ones(len(number), dtype=int), number])
    told = Network(NODES, np.empty((2, 0), dtype=np.int64), groups=groups, counts=counts)
    knowledge, truth = world(secret)
    score, q = scored(told, knowledge), presences(told, np.stack(np.divmod(knowledge.subjects.numpy(), NODES), 1))
    order = np.argsort(q[:, 1], kind="stable")
    assert np.all(np.diff(score[order])[np.diff(q[order, 1]) > 0] >= -0.2)  # common known neighbours add a little
    assert np.corrcoef(score, q[:, 1])[0, 1] > 0.9
    assert auc(truth, score) > auc(truth, blind(knowledge)) + 0.1


@given(st.integers(2, 12), st.integers(1, 4), st.integers(0, 100), st.booleans())
def test_presences_are_shares_of_linked_pairs(n, many, seed, with_edges):
    """By hand, one pair of classes at a time; from numbers, or from the edges themselves."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, many, n)
    parts = [random_pairs(0.5, rng, n) for _ in range(2)]
    graph = network(n, *parts)
    pairs = np.array(list(combinations(range(n), 2)))
    kind_of = np.sort(groups[pairs], 1)
    expected = []
    for part in parts:
        linked = np.isin(codes(*pairs.T, n), part)
        if len(part):
            expected.append([linked[(kind_of == own).all(1)].mean() for own in kind_of])
    rows = [
        [*own, kind, int((np.isin(codes(*pairs.T, n), part) & (kind_of == own).all(1)).sum())]
        for own in np.unique(kind_of, axis=0)
        for kind, part in enumerate(parts)
        if len(part)
    ]
    counts = np.array(rng.permutation(rows) if rows else np.empty((0, 4)), dtype=np.int64)
    told = (
        Network(n, graph.edges, types=graph.types, groups=groups)
        if with_edges
        else Network(n, graph.edges[:, :0], groups=groups, counts=counts)
    )
    found = presences(told, pairs)
    assert not found[:, 0].any()
    np.testing.assert_allclose(found[:, 1:].T, np.array(expected).reshape(-1, len(pairs)))


@pytest.mark.parametrize("rows", [[[1, 0, 0, 3]], [[0, 1, 0, 2], [0, 1, 0, 1]]], ids=["turned", "twice"])
def test_numbers_that_could_be_overlooked_are_refused(rows):
    """Read as they stand they would say that no pair is linked, or too few."""
    told = Network(4, np.empty((2, 0), dtype=np.int64), groups=np.array([0, 0, 1, 1]), counts=np.array(rows))
    with pytest.raises(InputError, match="the smaller class first"):
        presences(told, np.array([[0, 2]]))


def test_known_links_tell_of_their_neighbours_without_a_release():
    """Cliques: two nodes with a common known neighbour are linked."""
    low, high = np.triu_indices(NODES, 1)
    secret = codes(low, high, NODES)[low // 10 == high // 10]
    knowledge, truth = world(secret)
    assert auc(truth, blind(knowledge)) > 0.7  # about half of the links have a common known neighbour


def test_the_release_is_read_and_the_truth_is_not(monkeypatch):
    secret = random_pairs(0.05, np.random.default_rng(4))
    knowledge, _ = world(secret)
    told = network(NODES, secret[:0], secret)
    one, two = scored(told, knowledge), scored(network(NODES, secret[:0], secret[::2]), knowledge)
    assert not np.array_equal(one, two)
    assert np.array_equal(one, scored(told, knowledge))


def test_known_share_is_announced():
    assert LinkNoisyOr().knows_links == 0.3
    assert LinkNoisyOr(known=0.1).knows_links == 0.1


def test_too_few_known_links_are_refused():
    secret = random_pairs(0.05, np.random.default_rng(5))
    knowledge, _ = world(secret, known=0.02)
    with pytest.raises(InputError, match="knows 2 links of client:0 and needs 4: raise known"):
        scored(network(NODES, secret), knowledge)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"groups": np.zeros(3, dtype=int)}, "does not give every node a class"),
        ({"groups": np.full(NODES, -1)}, "does not give every node a class"),
        ({"counts": np.array([[0, 99, 0, 1]])}, "no rows of two classes"),
        ({"counts": np.array([[0, 0, 1]])}, "no rows of two classes"),
        ({"counts": np.array([[0, 0, -1, 1]])}, "no rows of two classes"),
    ],
)
def test_malformed_classes_are_refused(change, message):
    secret = random_pairs(0.05, np.random.default_rng(6))
    told = {"groups": np.zeros(NODES, dtype=int), "counts": np.array([[0, 0, 0, 5]]), **change}
    with pytest.raises(InputError, match=message):
        scored(Network(NODES, np.empty((2, 0), dtype=np.int64), **told), world(secret)[0])


def test_too_few_published_nodes_are_refused():
    secret = random_pairs(0.05, np.random.default_rng(7))
    with pytest.raises(InputError, match="has 30 nodes and client:0 has 70"):
        scored(network(30, np.array([1])), world(secret)[0])

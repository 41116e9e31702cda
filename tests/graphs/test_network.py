"""The network that is published: its edges, its other names, and networks with other edges."""

import itertools

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.graphs.network import Network, Original, changes
from gaudit.graphs.pair_codes import codes

PAIRS = list(itertools.combinations(range(8), 2))


@st.composite
def networks(draw, types=True):
    """Up to 8 nodes; weights and types or none; with types a pair may be linked several times."""
    nodes = draw(st.integers(2, 8))
    pairs = [pair for pair in PAIRS if pair[1] < nodes]
    typed = types and draw(st.booleans())
    every = [(u, v, t) for u, v in pairs for t in range(3 if typed else 1)]
    rows = np.array(draw(st.lists(st.sampled_from(every), unique=True)), dtype=np.int64).reshape(-1, 3)
    swap = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    one, other = np.where(swap, rows[:, 1], rows[:, 0]), np.where(swap, rows[:, 0], rows[:, 1])
    weights = np.arange(len(rows)) / 2 if draw(st.booleans()) else None
    groups = np.arange(nodes) % 3 if draw(st.booleans()) else None
    return Network.from_edges(nodes, one, other, weights, rows[:, 2] if typed else None, groups)


def rows_of(network):
    """Each edge with what is known of it."""
    weights = itertools.repeat(None) if network.weights is None else network.weights.tolist()
    types = itertools.repeat(None) if network.types is None else network.types.tolist()
    return set(zip(*network.edges.tolist(), weights, types, strict=False))


def linked(network):
    return set(map(tuple, network.edges.T.tolist()))


def rng(seed=0):
    return np.random.default_rng(seed)


def test_edges_are_kept_once_in_order_with_what_is_known_of_them():
    network = Network.from_edges(4, [3, 1, 2], [1, 0, 3], np.array([5.0, 6.0, 7.0]), np.array([0, 2, 1]))
    assert network.edges.tolist() == [[0, 1, 2], [1, 3, 3]]
    assert network.weights.tolist() == [6, 5, 7]
    assert network.types.tolist() == [2, 0, 1]
    assert (network.size, network.degrees.tolist()) == (3, [1, 2, 1, 2])


@pytest.mark.parametrize(
    ("one", "other", "types", "message"),
    [
        ([0], [0], None, "loop"),
        ([0], [3], None, "outside 0..2"),
        ([-1], [1], None, "outside 0..2"),
        ([0, 1], [1, 0], None, "two edges"),
        ([0, 1], [1, 0], [1, 1], "two edges"),
    ],
)
def test_what_is_no_network_is_refused(one, other, types, message):
    with pytest.raises(ValueError, match=message):
        Network.from_edges(3, one, other, types=types)


def test_two_types_between_the_same_nodes_are_two_edges():
    network = Network.from_edges(3, [1, 0, 0], [0, 1, 2], types=np.array([1, 0, 0]))
    assert network.size == 3
    assert network.types.tolist() == [0, 1, 0]


@given(networks())
def test_codes_ascend_and_tell_the_ends(network):
    assert (np.diff(network.codes) >= 0).all()
    assert [(c // network.nodes, c % network.nodes) for c in network.codes.tolist()] == list(
        zip(*network.edges.tolist(), strict=True)
    )


@given(networks())
def test_a_plain_network_has_each_linked_pair_once_and_nothing_else(network):
    plain = network.plain()
    assert linked(plain) == linked(network)
    assert plain.size == len(linked(network))
    assert plain.weights is None
    assert plain.types is None
    assert (np.diff(plain.codes) > 0).all()
    assert plain.nodes == network.nodes
    assert plain.groups is network.groups


@given(networks(), st.sets(st.sampled_from(["weights", "types"])))
def test_telling_keeps_what_is_named_and_sums_the_weights_of_a_pair(network, keep):
    told = network.telling(keep)
    assert linked(told) == linked(network)
    assert (told.weights is None, told.types is None) == (
        network.weights is None or "weights" not in keep,
        network.types is None or "types" not in keep,
    )
    if told.types is None:
        assert told.size == len(linked(network))
    if told.weights is not None:
        for low, high in linked(network):
            there = [(n.edges[0] == low) & (n.edges[1] == high) for n in (network, told)]
            assert told.weights[there[1]].sum() == network.weights[there[0]].sum()
    assert (told.nodes, told.groups) == (network.nodes, network.groups)


@given(networks())
def test_adjacency_is_symmetric_and_one_where_there_is_an_edge(network):
    dense = np.zeros((network.nodes, network.nodes))
    for u, v in linked(network):
        dense[u, v] = dense[v, u] = 1
    matrix = network.adjacency
    assert (matrix.toarray() == dense).all()
    assert matrix.nnz == 2 * len(linked(network))
    assert all(
        (np.diff(matrix.indices[start:end]) > 0).all() for start, end in itertools.pairwise(matrix.indptr.tolist())
    )


@given(networks())
def test_igraph_has_the_same_nodes_and_linked_pairs(network):
    graph = network.igraph()
    assert graph.vcount() == network.nodes
    assert sorted(graph.get_edgelist()) == sorted(linked(network))
    assert isinstance(graph, igraph.Graph)


@given(networks(), st.randoms(use_true_random=False))
def test_renamed_moves_edges_weights_types_and_groups(network, coins):
    new = list(range(network.nodes))
    coins.shuffle(new)
    moved = network.renamed(np.array(new))
    expected = {(*sorted((new[u], new[v])), w, t) for u, v, w, t in rows_of(network)}
    assert rows_of(moved) == expected
    if network.groups is None:
        assert moved.groups is None
    else:
        assert [moved.groups[new[i]] for i in range(network.nodes)] == network.groups.tolist()
    back = moved.renamed(np.argsort(new))
    assert (back.edges == network.edges).all()
    assert rows_of(back) == rows_of(network)


def test_renamed_keeps_counts_between_classes():
    counts = np.array([[0, 0, 0, 3], [0, 1, 0, 2]])
    network = Network(3, np.empty((2, 0), dtype=np.int64), groups=np.array([0, 1, 1]), counts=counts)
    moved = network.renamed(np.array([2, 0, 1]))
    assert moved.counts is counts
    assert moved.groups.tolist() == [1, 1, 0]


@st.composite
def rewired(draw):
    """A network with at least one edge, n of another one, and pairs that shall be linked there."""
    network = draw(networks().filter(lambda n: n.size))
    nodes = network.nodes + draw(st.integers(0, 2))
    pairs = list(itertools.combinations(range(nodes), 2))
    return network, nodes, draw(st.lists(st.sampled_from(pairs), unique=True))


@given(rewired(), st.integers(0, 3))
def test_with_edges_links_exactly_the_pairs_and_keeps_what_is_known_of_old_ones(case, seed):
    network, nodes, pairs = case
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    other = network.with_edges(rng(seed).permutation(codes(*ends, nodes)), rng(seed), nodes, hidden=False)
    assert other.nodes == nodes
    assert linked(other) == set(pairs)
    old = {row for row in rows_of(network) if row[:2] in set(pairs)}
    assert old <= rows_of(other)
    for u, v, weight, kind in rows_of(other) - old:  # new edges are like some old one
        assert (u, v) not in linked(network)
        assert (weight, kind) in {row[2:] for row in rows_of(network)}
    same = network.with_edges(codes(*ends, nodes), rng(seed), nodes, hidden=False)
    assert rows_of(same) == rows_of(other)


@given(rewired(), st.integers(0, 3))
def test_hidden_weights_are_weights_of_old_edges_and_types_stay(case, seed):
    network, nodes, pairs = case
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    other = network.with_edges(codes(*ends, nodes), rng(seed), nodes)
    assert linked(other) == set(pairs)
    assert {(u, v, t) for u, v, _, t in rows_of(network) if (u, v) in set(pairs)} <= {
        (u, v, t) for u, v, _, t in rows_of(other)
    }
    if network.weights is not None:
        assert set(other.weights) <= set(network.weights)
        if set(pairs) <= linked(network):  # nothing is new
            assert rows_of(other) <= rows_of(network)


def test_with_edges_draws_from_all_edges_alike():
    """600 new edges from three kinds: a share is off by 0.1 (five standard errors) with a chance below 1e-6."""
    network = Network.from_edges(60, [0, 0, 0], [1, 2, 3], np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1]))
    low, high = np.triu_indices(60, 1)
    wanted = codes(low, high, 60)[100:700]
    other = network.with_edges(wanted, rng(1))
    shares = [np.mean(other.weights == weight) for weight in (1, 2, 3)]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.1)
    assert (other.types == (other.weights > 1)).all()


def test_with_edges_of_a_plain_network_stays_plain():
    other = Network.from_edges(3, [0], [1]).with_edges(np.array([5]), rng())
    assert (other.weights, other.types) == (None, None)
    assert other.edges.tolist() == [[1], [2]]
    assert Network.from_edges(3, [], []).with_edges(np.array([5]), rng()).edges.tolist() == [[1], [2]]


def test_people_are_the_nodes_before_the_accounts():
    network = Network.from_edges(5, [0], [4])
    assert Original(network).people == 5
    assert Original(network, 2).people == 3


def test_changes_counts_what_stayed_and_what_is_new():
    before = Network.from_edges(4, [0, 1, 2], [1, 2, 3])
    after = Network.from_edges(5, [0, 1, 0], [1, 2, 4])
    said = changes(before, after)
    assert "4 nodes and 1 added" in said
    assert "3 linked pairs, 2 of them original (66.7 % of 3 kept), 1 new" in said
    counts = Network(4, np.empty((2, 0), dtype=np.int64), counts=np.array([[0, 0, 0, 3]]))
    assert "1 counts of edges between groups instead of 3 edges" in changes(before, counts)

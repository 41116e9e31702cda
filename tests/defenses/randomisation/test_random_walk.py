"""Random walks: the multigraph keeps degrees in expectation, the releases lose some, communities survive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from gaudit.defenses.randomisation.random_walk import RandomWalkMod, walk_multigraph, walk_simple
from gaudit.defenses.randomisation.switching_chain import kept_share, switch
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from support import small_networks as small
from support.snap import snap
from support.three_communities import three_communities

LEVEL = 1e-3


SMALL = three_communities(2, nodes=30, edges=70, between=0.2)
RUNS = 3000


def seeded(seed):
    return np.random.SeedSequence(seed)


def multigraphs(network, steps, alpha, runs=RUNS):
    """Adjacency matrices of so many multigraphs, a loop counted twice, [runs, n, n]."""
    rng, found = np.random.default_rng(0), np.zeros((runs, network.nodes, network.nodes))
    for matrix in found:
        one, other = walk_multigraph(network, steps, alpha, rng)
        np.add.at(matrix, (one, other), 1)
        np.add.at(matrix, (other, one), 1)
    return found


@pytest.mark.parametrize(("steps", "alpha"), [(2, 1.0), (3, 1.0), (3, 0.3), (5, 0.5)])
def test_guarantee_degrees_edges_and_adjacency_in_expectation(steps, alpha):
    """Each mean within what a normal distribution allows at a level of 1 in 1,000 for all of them together."""
    found = multigraphs(SMALL, steps, alpha)
    adjacency = SMALL.adjacency.toarray()
    expected = adjacency @ np.linalg.matrix_power(adjacency / adjacency.sum(1, keepdims=True), steps - 1)
    assert SMALL.degrees.min() > 0
    np.testing.assert_allclose(expected, expected.T)
    for values, mean in (
        (found.sum(2), SMALL.degrees),
        (found.sum((1, 2))[:, None] / 2, [SMALL.size]),
        (found.reshape(RUNS, -1)[:, expected.ravel() > 0.03], expected.ravel()[expected.ravel() > 0.03]),
    ):
        error = np.maximum(values.std(0, ddof=1), 1e-9) / np.sqrt(RUNS)
        apart = (values.mean(0) - mean) / error
        assert np.abs(apart).max() < norm.isf(LEVEL / 2 / len(apart)) + 0.5  # counts are a little skew
    assert found[:, expected == 0].sum() == 0


def test_guarantee_needs_a_random_one_of_the_links():
    """With one step, links stay where they are: each is then there once on average, whatever alpha."""
    for alpha in (1.0, 0.2):
        times = multigraphs(SMALL, 1, alpha, 2000).mean(0)
        assert np.abs(times[SMALL.adjacency.toarray() > 0] - 1).max() < 0.1


def test_each_node_with_links_makes_half_of_them():
    rng = np.random.default_rng(0)
    made = np.array([np.bincount(walk_multigraph(SMALL, 3, 1.0, rng)[0], minlength=30) for _ in range(1000)])
    assert np.abs(made.mean(0) - SMALL.degrees / 2).max() < 0.25
    assert (made.min(0)[SMALL.degrees > 1] >= 1).all()  # alpha is 1: one of them is certain
    assert (made.max(0) <= SMALL.degrees).all()
    few = np.array([np.bincount(walk_multigraph(SMALL, 3, 0.1, rng)[0], minlength=30) for _ in range(1000)])
    assert (few.min(0)[SMALL.degrees > 1] == 0).any()


@given(small.networks(), st.integers(1, 6), st.floats(0.01, 1), st.integers(1, 5), st.integers(0, 99))
def test_simple_links_are_no_loops_and_there_once(network, steps, alpha, tries, seed):
    pairs = walk_simple(network, steps, alpha, tries, np.random.default_rng(seed))
    low, high = np.divmod(pairs, network.nodes)
    assert (low < high).all()
    assert (np.diff(pairs) > 0).all()
    walks = np.linalg.matrix_power(network.adjacency.toarray(), steps)
    assert (walks[low, high] > 0).all()  # so many steps lead from one end to the other
    if steps == 1:
        assert np.isin(pairs, network.codes).all()


def test_more_tries_lose_fewer_links():
    sizes = [
        np.mean([len(walk_simple(SMALL, 2, 1.0, tries, np.random.default_rng(s))) for s in range(60)])
        for tries in (1, 3, 20)
    ]
    assert sizes[0] < 0.85 * SMALL.size
    assert sizes[0] + 2 < sizes[1] < sizes[2] <= 1.02 * SMALL.size


def test_a_link_that_ends_at_itself_every_time_is_given_up():
    """Two steps on a single link lead back."""
    pair = Network.from_edges(2, [0], [1])
    assert RandomWalkMod(steps=2).on_graph(pair, seeded(0)).size == 0
    assert {RandomWalkMod(steps=3).on_graph(pair, seeded(s)).size for s in range(40)} == {0, 1}


def test_without_simple_weights_count_repeats_and_loops_are_gone():
    after = RandomWalkMod(simple=False, steps=2).on_graph(SMALL, seeded(3))
    one, other = walk_multigraph(SMALL, 2, 1.0, np.random.default_rng(seeded(3)))
    expected = np.zeros((30, 30))
    np.add.at(expected, (np.minimum(one, other), np.maximum(one, other)), 1)
    np.fill_diagonal(expected, 0)
    matrix = np.zeros((30, 30))
    matrix[tuple(after.edges)] = after.weights
    assert (matrix == expected).all()
    assert (one == other).any()
    assert after.weights.max() > 1


def test_trivial_walks_keep_communities_that_random_switching_loses_at_the_same_share():
    """The share of links within communities; random switching keeps every degree for it, walks do not."""
    books = three_communities(157)
    group = np.arange(105) * 3 // 105

    def within(network):
        return float((group[network.edges[0]] == group[network.edges[1]]).mean())

    for seed in range(3):
        walked = RandomWalkMod().on_graph(books, seeded(seed))
        share = kept_share(books, walked)
        switched = next(
            graph
            for k in range(20, 2000, 5)
            if kept_share(books, graph := switch(books, np.random.default_rng(seed), successes=k)[0]) <= share
        )
        assert kept_share(books, switched) == pytest.approx(share, abs=0.03)
        assert within(books) > within(walked) > within(switched) + 0.15
        assert (switched.degrees == books.degrees).all()
        assert (walked.degrees != books.degrees).mean() > 0.5


def test_real_networks_lose_what_was_measured_elsewhere(gaudit_data):
    """Two steps lose leaves' links on co-authors; three lose hardly any, and the multigraph none on average."""
    before = snap(gaudit_data, "ca-HepTh")
    leaves = before.degrees == 1
    two, three = (RandomWalkMod(steps=t).on_graph(before, seeded(0)) for t in (2, 3))
    assert two.degrees[leaves].mean() == pytest.approx(0.756, abs=0.03)
    assert three.size == pytest.approx(0.99 * before.size, rel=0.01)
    drawn = walk_multigraph(before, 2, 1.0, np.random.default_rng(0))
    assert drawn.shape[1] == pytest.approx(before.size, rel=0.01)
    assert 0.05 < kept_share(before, three) < 0.56


def test_weights_are_drawn_from_those_that_were_there_and_the_seed_decides():
    weighted = Network.from_edges(30, *SMALL.edges, np.arange(70.0))
    after = RandomWalkMod().on_graph(weighted, seeded(0))
    assert set(after.weights) <= set(weighted.weights)
    one, again, other = (RandomWalkMod().on_graph(SMALL, seeded(s)).edges.tolist() for s in (0, 0, 1))
    assert one == again != other
    assert RandomWalkMod().verify(SMALL, after) is None  # what holds in expectation is not seen in one network


@pytest.mark.parametrize("nodes", [0, 1, 4])
@pytest.mark.parametrize("simple", [True, False])
def test_a_network_without_edges_stays(nodes, simple):
    after = RandomWalkMod(simple=simple).on_graph(Network.from_edges(nodes, [], []), seeded(0))
    assert (after.nodes, after.size) == (nodes, 0)


@pytest.mark.parametrize("settings", [{"steps": 1}, {"steps": 11}, {"alpha": 0}, {"alpha": 1.1}, {"tries": 0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        RandomWalkMod(**settings)

"""Who is named by degrees in all windows, beside plain counting of neighbours."""

import numpy as np
import pytest

from gaudit.attacks.identity_over_time.temporal_refinement import TemporalRefinement
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.graphs.network import Network, Original
from gaudit.graphs.pyg import data_of
from support.messages_over_time import by_windows, messages

NO_SEEDS = np.empty((2, 0), dtype=np.int64)
WINDOWS = 4


def found(attack, network, published=None, seed=0):
    """Candidates of persons who have the ids of their published nodes."""
    rng = np.random.default_rng(seed)
    return attack.candidates(published or network, attack.learn(Original(network), rng), NO_SEEDS, rng)


def near(network: Network, window: int) -> list[set[int]]:
    """The neighbours of each node in a window."""
    sets: list[set[int]] = [set() for _ in range(network.nodes)]
    for one, other, kind in zip(*network.edges.tolist(), network.types.tolist(), strict=True):
        if kind == window:
            sets[one].add(other)
            sets[other].add(one)
    return sets


def known(network: Network, node: int, depth: int) -> tuple:
    """H_depth of a node in each window, written out."""

    def query(sets, node, depth):
        return () if depth == 0 else tuple(sorted(query(sets, other, depth - 1) for other in sets[node]))

    return tuple(query(near(network, window), node, depth) for window in range(WINDOWS))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_candidates_are_those_with_the_same_queries_in_all_windows(depth):
    network = by_windows(25, 90)
    keys = [known(network, node, depth) for node in range(network.nodes)]
    sets = found(TemporalRefinement(depth=depth, match="exact"), network)
    for node in range(network.nodes):
        assert sets.of(node).tolist() == [other for other in range(network.nodes) if keys[other] == keys[node]]


def test_one_window_at_a_time_leaves_the_smallest_of_its_candidate_sets():
    network = by_windows(25, 90)
    keys = [known(network, node, 1) for node in range(network.nodes)]
    alone = found(TemporalRefinement(match="exact", linked=False), network)
    joint = found(TemporalRefinement(match="exact"), network)
    for node in range(network.nodes):
        every = [{other for other in range(25) if keys[other][w] == keys[node][w]} for w in range(WINDOWS)]
        assert len(alone.of(node)) == min(map(len, every))
        assert set(alone.of(node).tolist()) in every
        assert set(joint.of(node).tolist()) <= set(alone.of(node).tolist())
    assert (joint.sizes < alone.sizes).any()


def test_an_order_of_windows_tells_people_apart():
    network = Network.from_edges(4, [0, 2], [1, 3], types=np.array([0, 1]))  # 0 and 1 first, then 2 and 3
    assert found(TemporalRefinement(match="exact"), network).of(0).tolist() == [0, 1]
    assert found(TemporalRefinement(match="exact", linked=False), network).of(0).tolist() == [0, 1]
    late = Network.from_edges(4, [0, 2], [1, 3], types=np.array([0, 3]))
    assert found(TemporalRefinement(match="exact"), network, late).of(0).tolist() == [0, 1]
    assert found(TemporalRefinement(match="exact"), network, late).of(2).tolist() == []
    assert found(TemporalRefinement(), network, late).of(2).tolist() == [2, 3]  # a distance of 2, 0 and 1 also 2


def test_where_nobody_fits_the_nearest_vectors_do():
    network = by_windows(60, 400)
    fewer = Network(60, network.edges[:, 1:], types=network.types[1:])
    vectors = np.array(
        [[len(sets[node]) for sets in (near(fewer, w) for w in range(WINDOWS))] for node in range(60)]
    )
    sets = found(TemporalRefinement(), network, fewer)
    for node in network.edges[:, 0]:
        own = np.array([len(near(network, w)[node]) for w in range(WINDOWS)])
        apart = np.abs(vectors - own).sum(1)
        assert (apart[sets.of(int(node))] == apart.min()).all()


def test_a_release_of_one_network_is_compared_with_all_windows_together():
    network = by_windows(25, 90)
    plain, degrees = network.plain(), network.plain().degrees
    sets = found(TemporalRefinement(match="exact"), network, plain)
    for node in range(25):
        assert sets.of(node).tolist() == np.flatnonzero(degrees == degrees[node]).tolist()
    counted = Network(25, plain.edges[:, :0], counts=np.array([[0, 0, 0, 9]]))
    assert (found(TemporalRefinement(), network, counted).sizes == 25).all()


def trial(settings, *attacks):
    plan = TrialPlan("publish", {"measures": ("degree-distribution",), **settings}, "none", {}, attacks, 0, 0)
    return run_trial(plan, data_of(messages(60, 400, 0)))


def test_it_names_more_than_degrees_of_all_windows_and_says_where_there_are_none():
    both = AttackPlan("temporal-refinement"), AttackPlan("refinement", {"depth": 1, "values": "none"})
    joint, plain = (one.judged for one in trial({"windows": 4}, *both).attacked)
    assert joint.score[joint.truth].mean() > 2 * plain.score[plain.truth].mean()
    result = trial({}, *both)
    assert [one.plan.name for one in result.attacked] == ["refinement"]
    assert result.refused == {
        "temporal-refinement": "the network is not published by windows of time (--set windows=8 publishes eight)"
    }

"""What directions tell of people: in- and out-degrees, or which way each edge leads."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from gaudit.attacks.identity.edge_values import value_keys, valued_colours
from gaudit.attacks.identity.hub_fingerprint import HubFingerprint
from gaudit.attacks.identity.neighbourhood_query import NeighbourhoodQuery
from gaudit.attacks.identity.vertex_refinement import Refinement
from gaudit.audit.planning.trial_plan import AttackPlan, TrialPlan
from gaudit.audit.running.trial import run_trial
from gaudit.graphs.measures.edge_marks import unique_shares
from gaudit.graphs.network import Network, Original
from gaudit.graphs.pyg import data_of
from support.directed_networks import arcs_in, directed_networks, network_of_arcs, pairs_by_sets, real
from support.random_networks import NOBODY

QUERIES = (Refinement(depth=1), Refinement(depth=2), HubFingerprint(world="open"), NeighbourhoodQuery())


def same_classes(keys, told) -> bool:
    """Whether nodes share a key if and only if they share what is told."""
    return len(set(zip(keys.tolist(), told, strict=True))) == len(set(keys.tolist())) == len(set(told))


def seen_from(network, node, depth):
    """All that multisets tell: of each neighbour whether arcs lead there and back, and what is seen from it."""
    if depth == 0:
        return ()
    arcs = arcs_in(network)
    near = {b for a, b in arcs if a == node} | {a for a, b in arcs if b == node}
    inside = [((node, v) in arcs, (v, node) in arcs, seen_from(network, v, depth - 1)) for v in near]
    return tuple(sorted(inside, key=repr))


@given(directed_networks(), st.integers(1, 3))
def test_keys_are_those_of_degrees_and_of_ways_written_out(network, depth):
    assert same_classes(value_keys(network, "sums"), pairs_by_sets(network))
    own = [
        tuple(sorted((ahead, back) for ahead, back, _ in seen_from(network, node, 1)))
        for node in range(network.nodes)
    ]
    assert same_classes(value_keys(network, "multisets"), own)
    views = [repr(seen_from(network, node, depth)) for node in range(network.nodes)]
    assert same_classes(valued_colours(network, depth, "multisets")[0], views)


def test_ways_are_counted_by_type():
    """Out by type 0 and in by type 1, beside in by type 0 and out by type 1: the pairs are equal, and no more."""
    typed = Network.from_edges(6, [0, 2, 4, 3], [1, 0, 3, 5], None, [0, 1, 1, 0], directions=[1, 1, 2, 2])
    keys, plain = value_keys(typed, "sums"), value_keys(typed.telling(["directions"]), "sums")
    assert plain[0] == plain[3]
    assert keys[0] != keys[3]


def tournament(nodes, seed):
    """Everybody is linked to everybody, one way each: structure tells nothing."""
    rng = np.random.default_rng(seed)
    return network_of_arcs(
        nodes, {(a, b) if rng.random() < a / nodes else (b, a) for b in range(nodes) for a in range(b)}
    )


@pytest.mark.parametrize("attack", QUERIES, ids=repr)
def test_planted_directions_name_people_in_a_network_that_tells_nothing_by_structure(attack):
    network, rng = tournament(40, 0), np.random.default_rng(1)
    new = rng.permutation(40)
    facts = attack.learn(Original(network), rng)
    found = attack.candidates(network.renamed(new), facts, NOBODY, rng)
    alone = np.array([n == 1 for n in map(Counter(pairs_by_sets(network)).get, pairs_by_sets(network))])
    assert alone.sum() > 5
    assert (found.probability(np.arange(40), new)[alone] == 1).all()
    assert "how many edges lead to each and away from it" in attack.says(facts)


@pytest.mark.parametrize("attack", QUERIES, ids=repr)
def test_null_directions_that_are_dropped_leave_everybody_and_others_ways_find_by_chance(attack):
    """With facts of others a person is found with 1 / n: hits of all runs are Poisson, error rate 1 in 1000."""
    network, rng, hits, runs = tournament(40, 0), np.random.default_rng(1), 0.0, 30
    new, facts = rng.permutation(40), attack.learn(Original(network), rng)
    if isinstance(attack, Refinement):
        assert (attack.candidates(network.plain().renamed(new), facts, NOBODY, rng).sizes == 40).all()
    for _ in range(runs):
        order = rng.permutation(40)
        found = attack.candidates(network.renamed(new), {k: v[order] for k, v in facts.items()}, NOBODY, rng)
        hits += found.probability(np.arange(40), new).sum()
    assert poisson.ppf(0.0005, runs) <= hits <= poisson.isf(0.0005, runs)


def named(graph, settings, defense="none", **strength):
    """The share of people whom their degree, and pair where it is told, names, and the run's notes."""
    fixed, plan = {"measures": ("degree-distribution",), **settings}, AttackPlan("refinement", {"depth": 1})
    result = run_trial(TrialPlan("publish", fixed, defense, strength, (plan,), 0, 0), graph)
    judged = result.attacked[0].judged
    return judged.score[judged.truth].mean(), result.notes


def test_a_release_tells_directions_only_where_they_are_kept():
    network = tournament(40, 0)
    times = Counter(pairs_by_sets(network))
    alone = np.mean([1 / times[pair] for pair in pairs_by_sets(network)])
    found, notes = named(data_of(network), {"keep": ("directions",)})
    assert found == pytest.approx(alone)
    assert not any("not published" in note for note in notes)
    found, notes = named(data_of(network), {})
    assert found == pytest.approx(1 / 40)
    assert any("directions of edges are not published" in note for note in notes)


def test_without_structure_pairs_alone_are_known():
    """The query H_0 with directions is what the guarantee speaks of: pairs, and not the number of neighbours."""
    network, rng = network_of_arcs(6, {(0, 1), (1, 0), (2, 3), (4, 2)}), np.random.default_rng(0)
    facts = Refinement(depth=0).learn(Original(network), rng)
    found = Refinement(depth=0).candidates(network, facts, NOBODY, rng)
    assert pairs_by_sets(network) == [(1, 1), (1, 1), (1, 1), (0, 1), (1, 0), (0, 0)]
    assert found.sizes.tolist() == [3, 3, 3, 1, 1, 1]
    facts = Refinement(depth=1).learn(Original(network), rng)
    found = Refinement(depth=1).candidates(network, facts, NOBODY, rng)
    assert found.sizes.tolist() == [2, 2, 1, 1, 1, 1]


def test_pairs_name_behind_k_degree_and_not_behind_its_directed_form():
    """A tournament's degrees are all alike, so that k-degree changes nothing and says that it holds."""
    graph = data_of(tournament(40, 0))
    behind, notes = named(graph, {"keep": ("directions",)}, "k-degree", k=10)
    assert behind == pytest.approx(named(graph, {"keep": ("directions",)})[0])
    assert any("directions of edges are published too" in note for note in notes)
    assert named(graph, {}, "k-degree-directed", k=10)[0] < behind / 3


def test_who_is_alone_by_degree_and_by_pair_in_real_networks(gaudit_data):
    """Of wiki-Vote's people 1.2 % are the only ones with their degree, and 15.5 % with their pair."""
    for name, degree, pair in (("wiki-Vote", 86, 1101), ("PolBlogs", 42, 452)):
        network = real(gaudit_data, name)
        shares = list(unique_shares(network, network.nodes).values())
        times = Counter(pairs_by_sets(network)).values()
        assert sum(n == 1 for n in times) == pair
        assert [round(share * network.nodes) for share in shares] == [degree, pair]

"""What weights and types of edges tell: keys are those of sums and multisets, and attacks find people by them."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import fsum

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
from gaudit.graphs.network import Network, Original
from gaudit.graphs.pyg import data_of
from gaudit.graphs.told_weights import ToldWeights
from support.random_networks import NOBODY, network_of_share, random_network, uneven_network

QUERIES = (
    Refinement(depth=1),
    Refinement(depth=2),
    Refinement(depth="stable"),
    HubFingerprint(hubs=2),
    HubFingerprint(world="open"),
    NeighbourhoodQuery(),
)


def valued(network: Network, seed: int, weights: int = 4, types: int = 3) -> Network:
    """The network with few different weights, halves, and types."""
    rng = np.random.default_rng(seed)
    return replace(
        network,
        weights=rng.integers(1, 1 + weights, network.size) / 2,
        types=rng.integers(types, size=network.size),
    )


def circle(nodes: int, seed: int, weights: bool = True) -> Network:
    """Everybody is linked to the next four on a circle, with weights of which no two sums are equal."""
    one = np.repeat(np.arange(nodes), 4)
    other = (one + np.tile(np.arange(1, 5), nodes)) % nodes
    own = np.random.default_rng(seed).random(nodes * 4)
    return Network.from_edges(nodes, one, other, own if weights else None)


def edges_at(network: Network, node: int) -> list[tuple[int, tuple]]:
    """The other end of each edge of a node, and its weight and type, as exact numbers."""
    found = []
    for place, (one, other) in enumerate(network.edges.T.tolist()):
        if node in (one, other):
            weight = None if network.weights is None else Fraction(float(network.weights[place]))
            kind = None if network.types is None else int(network.types[place])
            found.append((one + other - node, (weight, kind)))
    return found


def own(network: Network, node: int, values: str) -> object:
    """What is known of a node's own edges, written out."""
    told = [value for _, value in edges_at(network, node)]
    if values == "multisets":
        return Counter(told)
    return sum(w for w, _ in told if w is not None), Counter(t for _, t in told if t is not None)


def view(network: Network, node: int, depth: int, values: str) -> object:
    """H_depth with values, written out as nested multisets."""
    if depth == 0:
        return ()
    near = edges_at(network, node)
    if values == "multisets":
        return sorted(((told, view(network, v, depth - 1, values)) for v, told in near), key=repr)
    if depth == 1:
        return (
            len({v for v, _ in near}),
            sorted(own(network, node, values)[1].items()),
            own(network, node, values)[0],
        )
    inside = sorted((view(network, v, depth - 1, values) for v in {v for v, _ in near}), key=repr)
    return view(network, node, depth - 1, values), inside


def same_classes(keys: np.ndarray, told: list[str]) -> bool:
    """Whether nodes share a key if and only if they share what is told."""
    numbers = np.unique(told, return_inverse=True)[1]
    pairs = {tuple(pair) for pair in np.column_stack([np.unique(keys, return_inverse=True)[1], numbers]).tolist()}
    return len(pairs) == len(np.unique(keys)) == len(np.unique(numbers))


@pytest.mark.parametrize("values", ["sums", "multisets"])
@pytest.mark.parametrize("told", [("weights",), ("types",), ("weights", "types")])
@given(st.integers(0, 10**6), st.floats(0.1, 0.6), st.integers(1, 3))
def test_keys_and_colours_are_those_of_values_written_out(values, told, seed, share, depth):
    network = valued(network_of_share(9, share, seed), seed).telling(told)
    keys = value_keys(network, values)
    assert same_classes(
        keys,
        [
            repr(sorted(o.items()) if isinstance(o, Counter) else (o[0], sorted(o[1].items())))
            for o in (own(network, v, values) for v in range(9))
        ],
    )
    colours, rounds = valued_colours(network, depth, values)
    assert rounds == depth
    assert same_classes(colours, [repr(view(network, v, depth, values)) for v in range(9)])


def test_keys_depend_on_no_order_of_edges_and_no_name():
    """Sums of numbers that are no binary fractions differ in the last bits by the order in which they are added."""
    network = random_network(60, 900, 0)
    network = replace(network, weights=np.random.default_rng(0).random(900))
    for seed in range(5):
        new = np.random.default_rng(seed).permutation(60)
        for values in ("sums", "multisets"):
            assert np.array_equal(value_keys(network.renamed(new), values)[new], value_keys(network, values))


@pytest.mark.parametrize("attack", QUERIES, ids=repr)
def test_planted_published_weights_name_everybody_in_a_network_that_tells_nothing_by_structure(attack):
    network, rng = circle(120, 0), np.random.default_rng(1)
    new = rng.permutation(120)
    facts = attack.learn(Original(network), rng)
    found = attack.candidates(network.renamed(new), facts, NOBODY, rng)
    assert (found.probability(np.arange(120), new) == 1).all()
    assert "the sum of the weights at each" in attack.says(facts)


@pytest.mark.parametrize("attack", QUERIES, ids=repr)
def test_null_weights_that_are_dropped_or_permuted_leave_what_structure_tells(attack):
    """Permuted weights tell nobody more than structure does, which names one person of 120 or hardly more."""
    network, rng, hits, runs = circle(120, 0), np.random.default_rng(1), 0.0, 20
    facts, bare = attack.learn(Original(network), rng), attack.learn(Original(network.plain()), rng)
    new = rng.permutation(120)
    dropped = attack.candidates(network.plain().renamed(new), facts, NOBODY, np.random.default_rng(0))
    never = attack.candidates(network.plain().renamed(new), bare, NOBODY, np.random.default_rng(0))
    assert all(dropped.of(person).tolist() == never.of(person).tolist() for person in range(120))
    structure = 0.0
    for _ in range(runs):
        new = rng.permutation(120)
        plain = attack.candidates(network.plain().renamed(new), bare, NOBODY, rng)
        structure += plain.probability(np.arange(120), new).sum()
        wrong = replace(network, weights=rng.permutation(network.weights)).renamed(new)
        hits += attack.candidates(wrong, facts, NOBODY, rng).probability(np.arange(120), new).sum()
    assert hits <= poisson.isf(1e-6, structure + runs)


def test_types_and_multisets_are_read_where_they_are_published():
    """Everybody has one sum and one number of edges of each type; which weights and types there are differs."""
    attack, rng = Refinement(depth=1, values="multisets"), np.random.default_rng(0)
    pairs = Network.from_edges(4, [0, 0, 1, 2], [1, 2, 3, 3], np.array([1.0, 3, 3, 1]), np.array([0, 1, 1, 0]))
    assert len(np.unique(value_keys(pairs, "sums"))) == len(np.unique(value_keys(pairs, "multisets"))) == 1
    mixed = replace(pairs, weights=np.array([1.0, 3, 3, 1]), types=np.array([0, 1, 1, 1]))
    assert len(np.unique(value_keys(mixed, "sums"))) == 2
    facts = attack.learn(Original(mixed), rng)
    assert "the weight of each edge and the type of each edge" in attack.says(facts)
    for told, classes in ((("weights", "types"), 2), (("types",), 2), (("weights",), 1), ((), 1)):
        found = attack.candidates(mixed.telling(told), facts, NOBODY, rng)
        assert len({tuple(found.of(person)) for person in range(4)}) == classes
        assert (found.probability(np.arange(4), np.arange(4)) > 0).all()


def test_who_does_not_know_values_does_not_use_them():
    network, rng = circle(60, 0), np.random.default_rng(0)
    attack = Refinement(depth=2, values="none")
    facts = attack.learn(Original(network), rng)
    assert (attack.candidates(network, facts, NOBODY, rng).sizes == 60).all()
    assert "weights" not in attack.says(facts)


def test_planted_changed_edges_hide_those_who_have_them_and_nobody_else():
    """A tenth of the edges is gone: whoever lost none has the same sum, whatever its neighbours have lost."""
    base, rng = random_network(300, 1500, 0), np.random.default_rng(0)
    network = replace(base, weights=rng.permutation(1500) + 0.5)
    kept = np.sort(rng.permutation(1500)[:1350])
    published = Network(300, network.edges[:, kept], network.weights[kept])
    attack = Refinement(depth=2)
    found = attack.candidates(published, attack.learn(Original(network), rng), NOBODY, rng)
    same = published.degrees == network.degrees
    assert same.sum() > 80
    assert found.probability(np.arange(300), np.arange(300))[same].mean() > 0.97


def share_named(graph, settings, attack=None):
    plan = AttackPlan("refinement", {"depth": 1, **(attack or {})})
    fixed = {"measures": ("degree-distribution",), **settings}
    result = run_trial(TrialPlan("publish", fixed, "k-degree", {"k": 10}, (plan,), 0, 0), graph)
    judged = result.attacked[0].judged
    return judged.score[judged.truth].mean(), result


def test_a_verified_k_degree_release_names_by_sums_as_many_as_are_alone_with_theirs_if_weights_are_kept():
    """Degrees are all alike, so the guarantee holds without a change: by default nobody is told from another."""
    network = circle(200, 3, weights=False)
    weights = np.random.default_rng(4).integers(1, 60, network.size).astype(float)
    graph = data_of(replace(network, weights=weights))
    sums = [fsum(weights[(network.edges == node).any(0)]) for node in range(200)]
    sizes = Counter(sums)
    alone = np.mean([1 / sizes[own] for own in sums])
    assert alone > 0.3
    named, kept = share_named(graph, {"keep": ("weights",)})
    assert named == pytest.approx(alone)
    assert any("verified on the output" in note for note in kept.notes)
    assert not any("not published" in note for note in kept.notes)
    named, dropped = share_named(graph, {})
    assert named == pytest.approx(1 / 200)
    assert any("weights of edges are not published" in note for note in dropped.notes)
    assert share_named(graph, {"keep": "weights"}, {"values": "none"})[0] == pytest.approx(1 / 200)


@pytest.mark.parametrize("values", ["sums", "multisets"])
@pytest.mark.parametrize("told", ["rounded:20", "binned:2", "noised:100"])
def test_who_knows_values_that_are_told_coarsely_finds_no_fewer_than_structure_alone_does(told, values):
    """Whole weights: many people have by chance the values of another node, which misled whoever trusted them."""
    base, rng = uneven_network(600, 1500, 0), np.random.default_rng(0)
    network = replace(base, weights=rng.geometric(0.05, base.size).astype(float))
    new = rng.permutation(600)
    published = ToldWeights.read(told).of(network, rng).renamed(new)
    sizes, hits = {}, {}
    for known in ("none", values):
        attack = Refinement(depth=2, values=known)
        found = attack.candidates(published, attack.learn(Original(network), rng), NOBODY, rng)
        sizes[known], hits[known] = found.sizes, found.probability(np.arange(600), new).sum()
    alone = (sizes["none"] == 1).sum()  # of these it is sure; of others it names one in place of all who are alike
    assert 50 < alone < 500
    assert hits[values] >= alone + poisson.ppf(1e-6, hits["none"] - alone)

"""The sparsifier: its exact law and promise by brute force, cuts without bias, and what cuts cost beside others."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from gaudit.defenses.private_graphs import dp_graph as private_graphs
from gaudit.defenses.private_graphs.corrected_cuts import Corrected
from gaudit.defenses.private_graphs.private_sparsifier import PrivateSparsifier
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.gaussian import distance_of
from support import every_network as every
from support.small_networks import karate
from support.snap import snap
from support.tmf_law import chances, subsets


def published(network, seed=0, **settings):
    return PrivateSparsifier(**settings).on_graph(network, np.random.SeedSequence(seed))


def law(network, made):
    """The probability of every graph, by definition: each pair passes on its own."""
    linked, other = chances(made.settings.epsilon, made.rate(network.nodes))
    pairs = [a * network.nodes + b for a, b in combinations(range(network.nodes), 2)]
    edges = set(network.codes.tolist())
    each = [linked if pair in edges else other for pair in pairs]
    return {
        told: math.prod(one if pair in told else 1 - one for pair, one in zip(pairs, each, strict=True))
        for told in map(tuple, subsets(pairs))
    }


def sides(nodes):
    return [np.array(side) for side in product([False, True], repeat=nodes)]


def crossing(network, inside):
    """Edges of a cut, counted one by one."""
    return sum(bool(inside[a]) != bool(inside[b]) for a, b in network.edges.T.tolist())


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("told", [0.05, 0.5, 20.0])
def test_guarantee_no_graph_is_more_than_epsilon_likelier_for_any_neighbour(epsilon, told):
    """Every graph of 3 nodes and some of 4, every edge more or less, every published graph; and not far below."""
    made, worst = PrivateSparsifier(epsilon=epsilon, told=told), 0.0
    for network in [*every.labelled(3), *every.atlas(4)[::3]]:
        here = law(network, made)
        assert sum(here.values()) == pytest.approx(1)
        for other in every.flipped(network):
            there = law(other, made)
            worst = max(worst, *(abs(math.log(here[graph] / there[graph])) for graph in here))
    assert worst == pytest.approx(epsilon)
    assert made.promise().epsilon == Fraction(repr(epsilon))
    assert (made.promise().delta, made.promise().unit) == (0, "edge")


@pytest.mark.parametrize("told", [0.3, 20.0])
def test_graphs_are_published_by_that_law(told):
    """Chi-square over the 8 graphs of 3 nodes, of which two pairs are linked; false alarm 1e-6."""
    network, runs = every.network_of(3, [(0, 1), (1, 2)]), 4000
    made = PrivateSparsifier(epsilon=1.5, told=told)
    expected = law(network, made)
    seen = Counter(tuple(made.on_graph(network, np.random.SeedSequence(s)).codes.tolist()) for s in range(runs))
    assert seen.keys() <= expected.keys()
    hits, wanted = zip(*((seen[graph], expected[graph] * runs) for graph in expected), strict=True)
    assert chisquare(hits, np.array(wanted) * runs / sum(wanted)).pvalue > 1e-6


@pytest.mark.parametrize("told", [0.4, 20.0])
def test_cuts_and_the_laplacian_are_without_bias_and_their_deviation_is_right(told):
    """Over all 64 graphs that can be told of a path on 4 nodes, with their probabilities."""
    network, made = every.network_of(4, [(0, 1), (1, 2), (2, 3)]), PrivateSparsifier(epsilon=1.0, told=told)
    chance = law(network, made)
    graphs = {
        graph: Network(4, np.array([[c // 4 for c in graph], [c % 4 for c in graph]], int)) for graph in chance
    }
    linked, other = chances(1.0, made.rate(4))
    for inside in sides(4):
        found = np.array([made.corrected(graphs[graph]).cut(inside).edges for graph in chance])
        weight, true = np.array(list(chance.values())), crossing(network, inside)
        assert weight @ found == pytest.approx(true)
        pairs = int(inside.sum()) * int((~inside).sum())
        spread = (true * linked * (1 - linked) + (pairs - true) * other * (1 - other)) / (linked - other) ** 2
        assert weight @ (found - true) ** 2 == pytest.approx(spread)
    mean = sum(chance[graph] * (made.corrected(graphs[graph]).laplacian() @ np.eye(4)) for graph in chance)
    assert np.allclose(mean, np.diag(network.degrees) - network.adjacency.toarray())


def test_a_cut_says_how_far_off_it_may_be():
    """Of 1,200 cuts about 95 % lie within 1.96 deviations; normal errors leave 93 % to 97 % once in 600 times."""
    before, rng = karate(), np.random.default_rng(3)
    off = []
    for seed in range(1200):
        made, inside = PrivateSparsifier(epsilon=2.0, told=4.0), rng.random(34) < 0.5
        found = made.corrected(made.on_graph(before, np.random.SeedSequence(seed))).cut(inside)
        off.append(abs(found.edges - crossing(before, inside)) <= 1.96 * found.deviation)
    assert 0.93 < np.mean(off) < 0.97


def test_the_laplacian_is_that_of_cuts():
    """x'Lx of a mask is the estimate of its cut."""
    found = PrivateSparsifier(epsilon=1.0).corrected(published(karate(), epsilon=1.0))
    for inside in (np.arange(34) < 9, np.arange(34) % 3 == 0):
        assert inside @ (found.laplacian() @ inside.astype(float)) == pytest.approx(found.cut(inside).edges)


def test_without_noise_the_graph_and_its_cuts_stay():
    after = published(karate(), epsilon=1e4)
    assert np.array_equal(after.codes, karate().codes)
    inside = np.arange(34) < 12
    assert PrivateSparsifier(epsilon=1e4).corrected(after).cut(inside).edges == pytest.approx(
        crossing(after, inside)
    )


def test_told_makes_it_sparse():
    """500 nodes, 400 edges: false links of a node are at most ``told``, by 6 deviations of a Poisson number."""
    rng = np.random.default_rng(0)
    before = Network(500, np.stack(np.divmod(np.sort(rng.choice(np.arange(1, 500), 400, False)), 500)))
    for told in (0.5, 5.0, 50.0):
        false = 500 * told / 2
        assert published(before, epsilon=1.0, told=told).size < false + 400 * math.e * told / 499 + 6 * false**0.5


def test_cuts_beside_trivial_alternatives(gaudit_data):
    """email-Eu-core at epsilon 1: departments' sides, by degree, and random ones; the told graph as it is is worse.

    So is Gaussian noise on all pairs for the same epsilon with a delta of 1e-6, the published mechanism: its
    deviation at a cut follows from that of a pair.
    """
    before, made = snap(gaudit_data, "email-Eu-core"), PrivateSparsifier(epsilon=1.0, told=1e9)
    told, rng = made.on_graph(before, np.random.SeedSequence(0)), np.random.default_rng(0)
    masks = [before.degrees >= bound for bound in (5, 20, 60, 120)] + [rng.random(before.nodes) < 0.1]
    for inside in masks:
        true, found = crossing(before, inside), made.corrected(told).cut(inside)
        pairs = int(inside.sum()) * int((~inside).sum())
        assert abs(found.edges - true) < 5 * found.deviation
        assert abs(found.edges - true) < abs(crossing(told, inside) - true)
        assert found.deviation < math.sqrt(pairs) / distance_of(1.0, 1e-6) / 3


def test_types_and_weights_do_not_count():
    one = Network.from_edges(6, [0, 0, 2], [1, 1, 3], weights=np.ones(3), types=np.array([0, 1, 0]))
    same = published(one.plain(), epsilon=1.0)
    assert np.array_equal(published(one, epsilon=1.0).codes, same.codes)
    assert (same.weights, same.types, same.groups) == (None, None, None)


def test_the_seed_decides_unless_noise_is_fresh():
    one, again, other = (published(karate(), seed, epsilon=0.5) for seed in (0, 0, 1))
    assert np.array_equal(one.edges, again.edges)
    assert not np.array_equal(one.edges, other.edges)
    assert len({tuple(published(karate(), epsilon=0.5, fresh=True).codes) for _ in range(5)}) > 1


def test_too_much_or_too_little_is_refused(monkeypatch):
    with pytest.raises(InputError, match="1 nodes"):
        published(Network.from_edges(1, [], []))
    with pytest.raises(InputError, match="told"):
        PrivateSparsifier(told=0)
    with pytest.raises(InputError, match="a mask of 34 nodes"):
        Corrected(karate(), 0.9, 0.1).cut(np.arange(34))
    monkeypatch.setattr(private_graphs, "MOST_EDGES", 100)
    with pytest.raises(InputError, match=r"'private-sparsifier' with epsilon 0.5 would publish"):
        published(Network.from_edges(60, [], []), epsilon=0.5)

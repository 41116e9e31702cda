"""TmF: the exact law of what is published, by brute force; what the published form would give; what is kept."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from gaudit.defenses.private_graphs import dp_graph as private_graphs
from gaudit.defenses.private_graphs import tmf
from gaudit.defenses.private_graphs.passing_pairs import LEAST, linked_bounds, passing, places, rate_for
from gaudit.defenses.private_graphs.tmf import TmF, adjusted
from gaudit.defenses.randomisation.random_edit import RandomEdit
from gaudit.errors import InputError
from support import every_network as every
from support.small_networks import karate, networks
from support.tmf_law import chances, law, subsets

EXACT = 1e4  # an epsilon whose noise is 0
rates = st.fractions(LEAST, 3).filter(lambda rate: rate.denominator < 2**60)
epsilons = st.fractions(Fraction(1, 100), 12)


def published(network, epsilon, seed=0, **settings):
    return TmF(epsilon=epsilon, **settings).on_graph(network, np.random.SeedSequence(seed))


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(5)])
@pytest.mark.parametrize("nodes", [3, 4])
def test_guarantee_no_graph_is_more_than_epsilon_likelier_for_any_neighbour(nodes, epsilon):
    """The law of each graph of 3 nodes, and of some of 4; every edge more or less; every published graph."""
    worst = 0.0
    originals = every.labelled(3) if nodes == 3 else every.atlas(4)[::4]
    for network in originals:
        here = law(network, epsilon)
        assert sum(here.values()) == pytest.approx(1)
        for other in every.flipped(network):
            there = law(other, epsilon)
            assert here.keys() == there.keys()
            worst = max(worst, *(abs(math.log(here[told] / there[told])) for told in here))
    assert worst <= float(epsilon) + 1e-9
    assert worst > float(epsilon) / 2


def test_graphs_are_published_by_that_law():
    """Chi-square over the 8 graphs of 3 nodes, of which two pairs are linked; false alarm 1e-6."""
    network, runs = every.network_of(3, [(0, 1), (1, 2)]), 3000
    expected = law(network, Fraction(2))
    seen = Counter(tuple(published(network, 2.0, seed).codes.tolist()) for seed in range(runs))
    assert seen.keys() <= expected.keys()
    hits, wanted = zip(*((seen[told], expected[told] * runs) for told in expected), strict=True)
    assert chisquare(hits, np.array(wanted) * runs / sum(wanted)).pvalue > 1e-6


@given(epsilons, rates)
def test_guarantee_neither_answer_is_over_epsilon_times_as_likely(epsilon, rate):
    linked, other = chances(float(epsilon), rate)
    most = math.exp(float(epsilon)) * (1 + 1e-9)
    assert other <= linked <= most * other
    assert 1 - other <= most * (1 - linked) + 1e-12
    low, high = linked_bounds(epsilon, rate, 200)
    assert low <= high <= low + 2**40
    assert low / 2**200 == pytest.approx(linked, rel=1e-6, abs=1e-12)


def test_pairs_pass_by_their_chances():
    """Chi-square over all sets of the pairs of 3 nodes; false alarm 1e-6."""
    network, epsilon, rate, runs = every.network_of(3, [(0, 2)]), Fraction(3, 2), Fraction(1, 4), 4000
    linked, other = chances(1.5, rate)
    rng = np.random.default_rng(0)
    seen = Counter(tuple(passing(network, epsilon, rate, rng).tolist()) for _ in range(runs))
    hits, expected = [], []
    for way in subsets([1, 2, 5]):
        one = [linked if pair == 2 else other for pair in (1, 2, 5)]
        expected.append(math.prod(c if pair in way else 1 - c for pair, c in zip((1, 2, 5), one, strict=True)))
        hits.append(seen[way])
    assert chisquare(hits, np.array(expected) * runs).pvalue > 1e-6


def test_places_among_many_are_few_and_even():
    rng = np.random.default_rng(0)
    found = [places(10**9, Fraction(1, 10**7), rng) for _ in range(50)]
    sizes = np.array([len(one) for one in found])
    assert abs(sizes.mean() - 100) < 5 * 10 / math.sqrt(50)
    every_place = np.concatenate(found)
    assert (np.diff(found[0]) > 0).all()
    counts = np.bincount(every_place // 10**8, minlength=10)
    assert chisquare(counts).pvalue > 1e-6


def test_without_pairs_or_with_all_of_them():
    rng = np.random.default_rng(0)
    assert len(places(0, Fraction(1, 2), rng)) == 0
    assert places(5, Fraction(60), rng).tolist() == [0, 1, 2, 3, 4]


@given(st.integers(0, 400), st.integers(401, 10**6), epsilons)
def test_as_many_pass_on_average_as_are_wanted(wanted, pairs, epsilon):
    rate = rate_for(epsilon, wanted, pairs)
    linked, other = chances(float(epsilon), rate)
    spare = pairs * 2.0**-39  # what the least rate lets pass
    assert wanted * linked + (pairs - wanted) * other == pytest.approx(wanted, rel=1e-6, abs=max(spare, 1e-6))


def test_the_published_form_has_no_epsilon():
    """All the rest from pairs without an edge: one edge more makes a graph likelier by far more than e^epsilon."""

    def linear(edges, told_edges, told, pairs, passes):
        chance = told_edges * math.log(passes) + (edges - told_edges) * math.log(1 - passes)
        return chance - math.log(math.comb(pairs - edges, told - told_edges))

    pairs, passes = math.comb(200, 2), chances(1.0, rate_for(Fraction(1), 400, math.comb(200, 2)))[0]
    without = linear(399, 399, 400, pairs, passes)  # 399 edges are told, and one pair more
    inside = linear(400, 400, 400, pairs, passes)  # that pair is an edge, too
    assert math.exp(inside - without) == pytest.approx(1030, abs=1)  # e^epsilon is 2.7
    assert inside - without == pytest.approx(math.log(passes * (pairs - 399)))


def test_guarantee_nothing_but_the_pairs_that_passed_and_the_noisy_count_is_used(monkeypatch):
    monkeypatch.setattr(tmf, "passing", lambda network, epsilon, rate, rng: np.array([1, 12, 30]))
    noise = {}
    monkeypatch.setattr(tmf, "discrete_laplace", lambda scale, size, rng: [7 - noise["edges"]])
    told = []
    for other in (karate(), every.network_of(34, []), every.network_of(34, combinations(range(34), 2))):
        noise["edges"] = other.size
        told.append(published(other, 1.0).edges)
    assert told[0].shape == (2, 7)
    assert all(np.array_equal(told[0], edges) for edges in told)


@pytest.mark.parametrize("count", [0.1, 0.5, 0.9])
def test_guarantee_both_parts_spend_all_of_epsilon(monkeypatch, count):
    spent = []
    monkeypatch.setattr(tmf, "laplace_scale", lambda s, epsilon: spent.append(epsilon) or Fraction(s) / epsilon)
    monkeypatch.setattr(tmf, "passing", lambda network, epsilon, rate, rng: spent.append(epsilon) or np.arange(0))
    published(karate(), 0.3, count=count)
    promise = TmF(epsilon=0.3, count=count).promise()
    assert sum(spent) == promise.epsilon == Fraction(3, 10)
    assert (promise.unit, promise.model, promise.delta) == ("edge", "central", 0)


@given(networks(2, 12), st.integers(0, 20))
def test_whatever_the_noise_the_result_is_a_simple_graph(before, seed):
    for epsilon in (0.1, 3.0):
        after = published(before, epsilon, seed)
        low, high = after.edges
        assert after.nodes == before.nodes
        assert (low < high).all()
        assert (np.diff(after.codes) > 0).all()


@given(networks(2, 12))
def test_without_noise_it_is_the_original(before):
    assert np.array_equal(published(before, EXACT).codes, before.plain().codes)


def test_adjusting_favours_no_pair():
    """Chi-square of pairs kept and of pairs added; false alarm 1e-6 each."""
    rng = np.random.default_rng(0)
    fewer = np.concatenate([adjusted(np.array([1, 2, 3, 7]), 2, 5, rng) for _ in range(2000)])
    assert chisquare(np.unique(fewer, return_counts=True)[1]).pvalue > 1e-6
    more = np.concatenate([adjusted(np.array([1]), 3, 4, rng) for _ in range(2000)])
    pairs, counts = np.unique(more, return_counts=True)
    assert pairs.tolist() == [1, 2, 3, 6, 7, 11]
    assert counts[0] == 2000
    assert chisquare(counts[1:]).pvalue > 1e-6


def test_trivial_edits_that_keep_as_many_edges_promise_nothing():
    """At epsilon 3 a third of the edges of the karate club are kept; random edits to keep them have no epsilon."""
    before = karate()
    kept = np.mean([np.isin(published(before, 3.0, seed).codes, before.codes).sum() for seed in range(60)])
    assert 0.2 < kept / before.size < 0.8
    assert published(before, 3.0).size != before.size or published(before, 3.0, 1).size != before.size
    edits = RandomEdit(share=1 - kept / before.size)
    assert getattr(edits, "promise", None) is None or edits.promise() is None
    assert edits.on_graph(before, np.random.SeedSequence(0)).size == before.size  # it tells their number exactly


def test_a_graph_that_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(private_graphs, "MOST_EDGES", 50)
    with pytest.raises(InputError, match="'tmf' with epsilon 100 would publish 78 edges: expected at most 50"):
        published(karate(), 100.0)
    with pytest.raises(InputError, match="expected 2 or more"):
        published(every.network_of(1, []), 1.0)

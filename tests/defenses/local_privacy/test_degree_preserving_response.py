"""Randomised response that preserves degrees: the law of coins and noise, and how many edges are kept."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import binom, chisquare

from gaudit.defenses.local_privacy import edge_response
from gaudit.defenses.local_privacy.degree_preserving_response import (
    DegreePreservingResponse,
    kept_answers,
    noisy_degrees,
    pairs_by_weight,
    weights_for,
)
from gaudit.errors import InputError
from gaudit.graphs.pair_codes import codes, ends, listed
from gaudit.mechanisms.exact_noise import discrete_laplace_pmf
from gaudit.targets.party import Client

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed


def coded(pairs, size):
    low, high = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    return codes(low, high, size)


def sparse_graph(size, edges, seed=0):
    """Edges drawn by weights that differ by a factor of ten."""
    rng = np.random.default_rng(seed)
    pull = np.geomspace(1, 10, size)
    ends_ = rng.choice(size, size=(2, 3 * edges), p=pull / pull.sum())
    return np.unique(codes(*ends_[:, ends_[0] != ends_[1]], size))[:: 3 * edges // edges]


def degrees_of(edges, size):
    return np.bincount(np.concatenate(ends(edges, size)), minlength=size)


def test_guarantee_every_pair_is_answered_with_the_stated_probability():
    """Each of 66 pairs, in 4,000 runs: (1 - flip) w w' for edges, flip w w' for others."""
    size, flip, runs = 12, 0.3, 4000
    edges = coded([(0, 1), (1, 2), (3, 11), (4, 5)], size)
    weights = np.array([1.0, 0.5, 0.3, 0.9, 0.07, 1.0, 0.6, 0.26, 0.5, 0.24, 1.0, 0.8])
    every = coded(combinations(range(size), 2), size)
    rng = np.random.default_rng(0)
    counts = sum(listed(every, kept_answers(edges, size, flip, weights, rng)).astype(int) for _ in range(runs))
    low, high = ends(every, size)
    chance = np.where(listed(every, edges), 1 - flip, flip) * weights[low] * weights[high]
    level = LEVEL / len(every) / 2
    assert (binom.ppf(level, runs, chance) <= counts).all()
    assert (counts <= binom.isf(level, runs, chance)).all()


def test_guarantee_pairs_are_independent():
    """How many pairs are drawn has the law of that many coins: 3,000 runs, one chance for all."""
    counts = [len(pairs_by_weight(np.full(6, 0.5), 0.8, np.random.default_rng(s))) for s in range(3000)]
    expected = 3000 * binom.pmf(np.arange(16), 15, 0.2)
    few = expected < 10
    seen = np.bincount(counts, minlength=16)
    assert chisquare([*seen[~few], seen[few].sum()], [*expected[~few], expected[few].sum()]).pvalue > LEVEL


def test_guarantee_degrees_have_noise_for_two_of_them():
    """One edge more or less moves two degrees by 1, so the noise's scale is 2 / epsilon."""
    size, epsilon = 4000, Fraction(1, 2)
    everybody = np.arange(size, dtype=np.int64)
    ring = codes(everybody, (everybody + 1) % size, size)
    noise = noisy_degrees(np.sort(ring), size, epsilon, np.random.default_rng(0)) - 2
    inside = np.arange(-16, 17)
    chance = discrete_laplace_pmf(Fraction(4), inside)
    seen = np.array([(noise == value).sum() for value in inside])
    rest = size - seen.sum()
    assert chisquare([*seen, rest], [*(size * chance), size * (1 - chance.sum())]).pvalue > LEVEL


def test_guarantee_the_parts_of_epsilon_add_up():
    for epsilon, share in [(0.5, 0.2), (4.0, 0.5), (10.0, 0.01)]:
        settings = DegreePreservingResponse(epsilon=epsilon, degrees=share).settings
        answered = np.log(1 / settings.flip - 1)
        assert answered + float(settings.for_degrees) == pytest.approx(epsilon)
        assert float(settings.for_degrees) == pytest.approx(share * epsilon)


@pytest.mark.parametrize("flip", [0.45, 0.1, 1e-3, 1e-6])
def test_weights_let_each_node_expect_its_degree(flip):
    """On graphs drawn by their degrees, as the weights take them to be: mean of 40 runs, bins of like degrees."""
    size = 1500
    wanted = np.geomspace(2, 40, size)
    weights = weights_for(wanted, flip)
    kept = np.zeros(size)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = np.unique(pairs_by_weight(np.minimum(wanted / wanted.sum() ** 0.5, 1), 1.0, rng))
        kept += degrees_of(kept_answers(edges, size, flip, weights, rng), size) / 40
    for bin_ in np.array_split(np.arange(size), 10):
        assert kept[bin_].mean() == pytest.approx(wanted[bin_].mean(), rel=0.06)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0, 20.0])
def test_about_as_many_edges_are_kept_as_there_were(epsilon):
    size = 3000
    edges = sparse_graph(size, 9000)
    defense = DegreePreservingResponse(epsilon=epsilon)
    after = defense.answered(edges, size, "client:0", np.random.default_rng(1))
    assert 0.75 * len(edges) < len(after) < 1.15 * len(edges)
    assert np.corrcoef(degrees_of(edges, size), degrees_of(after, size))[0, 1] > {1.0: 0.1}.get(epsilon, 0.4)


def test_trivial_epsilon_changes_nothing():
    size = 300
    edges = sparse_graph(size, 500)
    defense = DegreePreservingResponse(epsilon=1000.0)
    assert np.array_equal(defense.answered(edges, size, "client:0", np.random.default_rng(0)), edges)
    assert DegreePreservingResponse.alternative == "fewer-edges"


def test_noise_larger_than_all_degrees_makes_no_dense_graph():
    """What it leaves goes to few nodes, who cannot have more neighbours than there are."""
    defense, nothing = DegreePreservingResponse(epsilon=1e-6), np.empty(0, dtype=np.int64)
    for seed in range(20):
        after = defense.answered(nothing, 5000, "client:0", np.random.default_rng(seed))
        assert len(after) < 5000**1.5


def test_more_false_edges_than_anybody_could_train_on_are_refused(monkeypatch):
    edges, defense = sparse_graph(3000, 9000), DegreePreservingResponse(epsilon=1.0)
    monkeypatch.setattr(edge_response, "MOST_FLIPS", 5000)
    with pytest.raises(InputError, match=r"'degree-preserving-response' with epsilon 1 makes about .* false edges"):
        defense.answered(edges, 3000, "client:0", np.random.default_rng(0))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_smallest_clients(size):
    nobody = torch.zeros(size, dtype=torch.bool)
    y, none = torch.zeros(size, dtype=torch.long), torch.empty((2, 0), dtype=torch.long)
    client = Client(
        0, torch.arange(size), torch.ones(size, 1), y, y, ~nobody, nobody, nobody, ~nobody, none, none, 1
    )
    for seed in range(20):
        after = DegreePreservingResponse(epsilon=0.5).on_data(
            client, None, np.random.SeedSequence(seed), lambda kind, tensors: None
        )
        assert after.edges.shape[0] == 2
        assert (after.edges[0] != after.edges[1]).all()


def test_a_large_sparse_client_stays_sparse():
    """Plain response would flip 7 x 10^8 of these pairs."""
    size = 50_000
    edges = sparse_graph(size, 100_000)
    after = DegreePreservingResponse(epsilon=1.0).answered(edges, size, "client:0", np.random.default_rng(0))
    assert len(after) < 1.2 * len(edges)


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", 0), ("epsilon", float("inf")), ("degrees", 0), ("degrees", 1), ("degrees", 2), ("epsilon", 1e-15)],
)
def test_settings_are_checked(name, value):
    with pytest.raises(InputError, match=name):
        DegreePreservingResponse(**{name: value})

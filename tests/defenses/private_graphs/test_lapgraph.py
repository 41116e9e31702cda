"""LapGraph: the law of what is told, by brute force, and what it promises."""

from itertools import combinations
from math import exp, prod

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from gaudit.defenses.private_graphs.lapgraph import LapGraph, largest_cells, largest_noise
from gaudit.errors import InputError
from gaudit.targets.party import Client

NODES, PAIRS = 4, 6
ALL = np.array([low * NODES + high for low, high in combinations(range(NODES), 2)])


def client(edges):
    none, flat = torch.zeros(NODES, dtype=torch.bool), torch.zeros(NODES, dtype=torch.long)
    both = torch.tensor([[*edges[0], *edges[1]], [*edges[1], *edges[0]]], dtype=torch.long)
    ids = torch.arange(NODES)
    return Client(0, ids, torch.zeros(NODES, 1), flat, flat, ~none, none, none, ~none, both, both[:, :0], 2)


def made(defense, edges, run):
    found = defense.on_data(client(edges), None, np.random.SeedSequence(run), lambda kind, held: None).edges
    row, col = found.numpy()
    assert {(a, b) for a, b in zip(row, col, strict=True)} == {(b, a) for a, b in zip(row, col, strict=True)}
    return tuple(sorted((row * NODES + col)[row < col].tolist()))


def chance_of(told, edges, scale):
    """That just these cells are the largest: integrated over the smallest of them."""
    inside = [float(code in edges) for code in ALL if code in told]
    outside = [float(code in edges) for code in ALL if code not in told]
    if not inside or not outside:
        return 1.0

    def below(value, mean):
        away = exp(-abs(value - mean) / scale) / 2
        return 1 - away if value > mean else away

    def density(value):
        above = [1 - below(value, mean) for mean in inside]
        least = [exp(-abs(value - mean) / scale) / (2 * scale) for mean in inside]
        smallest = sum(least[k] * prod(above[:k] + above[k + 1 :]) for k in range(len(inside)))
        return smallest * prod(below(value, mean) for mean in outside)

    return quad(density, -40 * scale, 1 + 40 * scale, points=[0, 1], limit=400)[0]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_cells_are_drawn_by_their_law(count):
    """All choices of so many of 6 cells of a graph with 2 edges, by chi squared: false alarms in 1 of 1,000."""
    edges, runs, rng = ALL[[0, 3]], 20_000, np.random.default_rng(0)
    ways = [tuple(sorted(way)) for way in combinations(ALL.tolist(), count)]
    found = [tuple(largest_cells(edges, NODES, count, 0.8, rng).tolist()) for _ in range(runs)]
    expected = np.array([chance_of(way, set(edges.tolist()), 0.8) for way in ways])
    assert expected.sum() == pytest.approx(1, abs=1e-6)
    seen = np.array([found.count(way) for way in ways])
    assert stats.chisquare(seen, runs * expected / expected.sum()).pvalue > 0.001


def test_guarantee_of_all_graphs_that_can_be_told():
    """By brute force on 4 nodes: cells are private at 1 / scale whatever the count, the count at its own share."""
    one, other, scale = {int(ALL[0])}, {int(ALL[0]), int(ALL[5])}, 1 / 1.2
    for count in range(PAIRS + 1):
        for told in combinations(ALL.tolist(), count):
            ratio = chance_of(told, one, scale) / chance_of(told, other, scale)
            assert exp(-1.2) - 1e-6 <= ratio <= exp(1.2) + 1e-6
    settings = LapGraph(epsilon=1.5, count=0.2).settings
    assert float(settings.for_count) + 1 / settings.scale == pytest.approx(1.5)


def test_the_largest_of_many_laplace_numbers_are_their_order_statistics():
    """The first and the third of 50, beside those of numbers that were drawn one by one: 1 false alarm in 1,000."""
    rng = np.random.default_rng(1)
    quick = np.array([largest_noise(50, 3, 2.0, rng) for _ in range(4000)])
    drawn = np.sort(rng.laplace(0, 2.0, (4000, 50)), axis=1)[:, ::-1]
    for place in (0, 2):
        assert stats.ks_2samp(quick[:, place], drawn[:, place]).pvalue > 0.0005
    assert (np.diff(quick, axis=1) <= 0).all()


def test_at_a_large_epsilon_the_graph_stays_and_at_a_small_one_it_does_not():
    edges = ([0, 1], [1, 2])
    assert made(LapGraph(epsilon=4000.0), edges, 0) == (1, 6)
    assert len({made(LapGraph(epsilon=1.0, count=0.5), edges, run) for run in range(30)}) > 10


def test_whole_numbers_of_edges_are_noisy():
    """At a tiny epsilon the count is nearly uniform beyond both ends: none, or all."""
    counts = [len(made(LapGraph(epsilon=0.01), ([0], [1]), run)) for run in range(200)]
    assert 50 < counts.count(0) < 150
    assert 50 < counts.count(PAIRS) < 150


def test_an_epsilon_too_small_for_noise_is_refused():
    with pytest.raises(InputError, match="no noise can be drawn"):
        LapGraph(epsilon=1e-15)

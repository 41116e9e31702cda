"""The private generator: what one edge changes, what the noise promises, and what it is worth beside `dp-1k`."""

import math

import numpy as np
import pytest

from gaudit.defenses.private_graphs import private_generator as generator
from gaudit.defenses.private_graphs.dp_1k import DP1K
from gaudit.defenses.private_graphs.private_generator import GRID, PrivateGenerator
from gaudit.errors import InputError
from gaudit.graphs.network import Network
from gaudit.mechanisms.gaussian import epsilon_of
from support import every_network as every
from support.small_networks import karate


def published(network, seed=0, kind=PrivateGenerator, **settings):
    return kind(**settings).on_graph(network, np.random.SeedSequence(seed))


def communities(seed=0):
    """Two communities of 60 nodes: half of the pairs within are linked, one in fifty between."""
    rng, side = np.random.default_rng(seed), np.arange(120) // 60
    one, other = np.triu_indices(120, 1)
    kept = rng.random(len(one)) < np.where(side[one] == side[other], 0.5, 0.02)
    return Network.from_edges(120, one[kept].tolist(), other[kept].tolist()), side


@pytest.mark.dear
def test_guarantee_an_edge_changes_sums_by_no_more_than_the_noise_is_made_for():
    """Every network of 4 nodes, every edge more or less, and positions of any length, each in whole numbers."""
    rng, worst = np.random.default_rng(0), 0
    for scale in (1e-3, 0.3, 1.0, 1e6):
        for _ in range(20):
            whole = generator.on_grid(scale * rng.normal(size=(4, 3)))
            assert (whole**2).sum(axis=1).max() <= GRID**2
            for network in every.labelled(4):
                for other in every.flipped(network):
                    here, there = (n.adjacency.toarray().astype(int) @ whole for n in (network, other))
                    worst = max(worst, int(((here - there) ** 2).sum()))
                    assert ((network.degrees - other.degrees) ** 2).sum() == 2
    assert 0.98 * 2 * GRID**2 < worst <= 2 * GRID**2


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 16.0])
@pytest.mark.parametrize("steps", [1, 10, 50])
def test_guarantee_the_noise_keeps_epsilon_by_other_accounts(epsilon, steps):
    """Opacus' conversion of all readings; and the exact epsilon of Gaussian noise, which is not far below."""
    from opacus.accountants.analysis.rdp import get_privacy_spent

    made, delta = PrivateGenerator(epsilon=epsilon, steps=steps, delta=1e-5), 1e-5
    degrees, gradients = (float(variance) for variance in made.variances())
    moved = 2 / degrees + steps * 2 * GRID**2 / gradients
    orders = [*(1 + step / 100 for step in range(1, 6400)), *range(65, 1025)]
    assert get_privacy_spent(orders=orders, rdp=[a * moved / 2 for a in orders], delta=delta)[0] <= epsilon + 1e-9
    assert 0.8 * epsilon < epsilon_of(math.sqrt(moved), delta) < epsilon
    assert (float(made.promise().epsilon), made.promise().delta) == (epsilon, delta)
    assert (made.promise().unit, made.promise().adjacency) == ("edge", "add/remove")


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_guarantee_whoever_sees_all_noisy_numbers_learns_no_more_of_any_edge(epsilon, monkeypatch):
    """A run on a network, told from every neighbour by all that was read, at the positions that there were.

    The squared distance of both worlds, in deviations of the noise, adds up over the readings; the exact epsilon of
    Gaussian noise at that distance is below the one promised.
    """
    network, seen, wholes = karate(), [], []
    plain, on_grid = generator.discrete_gaussian, generator.on_grid
    monkeypatch.setattr(generator, "discrete_gaussian", lambda v, *a: (seen.append(float(v)), plain(v, *a))[1])
    monkeypatch.setattr(generator, "on_grid", lambda z: (wholes.append(on_grid(z)), wholes[-1])[1])
    published(network, epsilon=epsilon)
    assert len(seen) == 1 + len(wholes)
    worst = 0.0
    for other in every.flipped(network):
        moved = ((network.degrees - other.degrees) ** 2).sum() / seen[0]
        change = (network.adjacency - other.adjacency).toarray().astype(int)
        moved += sum(((change @ whole) ** 2).sum() / v for whole, v in zip(wholes, seen[1:], strict=True))
        worst = max(worst, epsilon_of(math.sqrt(moved), 1e-6))
    assert 0.3 * epsilon < worst < epsilon


def test_guarantee_edges_are_read_through_the_noise_alone(monkeypatch):
    """Noise that tops the true sums up to the same numbers leaves nothing of the edges in the graph."""

    class Seen:
        def __init__(self, network):
            self.nodes, self.degrees, self.sums = network.nodes, network.degrees, network.adjacency
            self.calls = 0

        def noise(self, variance, size, rng):
            self.calls += 1
            if self.calls == 1:
                return 5 - self.degrees
            return -np.asarray(self.sums.astype(np.int64) @ self.whole).ravel()

    graphs, on_grid = [], generator.on_grid
    for network in (karate(), Network.from_edges(34, [0, 1], [1, 2])):
        seen = Seen(network)

        def kept(positions, seen=seen):
            seen.whole = on_grid(positions)
            return seen.whole

        monkeypatch.setattr(generator, "on_grid", kept)
        monkeypatch.setattr(generator, "discrete_gaussian", seen.noise)
        graphs.append(published(network, seed=3, epsilon=4.0).codes.tolist())
        assert seen.calls == 11
    assert graphs[0] == graphs[1] != []


def test_planted_communities_are_kept_where_dp_1k_loses_them():
    """Share of links within, of 5 graphs each; half are within where nothing is known."""
    network, side = communities()

    def within(kind):
        graphs = [published(network, seed, kind, epsilon=8.0) for seed in range(5)]
        return np.mean([np.mean(side[graph.edges[0]] == side[graph.edges[1]]) for graph in graphs])

    assert within(PrivateGenerator) > 0.75
    assert within(DP1K) < 0.55


def test_a_network_without_any_structure_shows_none():
    """Null: a random graph, whose two sides were cut by lot; a 6 deviations' band about one half."""
    rng = np.random.default_rng(1)
    one, other = np.triu_indices(120, 1)
    kept, side = rng.random(len(one)) < 0.2, rng.permutation(np.arange(120) // 60)
    network = Network.from_edges(120, one[kept].tolist(), other[kept].tolist())
    inside = np.mean(side[network.edges[0]] == side[network.edges[1]])
    graph = published(network, epsilon=8.0)
    assert abs(np.mean(side[graph.edges[0]] == side[graph.edges[1]]) - inside) < 6 * 0.5 / math.sqrt(graph.size)


def test_numbers_of_neighbours_follow_the_original_as_far_as_noise_lets_them():
    network = Network.from_edges(120, [0] * 100 + [1] * 60, [*range(20, 120), *range(30, 90)])
    exact, noisy = published(network, epsilon=1e4), published(network, epsilon=0.1)
    assert exact.degrees[0] > 70
    assert exact.degrees[1] > 35
    assert exact.degrees[2:20].max() < 8
    assert np.corrcoef(noisy.degrees, network.degrees)[0, 1] < 0.9


@pytest.mark.parametrize("size", [1, 700, 10**9])
def test_blocks_change_nothing(monkeypatch, size):
    rng = np.random.default_rng(0)
    positions, offsets = generator.shortened(rng.normal(size=(13, 3))), rng.normal(size=13)
    whole = generator.chance(positions, offsets, slice(0, 13))
    monkeypatch.setattr(generator, "BLOCK", size)
    pulled, reached = generator.expected(positions, offsets)
    assert np.allclose(pulled, whole @ positions)
    assert np.allclose(reached, whole.sum(axis=1))
    assert np.allclose(np.diag(whole), 0)
    assert np.allclose(whole, whole.T)


def test_a_seed_repeats_the_graph_and_fresh_noise_does_not():
    again = [published(karate(), 5, epsilon=2.0).codes.tolist() for _ in range(2)]
    fresh = [published(karate(), 5, epsilon=2.0, fresh=True).codes.tolist() for _ in range(2)]
    assert again[0] == again[1]
    assert fresh[0] != fresh[1]


def test_networks_without_edges_and_of_two_nodes_are_drawn():
    assert published(Network.from_edges(50, [], []), epsilon=1.0).nodes == 50
    sizes = {published(Network.from_edges(2, [0], [1]), seed, epsilon=1.0).size for seed in range(20)}
    assert sizes == {0, 1}


def test_what_cannot_be_kept_is_refused_in_one_line():
    with pytest.raises(InputError, match="ask for a larger epsilon or delta"):
        published(karate(), epsilon=1e-3)
    with pytest.raises(InputError, match="20,001 nodes in every step: expected at most 20,000"):
        published(Network.from_edges(20_001, [0], [1]))

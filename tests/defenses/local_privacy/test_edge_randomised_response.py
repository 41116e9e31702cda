"""Randomised response on edges: the law of the flips, the exact ratio e^epsilon, and what happens to cut edges."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import binom, chisquare, kstest

from gaudit.defenses.local_privacy import edge_response
from gaudit.defenses.local_privacy.edge_response import EdgeRandomisedResponse, successes
from gaudit.errors import InputError
from gaudit.targets.channel import Channel
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.party import Client

LEVEL = 1e-3  # of every statistical test here; the seeds are fixed


def client_of(size, pairs):
    nodes, nobody = torch.arange(size) + 100, torch.zeros(size, dtype=torch.bool)
    edges = torch.tensor(sorted([(a, b) for a, b in pairs] + [(b, a) for a, b in pairs]), dtype=torch.long)
    edges, cut = edges.reshape(-1, 2).t(), torch.tensor([[0, 1], [7, 8]])
    y = torch.zeros(size, dtype=torch.long)
    return Client(0, nodes, torch.ones(size, 1), y, y, ~nobody, nobody, nobody, ~nobody, edges, cut, 1)


def responded(client, epsilon, seed=0):
    return EdgeRandomisedResponse(epsilon=epsilon).on_data(
        client, None, np.random.SeedSequence(seed), lambda kind, tensors: None
    )


def pairs_of(client):
    return {(a, b) for a, b in client.edges.t().tolist() if a < b}


def ring(size):
    return [(i, (i + 1) % size) if i + 1 < size else (0, i) for i in range(size)]


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_guarantee_edges_and_non_edges_flip_as_often_as_stated(epsilon):
    size, runs = 60, 40
    before, flip = client_of(size, ring(size)), 1 / (1 + np.exp(epsilon))
    gone = new = 0
    for seed in range(runs):
        after = pairs_of(responded(before, epsilon, seed))
        gone += len(pairs_of(before) - after)
        new += len(after - pairs_of(before))
    for count, trials in [(gone, runs * size), (new, runs * (size * (size - 1) // 2 - size))]:
        assert binom.ppf(LEVEL / 2, trials, flip) <= count <= binom.isf(LEVEL / 2, trials, flip)


def test_guarantee_number_of_flips_is_binomial():
    """A chi-square test of 3,000 runs on five nodes, ten pairs."""
    before, runs = client_of(5, [(0, 1), (1, 2), (3, 4)]), 3000
    counts = np.bincount(
        [len(pairs_of(before) ^ pairs_of(responded(before, 1.0, seed))) for seed in range(runs)], minlength=11
    )
    expected = runs * binom.pmf(np.arange(11), 10, 1 / (1 + np.e))
    few = expected < 10
    seen = [*counts[~few], counts[few].sum()]
    assert chisquare(seen, [*expected[~few], expected[few].sum()]).pvalue > LEVEL


def test_guarantee_likelihood_ratio_of_neighbouring_graphs_is_e_to_the_epsilon(monkeypatch):
    """All outputs of all graphs on four nodes, by enumeration of the flips.

    The defense decides which flips make an output; their probability is that of independent coins, which the
    tests beside this one hold the sampler to.
    """
    epsilon, pairs = 0.7, list(combinations(range(4), 2))
    chance = EdgeRandomisedResponse(epsilon=epsilon).settings.flip
    law = {}
    for inside in range(2**6):
        graph = frozenset(p for i, p in enumerate(pairs) if inside >> i & 1)
        law[graph] = {}
        for flips in range(2**6):
            places = np.array([i for i in range(6) if flips >> i & 1], dtype=np.int64)
            monkeypatch.setattr(edge_response, "successes", lambda trials, p, rng, places=places: places)
            output = frozenset(pairs_of(responded(client_of(4, graph), epsilon)))
            assert output not in law[graph]  # each output comes from one set of flips
            law[graph][output] = chance ** len(places) * (1 - chance) ** (6 - len(places))
    for graph, outputs in law.items():
        assert sum(outputs.values()) == pytest.approx(1)
        for pair in pairs:
            other = law[graph ^ {pair}]
            ratios = [outputs[o] / other[o] for o in outputs]
            assert max(ratios) == pytest.approx(np.exp(epsilon))
            assert min(ratios) == pytest.approx(np.exp(-epsilon))


@pytest.mark.parametrize("chance", [0.003, 0.2, 0.5, 0.9])
def test_successes_are_independent_coins(chance):
    """Each place as likely as any other, and the gaps between successes those of coins."""
    trials, runs = 400, 500
    rng = np.random.default_rng(0)
    drawn = [successes(trials, chance, rng) for _ in range(runs)]
    assert all((np.diff(d) > 0).all() and (not len(d) or (d[0] >= 0 and d[-1] < trials)) for d in drawn)
    per_place = np.bincount(np.concatenate(drawn), minlength=trials)
    low, high = binom.ppf([LEVEL / 2 / trials, 1 - LEVEL / 2 / trials], runs, chance)
    assert low <= per_place.min() <= per_place.max() <= high
    counts = np.array([len(d) for d in drawn]) + rng.random(runs)  # spread over the steps: a continuous law

    def law(count):
        whole = np.floor(count)
        return binom.cdf(whole - 1, trials, chance) + (count - whole) * binom.pmf(whole, trials, chance)

    assert kstest(counts, law).pvalue > LEVEL


@pytest.mark.parametrize(
    ("trials", "chance", "count"), [(0, 0.5, 0), (1, 1e-12, 0), (10, 0.0, 0), (10**12, 1e-11, 10)]
)
def test_successes_at_the_edges(trials, chance, count):
    assert abs(len(successes(trials, chance, np.random.default_rng(0))) - count) <= 3 * count**0.5


def test_large_clients_need_no_matrix_of_pairs():
    size = 100_000  # 5 x 10^9 pairs
    after = responded(client_of(size, ring(10)), 14.0)
    expected = size**2 / 2 / np.exp(14.0)
    assert abs(after.edges.shape[1] / 2 - 10 - expected) < 5 * expected**0.5
    assert int(after.edges[0, : after.edges.shape[1] // 2].max()) > size - 2000
    assert int(after.edges.max()) > size - 100


def test_trivial_epsilon_changes_no_edge_within_the_client():
    before = client_of(30, ring(30))
    assert pairs_of(responded(before, 60.0)) == pairs_of(before)
    assert EdgeRandomisedResponse.alternative == "fewer-edges"


def test_the_graph_stays_simple_and_undirected_and_nothing_else_changes():
    before = client_of(40, ring(40))
    after = responded(before, 2.0)
    edges = set(map(tuple, after.edges.t().tolist()))
    assert len(edges) == after.edges.shape[1]
    assert all(a != b and (b, a) in edges for a, b in edges)
    for name in ("nodes", "x", "y", "y_train", "train", "val", "test", "used"):
        assert torch.equal(getattr(after, name), getattr(before, name))


def test_edges_to_other_clients_are_dropped_and_leave_no_trace(federation):
    """With one node's cut edge more or less both ends send the same."""
    clients = federation.clients
    assert any(c.cut.shape[1] for c in clients)
    nodes = sum(len(c.nodes) for c in clients)

    def messages(parts):
        channel = Channel()
        exchange([responded(c, 6.0, c.number) for c in parts], 2, nodes, channel, encrypted=False)
        return channel.transcript.messages

    fewer = [replace(c, cut=c.cut[:, 1:]) for c in clients]
    for one, other in zip(messages(clients), messages(fewer), strict=True):
        assert all(torch.equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())


def test_the_seed_decides():
    before = client_of(40, ring(40))
    one, again, other = (pairs_of(responded(before, 1.0, seed)) for seed in (0, 0, 1))
    assert one == again != other


def test_a_graph_beyond_all_use_is_refused():
    with pytest.raises(
        InputError, match=r"epsilon 0.1 makes about .* false edges among the 20000 nodes of 'client:0'"
    ):
        responded(client_of(20_000, [(0, 1)]), 0.1)


@pytest.mark.parametrize("epsilon", [0, -1, float("inf"), float("nan")])
def test_settings_are_checked(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        EdgeRandomisedResponse(epsilon=epsilon)

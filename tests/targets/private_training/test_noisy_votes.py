"""Noisy votes: nothing but noisy sums of votes knows edges."""

import math

import numpy as np
import pytest
import torch

from gaudit.graphs.network import Network
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.private_training import noisy_votes
from gaudit.targets.private_training.noisy_votes import ballots
from support.private_training import ran, told
from support.sixty_nodes import sixty_nodes


def with_edge_less(data):
    one, other = data.edge_index[:, 0].tolist()
    less, ends = data.clone(), {(one, other), (other, one)}
    less.edge_index = data.edge_index[:, [tuple(e) not in ends for e in data.edge_index.t().tolist()]]
    return less, [one, other]


def test_answers_alone_are_published():
    assert {m.kind for m in ran("noisy-votes", sixty_nodes()).transcript.messages} == {"posteriors-full"}


def test_ballots_are_never_longer_than_1_and_say_nothing_where_nothing_is_known():
    drawn = torch.from_numpy(np.random.default_rng(0).dirichlet([0.3] * 5, 500))
    assert float(ballots(drawn).norm(dim=1).max()) <= 1 + 1e-9
    assert torch.allclose(ballots(torch.eye(5)).norm(dim=1), torch.ones(5))
    assert torch.allclose(ballots(torch.full((1, 5), 0.2)), torch.zeros(1, 5), atol=1e-6)


def test_one_edge_moves_all_that_noise_is_added_to_by_sqrt_2_at_most(monkeypatch):
    """Sums without noise, of graphs that differ in one edge: what reads edges is these sums alone."""
    seen = []

    def recorded(rows, edges, deviation, rng):
        sums = torch.zeros_like(rows).index_add_(0, edges[1], rows[edges[0]])
        seen.append((rows, sums, deviation))
        return sums

    monkeypatch.setattr(noisy_votes, "noisy_sums", recorded)
    data = sixty_nodes()
    less, _ = with_edge_less(data)
    runs = [ran("noisy-votes", d, epsilon=2.0) for d in (data, less)]
    (rows, one, deviation), (same, other, _) = seen
    assert torch.equal(rows, same)  # the votes themselves read no edge
    assert 0 < float((one - other).norm()) <= math.sqrt(2) + 1e-6
    divergence = runs[0].promise
    assert deviation > math.sqrt(2) * math.sqrt(2 * math.log(1.25 / float(divergence.delta))) / 2.0 * 0.5


def test_without_noise_to_speak_of_an_edge_is_read_and_with_noise_answers_follow_features():
    data = sixty_nodes()
    less, ends = with_edge_less(data)
    a, b = (
        told(ran("noisy-votes", d, epsilon=1e6, steps=40), "posteriors-full")["posteriors"] for d in (data, less)
    )
    moved = (a - b).abs().max(1).values
    assert float(moved[ends].max()) > 1e-3
    assert int((moved > 1e-3).sum()) <= 2


def test_votes_of_neighbours_mend_weak_features():
    """Two classes that features hardly tell, and neighbours of the own class."""
    rng = np.random.default_rng(0)
    y, data = np.arange(300) % 2, sixty_nodes()
    own = (y[:, None] == y[None]) & (rng.random((300, 300)) < 0.08)
    network = Network.from_edges(300, *np.nonzero(np.triu(own, 1)))
    low, high = torch.from_numpy(network.edges)
    data.x = torch.from_numpy(0.5 * (2 * y - 1)[:, None] + rng.normal(size=(300, 4))).float()
    data.y, data.edge_index, data.num_nodes = (
        torch.from_numpy(y),
        torch.stack([torch.cat([low, high]), torch.cat([high, low])]),
        300,
    )
    part = rng.integers(0, 3, 300)
    data.train_mask, data.val_mask, data.test_mask = (torch.from_numpy(part == k) for k in range(3))
    found = [
        find("targets", "noisy-votes")(epsilon=e, split="dataset")(
            data, Defense(), np.random.SeedSequence(0), lambda message: False
        ).utility.test
        for e in (0.01, 8.0)
    ]
    assert found[1] > found[0] + 0.05


def test_the_promise_speaks_of_edges():
    promise = ran("noisy-votes", sixty_nodes(), epsilon=3.0).promise
    assert (promise.unit, promise.adjacency, float(promise.epsilon)) == ("edge", "add/remove", 3.0)
    assert "labels" in promise.public


@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_seed_decides(epsilon):
    one, again = (told(ran("noisy-votes", sixty_nodes(), epsilon=epsilon), "posteriors-full") for _ in range(2))
    assert torch.equal(one["posteriors"], again["posteriors"])

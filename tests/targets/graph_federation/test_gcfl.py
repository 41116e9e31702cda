"""GCFL: planted groups are found as all cuts say, when clusters are divided, what each client is sent."""

from itertools import combinations

import numpy as np
import pytest
import torch

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.clustering import changes_of, cosine_similarities, cut_in_two, is_torn

SMALL = {"clients": 4, "hidden": 8, "rounds": 9, "lr": 0.01, "divides_after": 5}
SPLIT = {"thresholds": "absolute", "stands_still": 100.0, "moves_apart": 1e-9}
OWN = {"w1", "b1", "w", "b"}


def ran(**settings):
    made = find("targets", "gcfl")(**(SMALL | settings))
    return made(forty_graphs(), Defense(), np.random.SeedSequence(0), lambda message: True)


def lightest(weights: np.ndarray) -> float:
    """The least weight of a cut, over all of them."""
    everyone = range(len(weights))
    sides = [set(side) for n in range(1, len(weights)) for side in combinations(everyone, n)]
    return min(sum(weights[i, j] for i in side for j in everyone if j not in side) for side in sides)


@pytest.mark.parametrize("seed", range(20))
def test_the_cut_is_the_lightest_of_all(seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((6, 6))
    weights = weights + weights.T
    one, other = cut_in_two(weights)
    assert sorted(one + other) == list(range(6))
    assert one
    assert other
    assert sum(weights[i, j] for i in one for j in other) == pytest.approx(lightest(weights))


@pytest.mark.parametrize("seed", range(10))
def test_two_planted_groups_are_split(seed):
    """Clients of a group move along one direction, those of the other against it, with some noise."""
    rng = np.random.default_rng(seed)
    direction, group = rng.normal(size=200), rng.permutation([0, 0, 0, 1, 1, 1, 1])
    moves = np.where(group == 0, 1.0, -1.0)[:, None] * direction + 0.3 * rng.normal(size=(7, 200))
    similar = cosine_similarities(torch.from_numpy(moves))
    plain = 1 + (moves @ moves.T) / np.outer(*2 * (np.linalg.norm(moves, axis=1),))
    np.testing.assert_allclose(similar, plain)
    one, other = cut_in_two(similar)
    assert {tuple(one), tuple(other)} == {tuple(np.flatnonzero(group == side)) for side in (0, 1)}


def test_when_clients_are_torn():
    apart = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.1]])
    mean = float(apart.mean(0).norm())
    assert is_torn(apart, mean * 1.01, 0.99)
    assert not is_torn(apart, mean * 0.99, 0.99)
    assert not is_torn(apart, mean * 1.01, 1.01)
    assert not is_torn(apart[:2], 1.0, 0.1)


def test_a_division_follows_the_uploads_and_each_client_gets_the_mean_of_its_own_cluster():
    done = ran(rounds=7, aggregation="uniform", **SPLIT)
    sent = done.transcript.messages
    (held, *_) = [m for m in sent if m.kind == "clusters"]
    assert held.round == 5
    got = next(m for m in sent if m.kind == "convolutions" and m.round == 5).tensors
    uploads = [m.tensors for m in sent if m.kind == "convolutions-update" and m.round == 5]
    similar = cosine_similarities(changes_of(uploads, [got] * 4))
    number = held.tensors["cluster"].numpy()
    one, other = np.flatnonzero(number == 0), np.flatnonzero(number == 1)
    assert sum(similar[i, j] for i in one for j in other) == pytest.approx(lightest(similar))
    after = {m.receiver: m.tensors for m in sent if m.kind == "convolutions" and m.round == 6}
    for side in (one, other):
        for client in side:
            for name, weight in after[f"client:{client}"].items():
                torch.testing.assert_close(weight, torch.stack([uploads[k][name] for k in side]).mean(0))


def test_first_and_last_map_are_in_no_message():
    sent = ran(**SPLIT).transcript.messages
    assert {m.kind for m in sent} == {
        *("labelled-count", "convolutions", "convolutions-update", "clusters", "posteriors-full")
    }
    assert all(not OWN & set(m.tensors) for m in sent)
    assert done_without_division() == {"clusters": 1.0}


def done_without_division() -> dict[str, float]:
    return ran(thresholds="absolute", stands_still=1e-12).figures


def test_nobody_is_divided_before_its_round():
    early = ran(rounds=5, **SPLIT)
    assert early.figures == {"clusters": 1.0}


def test_relative_thresholds_are_shares_of_the_first_rounds():
    """The absolute thresholds that the first rounds' norms say, reckoned from the messages, divide alike."""
    relative = ran(rounds=12, stands_still=0.8, moves_apart=0.5)
    sent, norms = relative.transcript.messages, []
    for t in range(5):
        got = next(m for m in sent if m.kind == "convolutions" and m.round == t).tensors
        uploads = [m.tensors for m in sent if m.kind == "convolutions-update" and m.round == t]
        changes = changes_of(uploads, [got] * 4)
        norms.append((float(changes.mean(0).norm()), float(changes.norm(dim=1).max())))
    still, apart = np.mean(norms, axis=0)
    again = ran(rounds=12, thresholds="absolute", stands_still=0.8 * still, moves_apart=0.5 * apart)
    assert relative.figures == again.figures

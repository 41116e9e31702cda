"""GCFL+: the warped distance is the best of all paths, and norms alone say who is alike."""

from collections.abc import Iterator

import numpy as np
import pytest

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.federated.clustering import cut_in_two, warped_distance, warped_similarities

SPLIT = {"thresholds": "absolute", "stands_still": 100.0, "moves_apart": 1e-9}


def paths(end: tuple[int, int], at: tuple[int, int] = (0, 0)) -> Iterator[list[tuple[int, int]]]:
    """All ways from one pair of places to the last one."""
    if at == end:
        yield [at]
    for step in ((0, 1), (1, 0), (1, 1)):
        there = at[0] + step[0], at[1] + step[1]
        if there[0] <= end[0] and there[1] <= end[1]:
            yield from ([at, *rest] for rest in paths(end, there))


@pytest.mark.parametrize("seed", range(20))
def test_the_distance_is_that_of_the_best_path(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=rng.integers(1, 6)), rng.normal(size=rng.integers(1, 6))
    every = paths((len(one) - 1, len(other) - 1))
    best = min(sum((one[i] - other[j]) ** 2 for i, j in path) for path in every)
    assert warped_distance(one, other) == pytest.approx(np.sqrt(best))


def test_a_sequence_that_is_late_is_near():
    rises = np.array([0, 0, 1, 2, 3, 3.0])
    assert warped_distance(rises, np.array([0, 1, 2, 3, 3, 3.0])) == 0
    assert warped_distance(rises, rises[::-1]) > 1


def test_clients_whose_norms_fall_are_cut_from_those_whose_norms_rise():
    rng = np.random.default_rng(0)
    falls = [np.linspace(2, 0, 10) + 0.05 * rng.normal(size=10) for _ in range(3)]
    rises = [np.linspace(0, 2, 10) + 0.05 * rng.normal(size=10) for _ in range(3)]
    one, other = cut_in_two(warped_similarities(falls + rises))
    assert {tuple(one), tuple(other)} == {(0, 1, 2), (3, 4, 5)}


def test_a_division_waits_for_as_many_norms_since_the_last_one_and_follows_them():
    settings = {"clients": 4, "hidden": 8, "rounds": 16, "lr": 0.01, "divides_after": 5, "sequence": 8}
    made = find("targets", "gcfl+")(**settings, **SPLIT)
    done = made(forty_graphs(), Defense(), np.random.SeedSequence(0), lambda message: True)
    sent = done.transcript.messages
    told = [m for m in sent if m.kind == "gradient-norm"]
    assert len(told) == 4 * 16
    assert all(set(m.tensors) == {"norm"} and m.tensors["norm"].shape == (1,) for m in told)
    held = [m for m in sent if m.kind == "clusters"]
    assert held[0].round == 7  # the eighth round is the first with eight norms
    norms = np.array([[float(m.tensors["norm"]) for m in told if m.sender == f"client:{k}"] for k in range(4)])
    expected = cut_in_two(warped_similarities(list(norms[:, :8])))
    number = held[0].tensors["cluster"].numpy()
    assert {tuple(np.flatnonzero(number == side)) for side in (0, 1)} == {tuple(side) for side in expected}

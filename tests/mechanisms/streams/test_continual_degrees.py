"""Degrees at every step: what all messages of a pair change, by brute force; noise; what comes out."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from gaudit.errors import InputError
from gaudit.mechanisms.streams import continual_degrees
from gaudit.mechanisms.streams.continual_degrees import (
    degree_sequences,
    sorted_contacts,
    sorted_contacts_sensitivity,
)
from gaudit.mechanisms.streams.messages import Messages

PAIRS = ((0, 1), (0, 2), (1, 2))
STEPS = 3


def stream(nodes, told):
    told = list(told)
    return Messages.from_events(nodes, [a for a, _, _ in told], [b for _, b, _ in told], [t for _, _, t in told])


def by_hand(nodes, told, steps):
    return [
        sorted(len({(a, b) for a, b, when in told if when <= step and node in (a, b)}) for node in range(nodes))
        for step in range(steps)
    ]


def test_sensitivity_all_messages_of_a_pair_change_it_by_two_a_step_at_most():
    """All 512 sets of messages among three people at three steps, and each pair."""
    every, worst = [(*pair, step) for pair in PAIRS for step in range(STEPS)], 0
    for there in product((0, 1), repeat=len(every)):
        told = [message for message, sent in zip(every, there, strict=True) if sent]
        found = sorted_contacts(stream(3, told), STEPS)
        assert found.tolist() == by_hand(3, told, STEPS)
        for pair in PAIRS:
            without = by_hand(3, [message for message in told if message[:2] != pair], STEPS)
            worst = max(worst, int(np.abs(found - without).sum()))
    assert worst == sorted_contacts_sensitivity(STEPS)


def test_sensitivity_holds_for_larger_streams():
    rng = np.random.default_rng(0)
    for _ in range(30):
        nodes, steps = int(rng.integers(4, 8)), int(rng.integers(1, 9))
        told = [
            (a, b, int(rng.integers(steps + 2))) for a, b in rng.integers(nodes, size=(30, 2)).tolist() if a < b
        ]
        found = sorted_contacts(stream(nodes, told), steps)
        assert found.tolist() == by_hand(nodes, told, steps)
        gone = told[0][:2]
        without = by_hand(nodes, [message for message in told if message[:2] != gone], steps)
        assert np.abs(found - without).sum() <= sorted_contacts_sensitivity(steps)


def test_noise_is_for_all_steps_and_what_comes_out_grows(monkeypatch):
    asked, laplace = [], continual_degrees.discrete_laplace
    draw = lambda scale, *rest: asked.append(scale) or laplace(scale, *rest)  # noqa: E731
    monkeypatch.setattr(continual_degrees, "discrete_laplace", draw)
    told = [(0, 1, 0), (0, 2, 1), (1, 2, 2), (3, 4, 2), (0, 1, 3)]
    found = degree_sequences(stream(6, told), 0.5, 4, np.random.default_rng(0))
    assert asked == [Fraction(2 * 4) / Fraction(1, 2)]
    values = np.asarray(found.values)
    assert values.shape == (4, 6)
    assert (np.diff(values, axis=0) >= 0).all()
    assert (np.diff(values, axis=1) >= 0).all()
    assert found.guarantee.unit == "edge-history"
    exact = degree_sequences(stream(6, told), 1e6, 4, np.random.default_rng(0))
    assert exact.values.tolist() == by_hand(6, told, 4)


@pytest.mark.parametrize(("steps", "nodes", "words"), [(0, 3, "number of steps"), (2, 1, "number of nodes")])
def test_what_cannot_be_told_is_refused(steps, nodes, words):
    with pytest.raises(InputError, match=words):
        degree_sequences(Messages.from_events(nodes, [], [], []), 1.0, steps)

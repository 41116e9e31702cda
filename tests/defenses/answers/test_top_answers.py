"""Answers of the likeliest classes alone."""

import numpy as np
import pytest
import torch

from gaudit.defenses.answers.top_answers import TopAnswers
from gaudit.targets.messages import PROBED_KIND
from gaudit.targets.transcript import Message

SEED = np.random.SeedSequence(0)
ROWS = torch.tensor([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])


def told(rows, classes):
    nodes = torch.arange(len(rows))
    message = Message(PROBED_KIND, "server", "public", 1, {"nodes": nodes, "posteriors": rows})
    defense = TopAnswers(classes=classes)
    after = defense.on_message(SEED)(message)
    verified = defense.verify_message(message, after)
    assert verified.holds, verified.detail
    return after.tensors["posteriors"]


def test_what_is_left_is_shared_out_evenly():
    expected = torch.tensor([[0.5, 0.5 / 3, 0.5 / 3, 0.5 / 3], [0.2, 0.2, 0.2, 0.4], [0.25] * 4])
    torch.testing.assert_close(told(ROWS, 1), expected)
    torch.testing.assert_close(told(ROWS, 2)[0], torch.tensor([0.5, 0.3, 0.1, 0.1]))
    assert torch.equal(told(ROWS, 4), ROWS)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_guarantee_rows_stay_distributions_with_the_same_winner(classes):
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(500, 5)) * 3).float().softmax(1)
    found = told(rows, classes)
    torch.testing.assert_close(found.sum(1), torch.ones(500))
    assert torch.equal(found.argmax(1), rows.argmax(1))
    assert max(len(set(row)) for row in found.tolist()) <= classes + 1


def test_the_check_can_fail():
    message = Message(PROBED_KIND, "server", "public", 1, {"nodes": torch.arange(3), "posteriors": ROWS})
    assert not TopAnswers(classes=1).verify_message(message, message).holds

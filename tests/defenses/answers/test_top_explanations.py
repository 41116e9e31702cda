"""Explanations of which the largest entries alone are told."""

import numpy as np
import pytest
import torch

from gaudit.defenses.answers.top_explanations import RandomExplanations, TopExplanations
from gaudit.targets.messages import EXPLANATIONS_KIND
from gaudit.targets.transcript import Message

SEED = np.random.SeedSequence(0)
ROWS = torch.tensor([[0.5, 0.3, 0.0, 0.1], [0.0, 0.0, 0.0, 0.4]])


def told(defense, rows=ROWS):
    message = Message(EXPLANATIONS_KIND, "server", "public", 1, {"nodes": torch.arange(2), "explanations": rows})
    after = defense.on_message(SEED)(message)
    assert defense.verify_message(message, after).holds
    return after.tensors["explanations"]


def test_the_largest_stay_and_others_become_zero():
    assert torch.equal(told(TopExplanations(entries=2)), torch.tensor([[0.5, 0.3, 0, 0], [0, 0, 0, 0.4]]))
    assert torch.equal(told(TopExplanations(entries=2, bits=True)), torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 1]]))
    assert torch.equal(told(TopExplanations(entries=9)), ROWS)


def test_guarantee_no_explanation_has_more_entries_and_the_check_can_fail():
    message = Message(EXPLANATIONS_KIND, "server", "public", 1, {"nodes": torch.arange(2), "explanations": ROWS})
    assert not TopExplanations(entries=2).verify_message(message, message).holds


@pytest.mark.parametrize("entries", [3, 10])
def test_it_keeps_more_of_what_matters_than_its_alternative(entries):
    rows = torch.from_numpy(np.random.default_rng(0).exponential(size=(2, 40))).float()
    top, drawn = told(TopExplanations(entries=entries), rows), told(RandomExplanations(entries=entries), rows)
    assert torch.equal((top != 0).sum(1), (drawn != 0).sum(1))
    assert float(top.sum()) > 1.2 * float(drawn.sum())

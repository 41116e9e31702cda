"""Randomised response on explanations: its chances, and what it promises."""

from itertools import product
from math import exp, prod

import numpy as np
import pytest
import torch

from gaudit.audit.conformance.defense_words import IN_WORDS
from gaudit.audit.conformance.rule import BrokenRuleError
from gaudit.defenses.answers.explanation_response import ExplanationResponse, ExplanationResponseSettings
from gaudit.targets.messages import EXPLANATIONS_KIND
from gaudit.targets.transcript import Message


@pytest.mark.parametrize(("features", "entries"), [(4, 1), (5, 2), (3, 2)])
def test_guarantee_of_all_explanations_and_all_that_can_be_told(features, entries):
    """By brute force: the largest ratio of chances is e^epsilon, and is reached."""
    flip = ExplanationResponseSettings(epsilon=1.5, entries=entries).flip(features)
    rows = list(product((0, 1), repeat=features))

    def chance(row, told):
        return prod(flip if a != b else 1 - flip for a, b in zip(row, told, strict=True))

    may_be = [row for row in rows if sum(row) <= entries]
    most = max(chance(a, told) / chance(b, told) for a, b, told in product(may_be, may_be, rows))
    assert most == pytest.approx(exp(1.5))


def test_bits_flip_with_the_stated_chance():
    """Of 200,000 bits of either sort, within five standard errors."""
    defense, runs = ExplanationResponse(epsilon=4.0, entries=2), 100_000
    row = torch.tensor([0.7, 0.0, 0.2, 0.1, 0.0])  # two are named
    rows = {"nodes": torch.arange(runs), "explanations": row.repeat(runs, 1)}
    told = defense.on_message(np.random.SeedSequence(0))(Message(EXPLANATIONS_KIND, "server", "public", 1, rows))
    shares = told.tensors["explanations"].mean(0).numpy()
    flip = 1 / (1 + exp(1))
    error = 5 * (flip * (1 - flip) / runs) ** 0.5
    np.testing.assert_allclose(shares, [1 - flip, flip, 1 - flip, flip, flip], atol=error)


def test_the_check_of_its_promise_can_fail():
    class Leaky(ExplanationResponse):
        def __init__(self, **settings):
            super().__init__(**{**settings, "epsilon": 2 * settings.get("epsilon", 1.0)})

    with pytest.raises(BrokenRuleError, match="shows"):
        IN_WORDS["explanation-response"](Leaky())

"""Noise on answers: of the stated law, the same for the same query, and of the stated price."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from gaudit.defenses.answers.noisy_answers import NoisyAnswers
from gaudit.targets.messages import EXPLANATIONS_KIND, PROBED_KIND
from gaudit.targets.transcript import Message

SEED = np.random.SeedSequence(0)


def asked(nodes, factor=1.0, rows=None, kind=PROBED_KIND):
    """An answer about some nodes, the first of which was changed."""
    ids = torch.tensor(nodes)
    factors = torch.ones(len(ids))
    factors[0] = factor
    told = torch.full((len(ids), 4), 0.25) if rows is None else rows
    tensors = {"nodes": ids, "posteriors": told} | ({"factors": factors} if kind == PROBED_KIND else {})
    return Message(kind, "server", "public", 1, tensors)


def told(mod, message):
    return mod(message).tensors["posteriors"]


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_noise_on_logits_is_of_the_stated_law(law):
    """Differences of two logits of many answers, by Kolmogorov and Smirnov: false alarms in 1 of 1,000."""
    mod = NoisyAnswers(scale=0.5, law=law, on="logits").on_message(SEED)
    logs = told(mod, asked(list(range(5000)))).double().log()
    found = (logs[:, 0] - logs[:, 1]).numpy() / 0.5
    law_of_two = np.random.default_rng(1)
    draw = law_of_two.standard_normal if law == "gaussian" else law_of_two.laplace
    reference = draw(size=200_000) - draw(size=200_000)
    assert stats.ks_2samp(found, reference).pvalue > 0.001


def test_noise_on_posteriors_has_the_stated_deviation():
    exact = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).repeat(20_000, 1)
    found = told(NoisyAnswers(scale=0.01).on_message(SEED), asked(list(range(20_000)), rows=exact)) - exact
    expected = 0.01 * np.sqrt([1 - 2 * p + 4 * p * p for p in exact[0].tolist()])  # after division by the sum
    np.testing.assert_allclose(found.std(0).numpy(), expected, rtol=0.05)
    assert float(found.mean(0).abs().max()) < 5 * 0.01 / np.sqrt(20_000)


def test_guarantee_a_query_that_is_repeated_gets_the_same_answer():
    mod = NoisyAnswers().on_message(SEED)
    once = told(mod, asked([3, 1, 7], 2.0))
    told(mod, asked([1, 3], 2.0))  # another one between
    assert torch.equal(told(mod, asked([3, 1, 7], 2.0)), once)
    assert torch.equal(told(mod, asked([3, 7], 2.0)), once[[0, 2]])
    for other in (asked([3, 1, 7], 2.5), asked([1, 3, 7], 2.0), asked([3, 1, 7])):
        assert not torch.equal(told(mod, other), once)
    assert not torch.equal(told(NoisyAnswers().on_message(np.random.SeedSequence(1)), asked([3, 1, 7], 2.0)), once)


def test_a_table_is_the_answer_to_features_as_they_are():
    mod = NoisyAnswers().on_message(SEED)
    table = told(mod, asked([0, 1, 2], kind="posteriors-full"))
    assert torch.equal(table, told(mod, asked([0, 1, 2])))
    assert not torch.equal(table, told(mod, asked([0, 1, 2], kind="posteriors-0-hop")))


def test_fresh_noise_is_another_each_time_and_averages_out():
    mod = NoisyAnswers(scale=0.01, frozen=False).on_message(SEED)
    found = torch.stack([told(mod, asked([3, 1], 2.0)) for _ in range(400)])
    assert not torch.equal(found[0], found[1])
    assert float((found.mean(0) - 0.25).abs().max()) < 5 * 0.01 / 20


@pytest.mark.parametrize("on", ["posteriors", "logits"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_rows_stay_distributions(on, scale):
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]]).repeat(200, 1)
    found = told(NoisyAnswers(scale=scale, on=on).on_message(SEED), asked(list(range(400)), rows=rows))
    assert bool(((found >= 0) & (found <= 1)).all())
    torch.testing.assert_close(found.sum(1), torch.ones(400))


def test_other_messages_pass():
    message = replace(asked([0, 1]), kind=EXPLANATIONS_KIND)
    assert NoisyAnswers().on_message(SEED)(message) is message

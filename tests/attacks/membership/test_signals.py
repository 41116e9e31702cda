"""What a model's answer says about one node."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.attacks.membership.signals import as_told, hardened, log_confidence, margin, resolution

LOGITS = st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=6)


def log_sum(values: list[float]) -> float:
    most = max(values)
    return most + math.log(math.fsum(math.exp(v - most) for v in values))


@given(LOGITS, st.data())
def test_margin_is_the_log_odds_of_the_label(logits, data):
    label = data.draw(st.integers(0, len(logits) - 1))
    expected = logits[label] - log_sum(logits[:label] + logits[label + 1 :])
    (found,) = margin(torch.tensor([logits]), torch.tensor([label]))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(LOGITS, st.data())
def test_log_confidence_is_the_log_of_the_softmax(logits, data):
    label = data.draw(st.integers(0, len(logits) - 1))
    (found,) = log_confidence(torch.tensor([logits]), torch.tensor([label]))
    assert found == pytest.approx(logits[label] - log_sum(logits), rel=1e-12, abs=1e-9)


def test_margin_is_exact_where_a_softmax_saturates():
    """In float32 p is 1 for all three, and log(p / (1 - p)) infinite."""
    logits, labels = torch.tensor([[40.0, 0.0, 0.0], [100.0, 0.0, 0.0], [-1000.0, 0.0, 0.0]]), torch.zeros(3).long()
    p = logits.softmax(1)[:, 0]
    assert (p[:2] == 1).all()
    found = margin(logits, labels)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.array([40.0, 100.0, -1000.0]) - np.log(2), rtol=1e-15)


def test_signals_of_many_models_are_those_of_each():
    draw = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(4, 7, 3, generator=draw), torch.randint(3, (7,), generator=draw)
    for signal in (margin, log_confidence):
        together = signal(logits, labels)
        assert together.shape == (4, 7)
        np.testing.assert_array_equal(together, np.stack([signal(one, labels) for one in logits]))


def test_a_constant_on_all_logits_changes_nothing():
    draw = torch.Generator().manual_seed(1)
    logits, labels = torch.randn(9, 4, generator=draw).double(), torch.randint(4, (9,), generator=draw)
    for signal in (margin, log_confidence):
        np.testing.assert_allclose(signal(logits + 50, labels), signal(logits, labels), atol=1e-12)


@pytest.mark.parametrize("classes", [2, 5])
def test_hardened_answers_keep_the_label_and_nothing_else(classes):
    logits = torch.randn(3, 8, classes, generator=torch.Generator().manual_seed(2))
    hard = hardened(logits)
    assert torch.equal(hard.argmax(-1), logits.argmax(-1))
    torch.testing.assert_close(hard.exp().sum(-1), torch.ones(3, 8))
    assert torch.equal(hard, hardened(7 * logits - 3))
    for label in range(classes):
        told = log_confidence(hard, torch.full((8,), label))
        right = (logits.argmax(-1) == label).numpy()
        np.testing.assert_allclose(told[right], np.log(0.99), rtol=1e-6)
        np.testing.assert_allclose(told[~right], np.log(0.01 / (classes - 1)), rtol=1e-6)


@pytest.mark.parametrize("step", [0.01, 0.1, 0.25])
def test_answers_told_in_steps_are_read_as_multiples_of_it(step):
    logits = torch.randn(3, 50, 6, generator=torch.Generator().manual_seed(0)) * 3
    told, exact = as_told(logits, step).double().exp(), logits.double().softmax(-1)
    multiple = told / step
    zero = (multiple - 0.25).abs() < 1e-4
    assert zero.any()
    assert torch.all(((multiple - multiple.round()).abs() < 1e-3) | zero)
    assert torch.equal(told.argmax(-1)[exact.amax(-1) > 0.6], exact.argmax(-1)[exact.amax(-1) > 0.6])
    assert ((told - exact).abs() <= 0.5 * step + 1e-6)[~zero].all()


def test_no_step_leaves_answers_and_a_whole_one_their_label():
    logits = torch.randn(20, 4, generator=torch.Generator().manual_seed(1))
    assert as_told(logits, 0) is logits
    assert torch.equal(as_told(logits, 1), hardened(logits))


def test_the_step_of_a_table_is_seen_where_it_was_rounded():
    exact = (torch.randn(200, 5, generator=torch.Generator().manual_seed(2)) * 4).softmax(1)
    assert resolution(exact) == 0
    assert resolution(torch.where(exact < 1e-6, 0.0, exact)) == 0
    for step in (0.01, 0.1):
        rounded = (exact / step).round() * step
        assert resolution(rounded) == pytest.approx(step, rel=1e-5)
    assert resolution(torch.eye(5)) == 1

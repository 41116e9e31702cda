"""Adversarial regularisation: what a local membership model gains, as a term of the loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from gaudit.defenses.training.adversarial import AdversarialRegularisation
from gaudit.errors import InputError

CLASSES = 3


@pytest.fixture
def term(federation):
    """``term(weight=..., ...)``: the loss term of the first client."""

    def make(seed=0, **settings):
        client = federation.clients[0]
        return AdversarialRegularisation(**settings).on_training(client, np.random.SeedSequence(seed))

    return make


def nodes(n, sureness, seed):
    """Logits of n nodes that are as sure of their label as asked."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (n,), generator=draw)
    logits = torch.randn(n, CLASSES, generator=draw) * 0.5 + sureness * F.one_hot(labels, CLASSES)
    return logits, labels


def gain(term, logits, labels):
    """The sum over nodes of log h(posterior, label), in double precision."""
    inputs = torch.cat([logits.double().softmax(1), F.one_hot(labels, CLASSES).double()], dim=1)
    return F.logsigmoid(term.model.double()(inputs)).sum()


@pytest.mark.parametrize("weight", [0.3, 2.0])
def test_guarantee_gradient_is_that_of_the_weighted_gain(term, weight):
    regulariser = term(weight=weight, steps=3)
    members, others = nodes(7, 2.0, 0), nodes(9, 0.0, 1)
    got = regulariser.gradient(*members, *others)
    logits, labels = members[0].double(), members[1]
    with torch.no_grad():  # the inference model as it stands after its steps, moved by hand
        numeric = torch.zeros_like(logits)
        for i in range(logits.numel()):
            step = torch.zeros(logits.numel(), dtype=torch.double)
            step[i] = 1e-5
            up, down = (gain(regulariser, logits + s * step.view_as(logits), labels) for s in (1, -1))
            numeric.view(-1)[i] = (up - down) / 2e-5
    assert float(got.abs().max()) > 1e-4
    torch.testing.assert_close(got.double(), weight * numeric, rtol=1e-3, atol=1e-5)


def test_weight_zero_changes_nothing(term):
    assert torch.equal(term(weight=0.0).gradient(*nodes(7, 2.0, 0), *nodes(9, 0.0, 1)), torch.zeros(7, CLASSES))


def test_the_inference_model_learns_who_is_a_member(term):
    regulariser = term(lr=0.01, steps=20)
    for _ in range(5):
        regulariser.gradient(*nodes(50, 4.0, 0), *nodes(50, 0.0, 1))
    fresh_members, fresh_others = nodes(200, 4.0, 2), nodes(200, 0.0, 3)
    with torch.no_grad():
        assert float(gain(regulariser, *fresh_members)) > float(gain(regulariser, *fresh_others)) + 100


def test_logits_that_come_in_stay_as_they_are(term):
    (logits, labels), others = nodes(7, 2.0, 0), nodes(9, 0.0, 1)
    before = logits.clone()
    got = term().gradient(logits, labels, *others)
    assert torch.equal(logits, before)
    assert not got.requires_grad


def test_trivial_without_membership_signal_the_term_all_but_vanishes(term):
    """Members and reference from one distribution: the gain has nothing to hold on to."""

    def size(sureness):
        regulariser = term(lr=0.01, steps=10)
        for i in range(20):
            found = regulariser.gradient(*nodes(200, sureness, 2 * i), *nodes(200, 0.0, 2 * i + 1))
        return float(found.norm(dim=1).mean())

    assert size(0.0) < 0.25 * size(1.5)


def test_trivial_alternative_a_random_term_of_the_same_norm_hides_less(term):
    """A step against the term takes away more of the inference model's gain than one in a random direction."""
    regulariser = term(lr=0.01, steps=50)
    members, others = nodes(100, 1.5, 0), nodes(100, 0.0, 1)
    step = regulariser.gradient(*members, *others)
    noise = torch.randn(step.shape, generator=torch.Generator().manual_seed(2))
    noise *= step.norm() / noise.norm()
    with torch.no_grad():
        before = float(gain(regulariser, *members))
        against, at_random = (float(gain(regulariser, members[0] - 0.5 * d, members[1])) for d in (step, noise))
    assert against < before - 1
    assert abs(at_random - before) < 0.5 * (before - against)


def test_same_seed_same_term(term):
    given = (*nodes(7, 2.0, 0), *nodes(9, 0.0, 1))
    one, again, other = (term(seed=seed).gradient(*given) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_without_reference_there_is_no_term(federation):
    client = federation.clients[0]
    lonely = replace(client, val=torch.zeros_like(client.val))
    assert AdversarialRegularisation().on_training(lonely, np.random.SeedSequence(0)) is None


@pytest.mark.parametrize("settings", [{"weight": -1}, {"steps": 0}, {"hidden": 0}, {"lr": 0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        AdversarialRegularisation(**settings)

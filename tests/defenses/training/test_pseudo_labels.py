"""Pseudo-labels beside true ones."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binom

from gaudit.defenses.training.pseudo_labels import PseudoLabels
from gaudit.errors import InputError


def test_guarantee_members_keep_true_labels_and_others_get_the_models(federation, defended):
    shared = federation.shared
    for client in federation.clients:
        wrong = {client.number: (client.y + 1) % client.classes}  # so that true and pseudo labels differ
        after, _ = defended(PseudoLabels(), client, replace(shared, pseudo_labels=wrong))
        added = after.train & ~client.train
        assert bool(added.any())
        assert torch.equal(after.y_train[client.train], client.y[client.train])
        assert torch.equal(after.y_train[added], wrong[client.number][added])
        assert bool(after.train[client.train].all())


def test_guarantee_only_nodes_that_took_part_are_added(federation, defended):
    for client in federation.clients:
        after, _ = defended(PseudoLabels(), client, federation.shared)
        took_part = federation.shared.pseudo_labelled[client.number]
        assert bool((~took_part & ~client.train).any())  # some test nodes sat out
        assert torch.equal(after.train, client.train | took_part)


def test_the_rest_of_the_client_stays(federation, defended):
    client = federation.clients[0]
    after, kept = defended(PseudoLabels(), client, federation.shared)
    assert not kept
    for name in ("x", "y", "val", "test", "edges", "cut", "nodes"):
        assert torch.equal(getattr(after, name), getattr(client, name))


def test_share_is_respected(federation, defended):
    client = federation.clients[0]
    possible = int(federation.shared.pseudo_labelled[client.number].sum())
    added = [
        int(defended(PseudoLabels(share=0.3), client, federation.shared, seed)[0].train.sum() - client.train.sum())
        for seed in range(20)
    ]
    low, high = binom.ppf(5e-4, 20 * possible, 0.3), binom.isf(5e-4, 20 * possible, 0.3)
    assert low <= sum(added) <= high
    assert len(set(added)) > 1


def test_a_larger_share_adds_to_what_a_smaller_one_took(federation, defended):
    client = federation.clients[0]
    small, large = (defended(PseudoLabels(share=s), client, federation.shared)[0].train for s in (0.3, 0.7))
    assert bool((large | ~small).all())
    assert int(large.sum()) > int(small.sum())


def test_trivial_share_of_nothing_is_the_undefended_control(federation, defended):
    client = federation.clients[0]
    after, _ = defended(PseudoLabels(share=0.0), client, federation.shared)
    assert torch.equal(after.train, client.train)
    assert torch.equal(after.y_train, client.y_train)


def test_trivial_alternative_random_labels_are_worse(federation):
    """The model's labels for nodes that took part are right more often than drawn ones."""
    rng = np.random.default_rng(0)
    for client in federation.clients:
        added = federation.shared.pseudo_labelled[client.number]
        truth = client.y[added]
        right = float((federation.shared.pseudo_labels[client.number][added] == truth).float().mean())
        drawn = torch.from_numpy(rng.permutation(truth.numpy()))
        assert right > float((drawn == truth).float().mean()) + 0.1


def test_it_needs_a_shared_model(federation, defended):
    with pytest.raises(InputError, match="shared model"):
        defended(PseudoLabels(), federation.clients[0], None)

"""The trivial alternative for features: none is used."""

import numpy as np
import pytest
import torch

from gaudit.defenses.training.no_features import NoFeatures
from gaudit.errors import InputError
from gaudit.targets.federated.fedavg import FedAvg


def without(client, **settings):
    defense = NoFeatures(**settings)
    return defense.on_data(client, None, np.random.SeedSequence(0), lambda kind, tensors: None)


@pytest.mark.parametrize("value", [1.0, 0.0, -2.5])
def test_guarantee_every_feature_is_the_public_number(federation, value):
    for client in federation.clients:
        after = without(client, value=value)
        assert after.x.shape == client.x.shape
        assert after.x.dtype == client.x.dtype
        assert bool((after.x == value).all())
        for name in ("nodes", "y", "y_train", "train", "val", "test", "used", "edges", "cut"):
            assert torch.equal(getattr(after, name), getattr(client, name))


def test_trivial_it_is_one_itself_and_any_target_of_clients_takes_it():
    assert NoFeatures.trivial
    assert NoFeatures.alternative is None
    assert FedAvg().why_not(NoFeatures()) is None


def test_guarantee_leaves_out_answers_on_the_true_features():
    assert "not of answers computed on the true features" in NoFeatures.guarantee


def test_settings_are_checked():
    with pytest.raises(InputError, match="value"):
        NoFeatures(value=float("nan"))

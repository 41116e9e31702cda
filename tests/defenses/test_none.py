"""The undefended control passes everything through."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.registry import find
from gaudit.targets.defense import Defense


def test_it_is_what_the_registry_calls_none():
    assert find("defenses", "none") is Defense


def test_data_pass_unchanged_and_nothing_is_kept(federation, defended):
    client = federation.clients[0]
    before = {f.name: getattr(client, f.name) for f in fields(client)}
    before = {name: v.clone() if isinstance(v, torch.Tensor) else v for name, v in before.items()}
    for shared in (None, federation.shared):
        after, kept = defended(Defense(), client, shared)
        assert not kept
        for name, value in before.items():
            same = getattr(after, name)
            assert torch.equal(same, value) if isinstance(value, torch.Tensor) else same == value


def test_training_and_messages_are_left_alone(federation):
    seed = np.random.SeedSequence(0)
    assert Defense().on_training(federation.clients[0], seed) is None
    assert Defense().on_message(seed) is None


def test_it_has_no_settings():
    with pytest.raises(InputError, match="setting of defense 'none'"):
        Defense(strength=1)

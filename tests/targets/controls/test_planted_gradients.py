"""The control of reading gradients: lone nodes and pairs, by counting."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.controls.planted_gradients import PlantedGradients
from gaudit.targets.defense import Defense


def test_about_half_of_the_gradients_are_of_one_node():
    graph = load_dataset("planted")
    run = PlantedGradients()(graph, Defense(), np.random.SeedSequence(0), lambda message: True)
    found = run.secrets["lone-node"]
    assert 0.2 < found.truth.mean() < 0.8
    sent = run.transcript.seen_by("server").of_kind("class-gradients")
    keys = {int(m.sender[7:]) * 4 + int(name.split("/")[0]) for m in sent for name in m.tensors}
    assert keys == set(found.subjects.tolist())
    lone = {s for s, one in zip(found.subjects.tolist(), found.truth.tolist(), strict=True) if one}
    for message in sent:
        for name, gradient in message.tensors.items():
            label, _, weight = name.partition("/")
            if weight == "w2" and int(message.sender[7:]) * 4 + int(label) in lone:
                assert torch.linalg.matrix_rank(gradient.double(), rtol=1e-5) == 1


def test_it_is_not_defended():
    with pytest.raises(InputError, match="not defended"):
        PlantedGradients()(
            load_dataset("planted"), find("defenses", "ldp")(), np.random.SeedSequence(0), lambda m: True
        )

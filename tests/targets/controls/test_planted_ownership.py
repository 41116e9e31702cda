"""The control of asking who holds whom: honest uploads of nodes that took part."""

import numpy as np
import pytest
import torch

from gaudit.errors import InputError
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.registry import find
from gaudit.targets.controls.planted_ownership import PlantedOwnership
from gaudit.targets.defense import Defense
from gaudit.targets.games.ownership import parts_of


@pytest.fixture(scope="module", params=["node-ownership", "contribution"])
def run(request):
    made = PlantedOwnership(game=request.param)
    return made(load_dataset("planted"), Defense(), np.random.SeedSequence(0), lambda message: True)


def test_words_of_those_who_took_part_moved_and_no_others(run):
    (game,) = run.secrets.values()
    x = load_dataset("planted").x
    first = run.transcript.messages[0].tensors["w1"]
    for message in run.transcript.seen_by("server").of_kind("update"):
        moved = (message.tensors["w1"] != first).any(1)
        node, client = parts_of(game.subjects)
        own = node[game.truth & (client == int(message.sender[7:]))]
        assert torch.equal(moved, (x[torch.from_numpy(own)] != 0).any(0))


def test_it_is_not_defended():
    with pytest.raises(InputError, match="not defended"):
        PlantedOwnership()(
            load_dataset("planted"), find("defenses", "ldp")(), np.random.SeedSequence(0), lambda m: True
        )

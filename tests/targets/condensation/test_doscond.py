"""DosCond: one step for each model."""

import numpy as np
import torch
from torch_geometric.data import Data

from gaudit.registry import find
from gaudit.targets.condensation.doscond import DosCond
from gaudit.targets.condensation.gcond import GCond
from support.sixty_nodes import sixty_nodes

TINY = {"ratio": 0.15, "rounds": 6, "checkpoints": (6,), "hidden": 8, "test": {"hidden": 8, "epochs": 10}}


def released(target):
    run = target(sixty_nodes(), find("defenses", "none")(), np.random.SeedSequence(0), lambda _: True)
    return run, run.transcript.messages[-1].tensors


def test_it_is_gcond_with_one_step_and_no_training():
    one = {"backbone": "gcn", "distance": "mse", "outer": 1, "inner": 0, "lr_features": 1e-3, "lr_structure": 1e-3}
    mine, theirs = released(DosCond(**TINY))[1], released(GCond(**TINY, **one))[1]
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_rounds_are_the_papers():
    data = Data()
    data.name = "CiteSeer"
    preset = DosCond.preset("paper", data)
    assert preset["rounds"] == 3000
    assert preset["checkpoints"] == (600, 1200, 1800, 2400, 3000)
    assert preset["ratio"] == 0.018
    assert DosCond(**DosCond.preset("quick", data)).settings.rounds == 300


def test_models_trained_on_it_are_better_than_guessing():
    run, _ = released(
        DosCond(**TINY | {"rounds": 60, "checkpoints": (60,), "lr_features": 0.05, "test": {"hidden": 16}})
    )
    assert run.utility.test > 0.5

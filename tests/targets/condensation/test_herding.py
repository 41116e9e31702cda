"""Herding as a target; how it chooses is tested with the other coresets (test_random.py)."""

import numpy as np

from gaudit.registry import find
from gaudit.targets.condensation.coresets import Herding, RandomCoreset
from support.sixty_nodes import sixty_nodes


def chosen(kind, seed):
    target = kind(ratio=0.1, test={"hidden": 8, "epochs": 10})
    run = target(sixty_nodes(), find("defenses", "none")(), np.random.SeedSequence(seed), lambda _: True)
    return {tuple(row) for row in run.transcript.messages[0].tensors["x"].tolist()}


def test_it_takes_others_than_chance_does():
    mine, random = ([chosen(kind, seed) for seed in range(3)] for kind in (Herding, RandomCoreset))
    assert mine[0] == chosen(Herding, 0)
    assert any(one != other for one, other in zip(mine, random, strict=True))

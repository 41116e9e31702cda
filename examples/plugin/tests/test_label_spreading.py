"""Shares are those of the closed form, and defenses have their part."""

import numpy as np
import torch
from gaudit_example.label_spreading import LEAST, LabelSpreading
from torch.nn import functional as F

from gaudit import load_dataset
from gaudit.plugin import find

KARATE = load_dataset("karate")


def told(defense="none", **settings):
    made = LabelSpreading(**settings)
    run = made(KARATE, find("defenses", defense)(), np.random.SeedSequence(7), lambda message: True)
    return run.transcript.seen_by("public").last("posteriors-full").tensors["posteriors"]


def test_many_steps_come_to_the_closed_form():
    """Zhou et al. 2004, equation 4: F = (1 - alpha) (I - alpha S)^(-1) Y."""
    adjacency = torch.zeros(34, 34)
    adjacency[KARATE.edge_index[0], KARATE.edge_index[1]] = 1
    scale = adjacency.sum(1).rsqrt()
    spread = scale[:, None] * adjacency * scale
    labels = F.one_hot(KARATE.y).float() * KARATE.train_mask[:, None]
    shares = 0.5 * torch.linalg.solve(torch.eye(34) - 0.5 * spread, labels) + LEAST
    expected = shares / shares.sum(1, keepdim=True)
    torch.testing.assert_close(told(alpha=0.5, steps=60), expected, atol=1e-5, rtol=1e-4)


def test_defenses_have_their_part():
    for defense in ("fewer-labels", "capped-posteriors"):
        assert not torch.equal(told(defense, alpha=0.5), told(alpha=0.5))

"""Random entries of explanations."""

import numpy as np
import torch

from gaudit.defenses.answers.top_explanations import RandomExplanations
from gaudit.targets.messages import EXPLANATIONS_KIND
from gaudit.targets.transcript import Message


def test_each_entry_that_is_not_zero_is_told_equally_often():
    """10,000 explanations, 2 of 4 entries each: within five standard errors."""
    runs, row = 10_000, torch.tensor([0.9, 0.0, 0.1, 0.5, 0.2])
    rows = {"nodes": torch.arange(runs), "explanations": row.repeat(runs, 1)}
    mod = RandomExplanations(entries=2).on_message(np.random.SeedSequence(0))
    told = mod(Message(EXPLANATIONS_KIND, "server", "public", 1, rows)).tensors["explanations"]
    assert torch.equal((told != 0).sum(1), torch.full((runs,), 2))
    shares = (told != 0).float().mean(0)
    assert float(shares[1]) == 0
    assert float((shares[[0, 2, 3, 4]] - 0.5).abs().max()) < 5 * 0.5 / runs**0.5
    assert bool(((told == 0) | (told == row)).all())

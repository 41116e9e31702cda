"""The proximal term among clients with whole graphs."""

import numpy as np
import torch

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.messages import GLOBAL_KIND, UPDATE_KIND

FAST = {"rounds": 1, "local_epochs": 20, "hidden": 8, "clients": 2, "dropout": 0.0, "optimiser": "sgd", "lr": 0.02}


def moved(target, **settings):
    """How far each client went from the common weights in the first round."""
    made = find("targets", target)(**(FAST | settings))
    sent = made(forty_graphs(), Defense(), np.random.SeedSequence(0), lambda message: True).transcript.messages
    start = next(m.tensors for m in sent if m.kind == GLOBAL_KIND)
    ends = [m.tensors for m in sent if m.kind == UPDATE_KIND]
    return torch.stack([torch.cat([(end[n] - start[n]).flatten() for n in start]).norm() for end in ends])


def test_without_a_term_it_is_plain_averaging():
    assert torch.equal(moved("graph-fedprox", mu=0.0), moved("graph-fedavg"))


def test_a_larger_term_holds_clients_nearer():
    free, held, tight = (moved("graph-fedprox", mu=mu) for mu in (0.0, 5.0, 20.0))
    assert (free > held).all()
    assert (held > tight).all()

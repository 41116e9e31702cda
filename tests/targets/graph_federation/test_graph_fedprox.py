"""FedProx of whole graphs: without weight it is averaging, and with one step a round it is too."""

import numpy as np
import torch

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.messages import MODEL_KIND


def model(name, **more):
    """What is published after six rounds."""
    made = find("targets", name)(clients=3, hidden=8, rounds=6, lr=0.01, **more)
    done = made(forty_graphs(), Defense(), np.random.SeedSequence(0), lambda message: True)
    return next(m for m in done.transcript.messages if m.kind == MODEL_KIND).tensors


def same(one, other):
    return all(torch.equal(one[name], weight) for name, weight in other.items())


def test_without_weight_it_is_averaging_and_with_weight_it_is_not():
    plain = model("graph-fedavg", local_epochs=3)
    assert same(plain, model("graph-fedprox", local_epochs=3, mu=0.0))
    assert not same(plain, model("graph-fedprox", local_epochs=3, mu=1.0))


def test_with_one_step_a_round_the_term_pulls_nowhere():
    assert same(model("graph-fedavg"), model("graph-fedprox", mu=1.0))

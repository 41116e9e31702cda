"""What the tests of private trainings share."""

import numpy as np

from gaudit.registry import find


def ran(name, data, seed=0, defense="none", **settings):
    """One run of a target on a graph, everything kept."""
    target = find("targets", name)(**{"split": "dataset", "hidden": 4, "steps": 5, **settings})
    return target(data, find("defenses", defense)(), np.random.SeedSequence(seed), lambda _: True)


def told(run, kind):
    """The tensors of the one message of a kind."""
    (found,) = (m.tensors for m in run.transcript.messages if m.kind == kind)
    return found

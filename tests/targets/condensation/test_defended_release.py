"""A defense of the release itself: what it costs is measured on what is published."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gaudit.registry import find
from gaudit.targets.defense import Defense
from gaudit.targets.messages import CONDENSED_KIND, RELEASED_GRAPH
from support.sixty_nodes import sixty_nodes

FEW = {"init": "real", "test": {"hidden": 16, "epochs": 150, "models": 1, "fine_tune": False}}
SMALL = {
    "gcond": {"ratio": 0.2, "rounds": 2, "checkpoints": (2,)} | FEW,
    "fedgc": {"clients": 2, "partition": "metis", "hidden": 8, "ratio": 0.2, "rounds": 2, "checkpoints": (2,)}
    | FEW,
    "fedgm": {"clients": 2, "partition": "metis", "hidden": 8, "rounds": 2, "refinements": 1} | FEW,
}


class WrongLabels(Defense):
    """Publishes each condensed node with the label of another class."""

    name = "wrong-labels"
    acts_on = RELEASED_GRAPH

    def on_message(self, seed):
        def changed(message):
            if message.kind != CONDENSED_KIND:
                return message
            return replace(message, tensors={**message.tensors, "y": (message.tensors["y"] + 1) % 3})

        return changed


@pytest.mark.parametrize("name", list(SMALL))
def test_utility_is_that_of_what_was_published(name):
    data, target = sixty_nodes(), find("targets", name)(**SMALL[name])
    plain, wrong = (
        target(data, made, np.random.SeedSequence(0), lambda _: True) for made in (Defense(), WrongLabels())
    )
    told = [[m for m in run.transcript.messages if m.kind == CONDENSED_KIND][-1].tensors for run in (plain, wrong)]
    assert torch.equal((told[0]["y"] + 1) % 3, told[1]["y"])
    assert plain.utility.test > wrong.utility.test + 0.2

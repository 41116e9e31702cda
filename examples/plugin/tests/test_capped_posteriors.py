"""No answer is above the cap, and answers stay the same answers."""

import numpy as np
import pytest
import torch
from gaudit_example.capped_posteriors import CappedPosteriors

from gaudit.plugin import Channel, InputError

TOLD = torch.tensor([[0.98, 0.01, 0.01], [0.6, 0.4, 0.0], [0.3, 0.3, 0.4]])


def sent(kind, tensors, most):
    mod = CappedPosteriors(most=most).on_message(np.random.SeedSequence(7))
    return Channel(mods=(mod,)).send(kind, "server", "public", 1, tensors)


@pytest.mark.parametrize("most", CappedPosteriors.sweep)
def test_no_answer_is_above_the_cap(most):
    told = sent("posteriors-full", {"nodes": torch.arange(3), "posteriors": TOLD}, most)["posteriors"]
    assert float(told.max()) == pytest.approx(most)
    assert torch.allclose(told.sum(1), torch.ones(3))
    assert torch.equal(told.argmax(1), TOLD.argmax(1))
    assert torch.equal(told[2], TOLD[2])


def test_other_messages_pass():
    labels = {"nodes": torch.arange(2), "labels": torch.tensor([0, 1])}
    assert torch.equal(sent("labels-full", labels, 0.5)["labels"], labels["labels"])


def test_a_cap_that_no_answer_can_keep_is_refused():
    with pytest.raises(InputError, match=r"with 3 classes some class has 0\.33 or more"):
        sent("posteriors-full", {"nodes": torch.arange(3), "posteriors": TOLD}, 0.2)

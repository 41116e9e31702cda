"""GAP with promises for nodes: bounded degrees, and noise in all that is trained."""

import numpy as np
import pytest

from gaudit.mechanisms.accounting import least_noise
from gaudit.mechanisms.renyi import epsilon_of_renyi
from gaudit.targets.private_training.gap import GAPNode
from support.private_training import ran
from support.sixty_nodes import sixty_nodes


def test_hops_and_both_trainings_are_paid_for():
    """More hops, more steps, more is spent at the same noise; none is free."""
    plain = GAPNode(hops=1, steps=10).divergence(5.0)
    assert (GAPNode(hops=2, steps=10).divergence(5.0) > plain).all()
    assert (GAPNode(hops=1, steps=11).divergence(5.0) > plain).all()
    orders = plain / GAPNode(hops=1, steps=10).divergence(10.0)
    assert np.allclose(orders, 4.0)
    noise = least_noise(2.0, 1e-5, GAPNode().divergence)
    assert epsilon_of_renyi(GAPNode().divergence(noise), 1e-5) == pytest.approx(2.0, rel=1e-3)


def test_what_is_dropped_and_promised_is_said():
    notes = ran("gap-ndp", sixty_nodes(), max_degree=1).notes
    assert any("more than 1 neighbours" in note for note in notes)
    assert any("what is answered about other nodes" in note for note in notes)


def test_accuracy_grows_with_epsilon():
    low, high = (ran("gap-ndp", sixty_nodes(), epsilon=e, steps=80, lr=0.05).utility.test for e in (0.1, 1e5))
    assert high > 0.6
    assert low < high

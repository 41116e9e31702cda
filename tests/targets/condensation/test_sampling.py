"""Gradients of some nodes and some neighbours: right in the mean, and the exact ones where all are drawn."""

import numpy as np
import pytest
import torch

from gaudit.audit.conformance.cheap_settings import cheap
from gaudit.audit.conformance.small_graphs import sixty_nodes
from gaudit.registry import find
from gaudit.targets.condensation.matching import ClassCells, MatchingSettings
from gaudit.targets.defense import Defense
from gaudit.targets.models.backbone import BACKBONES
from gaudit.targets.models.propagation import Neighbourhood, gcn_operator
from gaudit.targets.partition import Partition
from gaudit.targets.party import clients_of

SEED = np.random.SeedSequence(0)


@pytest.fixture(params=["csr", "dense"])
def near(request):
    data = sixty_nodes()
    operator = gcn_operator(data.edge_index, 60)
    return Neighbourhood(operator @ data.x, operator if request.param == "csr" else operator.to_dense())


def whole(near):
    return near.second.to_dense() @ near.rows


def test_what_is_drawn_is_right_in_the_mean(near):
    coins, exact = torch.Generator().manual_seed(0), whole(near).double()
    drawn = torch.stack([whole(near.sampled(2, coins)).double() for _ in range(3000)])
    error = (drawn.mean(0) - exact).abs() / (drawn.std(0) / 3000**0.5).clamp_min(1e-9)
    assert error[drawn.std(0) > 1e-6].max() < 4.7  # 300 means, each beyond it once in 400,000
    assert (drawn.std(0) > 1e-6).float().mean() > 0.9


def test_no_node_has_more_neighbours_than_asked_for(near):
    few = near.sampled(3, torch.Generator().manual_seed(0))
    assert int((few.second.to_dense() != 0).sum(1).max()) == 3
    assert len(few.rows) <= len(near.rows)
    torch.testing.assert_close(whole(near.sampled(60, torch.Generator())), whole(near))


def gradients(settings, theta):
    data = sixty_nodes()
    (client,) = clients_of(data, Partition.undivided(60))
    operator = gcn_operator(data.edge_index, 60)
    cells = ClassCells(client, Neighbourhood(operator @ data.x, operator), sampling=settings.sampling(SEED))
    return [cells.gradients(theta, BACKBONES["gcn"], None) for _ in range(2)]


def test_gradients_of_all_that_could_be_drawn_are_the_exact_ones():
    coins = torch.Generator().manual_seed(1)
    shapes = {"w1": (5, 8), "b1": (8,), "w2": (8, 3), "b2": (3,)}
    theta = {name: torch.randn(shape, generator=coins) for name, shape in shapes.items()}
    exact, again = gradients(MatchingSettings(), theta)
    all_drawn, _ = gradients(MatchingSettings(batch=60, neighbours=60), theta)
    some, others = gradients(MatchingSettings(batch=2, neighbours=2), theta)
    repeated, _ = gradients(MatchingSettings(batch=2, neighbours=2), theta)
    assert exact.keys() == all_drawn.keys() == some.keys()
    for name, value in exact.items():
        assert torch.equal(value, again[name])
        torch.testing.assert_close(value, all_drawn[name])
        assert torch.equal(some[name], repeated[name])
    assert any(not torch.allclose(some[name], others[name]) for name in exact)


@pytest.mark.parametrize("target", ["gcond", "fedgc", "fedgm", "fedc4"])
def test_targets_condense_with_it(target):
    kind = find("targets", target)
    plain = cheap(kind.Settings)
    drawn = {"batch": 3, "neighbours": 2}
    more = {"condensing": plain["condensing"] | drawn} if target == "fedc4" else drawn

    def released(settings):
        sent = kind(**settings)(sixty_nodes(), Defense(), SEED, lambda message: True).transcript.messages
        return torch.cat([t.flatten().double() for m in sent for t in m.tensors.values() if t.is_floating_point()])

    exact, one, again = released(plain), released(plain | more), released(plain | more)
    assert torch.equal(one, again)
    assert not torch.equal(one, exact)
    assert bool(one.isfinite().all())

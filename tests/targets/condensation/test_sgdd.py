"""SGDD: the distance of structures by brute force, and GCond where structures are not compared."""

import numpy as np
import pytest
import torch

from gaudit.randomness import seeded
from gaudit.targets.condensation.gcond import GCond
from gaudit.targets.condensation.sgdd import SGDD, Graphon, StructuredServer, Transport, squared_distance
from gaudit.targets.defense import Defense
from support.sixty_nodes import sixty_nodes

CHEAP = {
    "ratio": 0.2,
    "hidden": 8,
    "rounds": 4,
    "outer": 2,
    "inner": 1,
    "structure_steps": 2,
    "feature_steps": 2,
    "checkpoints": (4,),
    "test": {"epochs": 5, "models": 1},
}


def released(target) -> dict[str, torch.Tensor]:
    run = target(sixty_nodes(), Defense(), np.random.SeedSequence(0), lambda message: True)
    return dict(run.transcript.seen_by("public").last("condensed-graph").tensors)


def test_with_gconds_generator_and_no_transport_it_is_gcond(monkeypatch):
    def as_gcond(self, graph, seed):
        begun = GCond.server(self, graph, seed)
        return StructuredServer(begun, begun.structure, None, 1.0)

    monkeypatch.setattr(SGDD, "server", as_gcond)
    one, other = released(SGDD(**CHEAP)), released(GCond(**CHEAP))
    assert all(torch.equal(one[name], other[name]) for name in other)


def test_a_structure_that_never_moves_leaves_the_matching_alone():
    """The transport is in the loss of structure steps only."""
    fixed = CHEAP | {"structure_steps": 0}
    one, other = released(SGDD(**fixed, transport=5.0)), released(SGDD(**fixed, transport=0.0))
    assert all(torch.equal(one[name], other[name]) for name in other)
    assert not torch.equal(
        released(SGDD(**CHEAP))["adjacency"], released(SGDD(**CHEAP, transport=0.0))["adjacency"]
    )


def test_distance_of_normals_by_brute_force():
    torch.manual_seed(0)
    one, other = (a @ a.t() / 6 + 0.3 * torch.eye(6) for a in torch.randn(2, 6, 6))
    values, vectors = torch.linalg.eigh(other)
    root = vectors @ values.sqrt().diag() @ vectors.t()
    inner = torch.linalg.eigvalsh(root @ one @ root).sqrt().sum()
    expected = one.trace() + other.trace() - 2 * inner
    torch.testing.assert_close(squared_distance(one, other), expected, atol=1e-4, rtol=1e-3)
    assert float(squared_distance(one, one)) == pytest.approx(0, abs=1e-4)


def test_training_the_plan_and_the_structure_brings_structures_nearer():
    torch.manual_seed(0)
    real = (torch.rand(12, 12) < 0.3).float().triu(1)
    real = real + real.t()
    with seeded(np.random.SeedSequence(1)):
        graphon, transport = Graphon(3, 0.5, hidden=8), Transport(real, 5, 10)
    x = torch.randn(5, 3)
    adam = torch.optim.Adam([*graphon.parameters(), *transport.parameters()], lr=0.02)
    distances = []
    for _ in range(60):
        adam.zero_grad()
        loss = transport(graphon(x))
        loss.backward()
        adam.step()
        distances.append(loss.item())
    assert 0 <= distances[-1] < 0.7 * distances[0]


def test_links_are_symmetric_shares_without_loops():
    links = Graphon(4, 0.5)(torch.randn(6, 4))
    assert torch.equal(links, links.t())
    assert not links.diagonal().any()
    assert bool((links >= 0).all() and (links <= 1).all())
    assert Graphon(4, 0.5)(torch.randn(1, 4)).shape == (1, 1)


def test_features_guide_links():
    assert not torch.equal(*(released(SGDD(**CHEAP, guided=share))["adjacency"] for share in (0.0, 1.0)))

"""Parts of neighbourhoods: what a dense computation gives, and memory that is linear in what they read."""

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import erdos_renyi_graph

from gaudit.targets.federated.self_training import mean_error
from gaudit.targets.models import propagation
from gaudit.targets.models.backbone import BACKBONES, Backbone
from gaudit.targets.models.propagation import Factor, Neighbourhood, gcn_operator, side_by_side, whole_graph

NODES, FEATURES = 60, 12


@pytest.fixture(params=["dense where small", "always sparse"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "always sparse":
        monkeypatch.setattr(propagation, "SMALL", 0)


def graph(seed: int, bag_of_words: bool) -> Neighbourhood:
    torch.manual_seed(seed)
    x = (torch.rand(NODES, FEATURES) < 0.02).float() if bag_of_words else torch.randn(NODES, FEATURES)
    return whole_graph(x, gcn_operator(erdos_renyi_graph(NODES, 0.05), NODES))


def read(near: Neighbourhood) -> Tensor:
    """Features aggregated twice."""
    return near.second.to_dense().double() @ near.rows.to_dense().double()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("bag_of_words", [True, False])
def test_a_part_reads_what_the_whole_reads_there(bag_of_words: bool) -> None:
    near, nodes = graph(0, bag_of_words), torch.tensor([7, 3, 3, 41])
    part = near.of(nodes)
    assert torch.equal(read(part), read(near)[nodes])
    reached = (near.second.to_dense()[nodes] != 0).any(0)
    assert part.second.shape == (4, len(part.rows)) == (4, int(reached.sum()))
    assert near.of(nodes[:0]).second.shape == (0, 0)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("bag_of_words", [True, False])
def test_side_by_side_each_reads_its_own(bag_of_words: bool) -> None:
    parts = [graph(k, bag_of_words).of(torch.arange(k, 30)) for k in range(3)]
    assert torch.equal(read(side_by_side(parts)), torch.cat([read(p) for p in parts]))
    mixed = [parts[0], Neighbourhood(parts[1].rows.to_dense(), parts[1].second.to_dense())]
    assert torch.equal(read(side_by_side(mixed)), torch.cat([read(p) for p in mixed]))


@pytest.mark.parametrize("backbone", BACKBONES.values())
def test_gradients_of_sparse_parts_are_those_of_dense_ones(
    backbone: type[Backbone], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, nodes, found = graph(1, False), torch.arange(0, 50, 3), []
    weights = backbone(FEATURES, 8, 3).weights()
    for limit in (propagation.SMALL, 0):
        monkeypatch.setattr(propagation, "SMALL", limit)
        part = near.of(nodes)
        rows, second = Factor.of(part.rows), Factor.of(part.second)
        hidden = backbone.hidden(weights, rows)
        error = mean_error(backbone.logits(weights, hidden, second), nodes % 3)
        found.append(backbone.gradients(weights, rows, hidden, second, error))
    assert all(torch.allclose(one, found[1][name], atol=1e-6) for name, one in found[0].items())


def test_memory_is_linear_in_what_is_read() -> None:
    nodes = 200_000  # 149 GiB as a dense matrix
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    near = Neighbourhood(torch.ones(nodes, 1), gcn_operator(torch.cat([ring, ring.flip(0)], 1), nodes))
    parts = [near.of(torch.arange(start, nodes, 2)) for start in (0, 1)]
    both = side_by_side(parts)
    assert parts[0].second.values().numel() == 3 * nodes // 2
    assert torch.allclose(both.second @ both.rows, torch.ones(nodes, 1))

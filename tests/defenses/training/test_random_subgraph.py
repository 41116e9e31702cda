"""The trivial alternative to IB-subgraphs: what is dropped, what is left, and that nothing else is trained on."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from torch import Tensor
from torch_geometric.data import Data

from gaudit.defenses.training.random_subgraph import RandomSubgraph, confined
from gaudit.errors import InputError
from gaudit.targets.games.links import remaining
from gaudit.targets.models.model_ensemble import train_models
from gaudit.targets.models.training_config import TrainingConfig
from gaudit.targets.models.training_task import TrainingTask
from gaudit.targets.party import Client


def kept_of(client: Client, rho: float, seed: int = 0) -> Client:
    return RandomSubgraph(rho=rho).on_data(client, None, np.random.SeedSequence(seed), lambda kind, tensors: None)


def pairs(edges: Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, edges.T.tolist()))


def ring(nodes: int, labelled: int | None = None, reach: int = 1) -> Client:
    """A client whose nodes form a ring, linked up to ``reach`` steps away, each with one edge to another client."""
    ids = torch.arange(nodes)
    nobody = torch.zeros(nodes, dtype=torch.bool)
    train = ids < (nodes if labelled is None else labelled)
    there = torch.cat([torch.stack([ids, (ids + step) % nodes]) for step in range(1, reach + 1)], 1)
    edges, cut = torch.cat([there, there.flip(0)], 1), torch.stack([ids, ids + nodes])
    y = ids % 2
    return Client(0, ids, torch.ones(nodes, 1), y, y, train, nobody, ~train, train, edges, cut, classes=2)


@given(st.integers(10, 60), st.floats(0.3, 1), st.integers(0, 99))
def test_guarantee_what_is_left_is_the_induced_subgraph_without_singletons(nodes, rho, seed):
    """On a ring with a reach of 4 more than a fifth of the nodes are never without an edge."""
    client = ring(nodes, reach=4)
    after = kept_of(client, rho, seed)
    left = torch.zeros(nodes, dtype=torch.bool)
    left[after.edges.flatten()] = True
    assert int(left.sum()) <= int(rho * nodes)
    assert pairs(after.edges) <= pairs(client.edges)
    assert pairs(after.edges) == pairs(after.edges.flip(0))
    assert torch.equal(after.train, client.train & left)
    assert torch.equal(after.used, client.used & left)
    assert pairs(after.cut) == {(own, far) for own, far in pairs(client.cut) if left[own]}
    for name in ("nodes", "x", "y", "y_train", "val", "test"):
        assert torch.equal(getattr(after, name), getattr(client, name))


def test_guarantee_kept_nodes_keep_every_edge_among_them(federation):
    client = federation.clients[0]
    kept = torch.rand(len(client.nodes), generator=torch.Generator().manual_seed(0)) < 0.5
    after = confined(client, kept)
    inside = {(u, v) for u, v in pairs(client.edges) if kept[u] and kept[v]}
    assert pairs(after.edges) == inside
    linked = torch.tensor([bool(kept[v]) and any(v in edge for edge in inside) for v in range(len(kept))])
    assert torch.equal(after.train, client.train & linked)
    assert torch.equal(remaining(after), linked)


def weights_of(x: Tensor, edges: Tensor, y: Tensor, train: Tensor, classes: int) -> dict[str, Tensor]:
    task = TrainingTask(
        Data(x=x, edge_index=edges, y=y), train[None], TrainingConfig(hidden=8, epochs=30, dropout=0), classes
    )
    found: dict[str, Tensor] = train_models(task, [], np.random.SeedSequence(1), keep_weights=True).weights
    return found


def test_guarantee_training_is_that_on_the_subgraph_alone(federation):
    """Weights are the same where the dropped nodes are not there at all."""
    after = kept_of(federation.clients[0], 0.6)
    left = remaining(after)
    place = torch.cumsum(left, 0) - 1
    whole = weights_of(after.x, after.edges, after.y_train, after.train, after.classes)
    alone = weights_of(after.x[left], place[after.edges], after.y_train[left], after.train[left], after.classes)
    for name, weight in whole.items():
        assert torch.allclose(weight, alone[name], atol=1e-5)
    undefended = federation.clients[0]
    other = weights_of(after.x, undefended.edges, after.y_train, undefended.train, after.classes)
    assert not torch.allclose(whole["w1"], other["w1"], atol=1e-3)


def test_guarantee_an_edge_that_is_dropped_decides_nothing(federation):
    """The draw does not look at edges: without a dropped one the result is the same."""
    client = federation.clients[1]
    after = kept_of(client, 0.5)
    gone = sorted(pairs(client.edges) - pairs(after.edges))
    without = replace(client, edges=torch.tensor(sorted(pairs(client.edges) - {gone[0], gone[0][::-1]})).T)
    again = kept_of(without, 0.5)
    assert pairs(again.edges) == pairs(after.edges)
    assert torch.equal(again.train, after.train)


def test_every_node_is_as_likely_kept_as_any_other():
    """Binomial(400, 0.7 of 20) for each node before singletons are dropped: here every two are linked."""
    nodes = 20
    links = (~torch.eye(nodes, dtype=torch.bool)).nonzero().T
    client = replace(ring(nodes), edges=links)
    times = sum(kept_of(client, 0.3, seed).train.int() for seed in range(400))
    low, high = binom.ppf([0.0005 / nodes, 1 - 0.0005 / nodes], 400, 0.3)
    assert low <= int(times.min()) <= int(times.max()) <= high
    assert int(times.sum()) == 400 * 6


def test_the_seed_decides(federation):
    client = federation.clients[1]
    one, again, other = (pairs(kept_of(client, 0.5, seed).edges) for seed in (0, 0, 1))
    assert one == again
    assert one != other


def test_trivial_all_nodes_kept_drops_singletons_alone(federation):
    for client in federation.clients:
        after = kept_of(client, 1.0)
        linked = torch.bincount(client.edges[0], minlength=len(client.nodes)) > 0
        assert pairs(after.edges) == pairs(client.edges)
        assert torch.equal(after.train, client.train & linked)
    assert RandomSubgraph.trivial
    assert RandomSubgraph.alternative is None  # it is the trivial alternative itself


def test_share_of_edges_kept_is_about_the_square_of_the_share_of_nodes(federation):
    """Each edge stays with probability k (k - 1) / (n (n - 1)); means over 200 draws, five standard errors."""
    everybody = torch.ones_like(federation.clients[0].train)
    client = replace(federation.clients[0], train=everybody, used=everybody)
    n, count = len(client.nodes), client.edges.shape[1]
    kept = np.array([kept_of(client, 0.5, seed).edges.shape[1] / count for seed in range(200)])
    k = int(0.5 * n)
    expected = k * (k - 1) / (n * (n - 1))
    assert abs(kept.mean() - expected) < 5 * kept.std() / 200**0.5


@pytest.mark.parametrize(
    ("client", "rho", "message"),
    [
        (
            ring(12),
            0.1,
            r"rho 0\.1 leaves 1 of the 12 nodes of client:0, and an edge needs 2: raise rho or use fewer",
        ),
        (ring(40, labelled=1), 0.1, "none of the 1 labelled nodes of client:0 is left in its subgraph of"),
        (replace(ring(6), edges=torch.empty((2, 0), dtype=torch.long)), 0.5, "client:0 has no edge between its 6"),
    ],
)
def test_what_leaves_nothing_to_train_on_is_refused(client, rho, message):
    with pytest.raises(InputError, match=message) as caught:
        kept_of(client, rho)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rho", [0, -0.5, 1.01, float("nan"), float("inf")])
def test_settings_are_checked(rho):
    with pytest.raises(InputError, match="rho"):
        RandomSubgraph(rho=rho)

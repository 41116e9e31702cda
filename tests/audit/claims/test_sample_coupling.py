"""Modules whose rows depend on each other are found, and named; those whose rows do not are not accused."""

import copy
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus import PrivacyEngine
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch_geometric.nn import GCNConv, GraphNorm, PairNorm

from gaudit.audit.claims.sample_coupling import coupled_samples
from gaudit.errors import InputError

NODES, WORDS = 40, 6


class HandGCN(nn.Module):
    """Two layers, with an adjacency that the module merely holds, as it is often written."""

    def __init__(self, adjacency, layers=2):
        super().__init__()
        self.adjacency = adjacency
        self.inner, self.outer = nn.Linear(WORDS, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.adjacency @ self.outer(torch.relu(self.adjacency @ self.inner(x)))


class PygGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.drop = GCNConv(WORDS, 8), GCNConv(8, 3), nn.Dropout(0.5)

    def forward(self, x, edge_index):
        return self.second(self.drop(self.first(x, edge_index).relu()), edge_index)


class Means(nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Drops(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5)


def mlp(*between):
    return nn.Sequential(nn.Linear(WORDS, 8), *between, nn.Tanh(), nn.Dropout(0.9), nn.Linear(8, 3))


@pytest.fixture
def graph():
    """Features [n, words], edges [2, m] of 30 of the nodes, and their normalised adjacency with loops [n, n]."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(NODES, WORDS, generator=generator)
    edges = torch.randint(30, (2, 60), generator=generator)
    edges = torch.cat([edges, edges.flip(0)], 1)
    adjacency = torch.eye(NODES)
    adjacency[edges[0], edges[1]] = 1.0
    return x, edges, adjacency / adjacency.sum(1, keepdim=True)


APART = {
    "MLP": mlp,
    "LayerNorm": lambda: mlp(nn.LayerNorm(8)),
    "GroupNorm": lambda: mlp(nn.GroupNorm(2, 8)),
    "dropout without a module": lambda: mlp(Drops()),
    "PReLU": lambda: mlp(nn.PReLU()),
    "recurrent": lambda: nn.GRU(WORDS // 2, 4, batch_first=True),
    "attention within a row": lambda: nn.TransformerEncoderLayer(WORDS // 2, 1, 8, batch_first=True),
}


@pytest.mark.parametrize("name", APART)
def test_rows_that_are_apart_are_not_accused(graph, name):
    rows = graph[0].reshape(NODES, 2, -1) if name in {"recurrent", "attention within a row"} else graph[0]
    found = coupled_samples(APART[name](), rows)
    assert not found.coupled
    assert (found.row, found.other, found.rows, found.mixers) == (None, None, 0, ())
    assert "no output row" in found.sentence()


MIXED = {
    "batch norm": (lambda: mlp(nn.BatchNorm1d(8)), "1 (BatchNorm1d)"),
    "graph norm": (lambda: mlp(GraphNorm(8)), "1 (GraphNorm)"),
    "pair norm": (lambda: mlp(PairNorm()), "1 (PairNorm)"),
    "mean over rows": (lambda: mlp(Means()), "1 (Means)"),
}


@pytest.mark.parametrize("name", MIXED)
def test_module_that_mixes_rows_is_named(graph, name):
    make, title = MIXED[name]
    found = coupled_samples(make(), graph[0])
    assert found.coupled
    assert found.mixers == (title,)
    assert found.rows == NODES
    assert title in found.sentence()


def test_graph_convolutions_are_named(graph):
    x, edges, adjacency = graph
    assert coupled_samples(PygGCN(), x, edges).mixers == ("first (GCNConv)", "second (GCNConv)")
    assert coupled_samples(PygGCN(), x, edge_index=edges).mixers == ("first (GCNConv)", "second (GCNConv)")
    assert coupled_samples(HandGCN(adjacency), x).mixers == ("itself (HandGCN)",)


def test_rows_without_neighbours_are_not_counted(graph):
    x, _, adjacency = graph
    linked = int(((adjacency > 0).sum(1) > 1).sum())
    assert coupled_samples(HandGCN(adjacency), x).rows <= linked < NODES
    loops = torch.arange(NODES).repeat(2, 1)
    assert not coupled_samples(PygGCN(), x, loops).coupled
    assert not coupled_samples(HandGCN(torch.eye(NODES)), x).coupled


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), nodes=st.integers(2, 33), data=st.data())
def test_a_single_dependence_is_found_and_the_pair_named(seed, nodes, data):
    """One output row reads one other input row, whichever they are."""
    row = data.draw(st.integers(0, nodes - 1))
    other = data.draw(st.integers(0, nodes - 1).filter(lambda n: n != row))
    adjacency = torch.eye(nodes)
    adjacency[row, other] = 1.0
    generator = torch.Generator().manual_seed(seed)

    class Reads(nn.Module):
        def forward(self, x):
            return adjacency.to(x.dtype) @ x

    found = coupled_samples(Reads(), torch.randn(nodes, 3, generator=generator), seed=seed)
    assert (found.row, found.other, found.rows) == (row, other, 1)


def test_pair_is_one_that_derivatives_confirm(graph):
    x, edges, _ = graph
    found = coupled_samples(PygGCN(), x, edges)
    module, x = PygGCN().eval(), x.clone().requires_grad_()
    module(x, edges)[found.row].abs().sum().backward()
    assert x.grad[found.other].abs().max() > 0


def test_opacus_accepts_a_gcn_and_prints_an_epsilon_for_it_all_the_same(graph):
    """Its validator knows layers, not what is read: the number would hold for rows that are apart."""
    x, edges, adjacency = graph
    module = HandGCN(adjacency)
    assert ModuleValidator.validate(module, strict=False) == []
    assert ModuleValidator.validate(PygGCN(), strict=False) == []
    labels = torch.randint(3, (NODES,), generator=torch.Generator().manual_seed(1))
    loader = DataLoader(TensorDataset(x, labels), batch_size=NODES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Opacus, about its noise and hooks
        engine = PrivacyEngine(accountant="rdp")
        model, optimiser, _ = engine.make_private(
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=0.1),
            data_loader=loader,
            noise_multiplier=5.0,
            max_grad_norm=1.0,
            poisson_sampling=False,
        )
        nn.functional.cross_entropy(model(x), labels).backward()
        optimiser.step()
    assert 0 < engine.get_epsilon(1e-5) < 10
    assert coupled_samples(HandGCN(adjacency), x).coupled
    assert coupled_samples(PygGCN(), x, edges).coupled


def test_opacus_refuses_batch_norm_for_what_is_found_here(graph):
    module = mlp(nn.BatchNorm1d(8))
    assert ModuleValidator.validate(module, strict=False)
    fixed = ModuleValidator.fix(module)
    assert not coupled_samples(fixed, graph[0]).coupled


def test_module_and_randomness_stay_as_they_were(graph):
    module = mlp(nn.BatchNorm1d(8)).eval()
    before, x = copy.deepcopy(module.state_dict()), graph[0].clone()
    state = torch.get_rng_state()
    assert coupled_samples(module, graph[0]).coupled  # in training mode, whatever mode it is in
    assert not module.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(graph[0], x)
    assert not any(part._forward_pre_hooks for part in module.modules())


def test_whole_numbers_are_replaced_by_others_that_occur():
    words = torch.arange(12).reshape(6, 2) % 5
    embed = nn.Sequential(nn.Embedding(5, 4), nn.Flatten())
    assert not coupled_samples(embed, words).coupled
    assert coupled_samples(nn.Sequential(embed, Means()), words).mixers == ("1 (Means)",)


def test_what_has_no_rows_is_refused(graph):
    x = graph[0]

    class Pooled(nn.Module):
        def forward(self, x):
            return x.mean(0)

    for module, inputs, says in (
        (mlp(), (), "first input"),
        (mlp(), (3.0,), "first input"),
        (mlp(), (x[:1],), "first input"),
        (mlp(), (x[:, :2],), "failed on these inputs"),
        (Pooled(), (x,), "no row for each of the 40 rows"),
    ):
        with pytest.raises(InputError, match=says) as error:
            coupled_samples(module, *inputs)
        assert "\n" not in str(error.value)

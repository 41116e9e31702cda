"""The closed forms are those of PyG's layers and of autograd."""

import pytest
import torch
from torch.nn import functional as F
from torch_geometric.nn import GCNConv, SGConv
from torch_geometric.utils import erdos_renyi_graph

from gaudit.targets.federated.self_training import mean_error
from gaudit.targets.models.backbone import BACKBONES, GCN, SGC
from gaudit.targets.models.propagation import Neighbourhood, dense_gcn_operator, gcn_operator, whole_graph

NODES, FEATURES, HIDDEN, CLASSES = 15, 6, 4, 3
each_backbone = pytest.mark.parametrize("backbone", BACKBONES.values(), ids=BACKBONES.keys())


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def case(backbone, nodes=5, rows=8):
    """Weights, rows, second and labels in float64, at which no hidden unit is near its kink."""
    weights = {
        name: torch.randn(shape, dtype=torch.float64)
        for name, shape in backbone.shapes(FEATURES, HIDDEN, CLASSES).items()
    }
    rows_, second = torch.randn(rows, FEATURES).double(), torch.rand(nodes, rows).double()
    return weights, rows_, second, torch.randint(CLASSES, (nodes,))


def closed_form(backbone, weights, rows, second, y):
    hidden = backbone.hidden(weights, rows)
    error = mean_error(backbone.logits(weights, hidden, second), y)
    return backbone.gradients(weights, rows, hidden, second, error)


def loss(backbone, weights, rows, second, y):
    return F.cross_entropy(backbone.logits(weights, backbone.hidden(weights, rows), second), y)


@each_backbone
@pytest.mark.parametrize("nodes", [1, 5])
def test_gradients_are_those_of_autograd(backbone, nodes):
    weights, rows, second, y = case(backbone, nodes)
    weights = {name: w.requires_grad_() for name, w in weights.items()}
    names = list(weights)
    expected = torch.autograd.grad(loss(backbone, weights, rows, second, y), [weights[n] for n in names])
    found = closed_form(backbone, weights, rows, second, y)
    assert set(found) == set(names)
    for name, gradient in zip(names, expected, strict=True):
        assert torch.allclose(found[name], gradient, rtol=0, atol=1e-10)


@each_backbone
def test_gradients_can_be_differentiated_again(backbone):
    weights, rows, second, y = case(backbone, nodes=3, rows=4)

    def gradients(rows, second):
        return tuple(closed_form(backbone, weights, rows, second, y).values())

    assert torch.autograd.gradcheck(gradients, (rows.requires_grad_(), second.requires_grad_()))


@each_backbone
def test_second_derivatives_are_those_of_autograd(backbone):
    weights, rows, second, y = case(backbone)
    weights = {name: w.requires_grad_() for name, w in weights.items()}
    rows.requires_grad_()
    first = torch.autograd.grad(loss(backbone, weights, rows, second, y), list(weights.values()), create_graph=True)
    (expected,) = torch.autograd.grad(sum(g.square().sum() for g in first), rows)
    mine = closed_form(backbone, weights, rows, second, y).values()
    (found,) = torch.autograd.grad(sum(g.square().sum() for g in mine), rows)
    assert torch.allclose(found, expected, rtol=0, atol=1e-10)


@each_backbone
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_sparse_and_dense_parts_give_the_same(backbone, layout):
    edges, x = erdos_renyi_graph(NODES, 0.2), torch.randn(NODES, FEATURES)
    near = whole_graph(x, gcn_operator(edges, NODES))
    if layout == "dense":
        near = Neighbourhood(near.rows.to_dense(), near.second.to_dense())
    adjacency = torch.zeros(NODES, NODES)
    adjacency[edges[0], edges[1]] = 1
    operator = dense_gcn_operator(adjacency)
    model = backbone(FEATURES, HIDDEN, CLASSES).eval()
    assert torch.allclose(model(near), model(Neighbourhood(operator @ x, operator)), atol=1e-5)


def test_gcn_is_pyg_gcn():
    edges, x = erdos_renyi_graph(NODES, 0.2), torch.randn(NODES, FEATURES)
    model = GCN(FEATURES, HIDDEN, CLASSES).eval()
    first, second = GCNConv(FEATURES, HIDDEN), GCNConv(HIDDEN, CLASSES)
    with torch.no_grad():
        for layer, w, b in ((first, model.w1, model.b1), (second, model.w2, model.b2)):
            layer.lin.weight.copy_(w.t())
            layer.bias.copy_(b)
        expected = second(first(x, edges).relu(), edges)
        assert torch.allclose(model(whole_graph(x, gcn_operator(edges, NODES))), expected, atol=1e-5)


def test_sgc_is_pyg_sgconv():
    edges, x = erdos_renyi_graph(NODES, 0.2), torch.randn(NODES, FEATURES)
    model, layer = SGC(FEATURES, HIDDEN, CLASSES).eval(), SGConv(FEATURES, CLASSES, K=2)
    with torch.no_grad():
        layer.lin.weight.copy_(model.w.t())
        layer.lin.bias.copy_(model.b)
        assert torch.allclose(model(whole_graph(x, gcn_operator(edges, NODES))), layer(x, edges), atol=1e-5)


def test_weighted_operators_are_those_of_pyg():
    edges = erdos_renyi_graph(NODES, 0.3)
    adjacency = torch.zeros(NODES, NODES)
    adjacency[edges[0], edges[1]] = torch.rand(edges.shape[1])
    adjacency = (adjacency + adjacency.t()) / 2
    layer, weight = GCNConv(NODES, NODES, bias=False), adjacency[edges[0], edges[1]]
    with torch.no_grad():
        layer.lin.weight.copy_(torch.eye(NODES))
        expected = layer(torch.eye(NODES), edges, weight)
    assert torch.allclose(dense_gcn_operator(adjacency), expected, atol=1e-6)
    assert torch.allclose(gcn_operator(edges, NODES, weight).to_dense(), expected, atol=1e-6)


@each_backbone
def test_loaded_weights_are_copies_and_dropout_is_for_training_only(backbone):
    edges, x = erdos_renyi_graph(NODES, 0.3), torch.randn(NODES, FEATURES)
    near = whole_graph(x, gcn_operator(edges, NODES))
    model, other = (backbone(FEATURES, 32, CLASSES).eval() for _ in range(2))
    assert not torch.equal(model(near), other(near))
    other.load(model.weights())
    before = model(near)
    assert torch.equal(other(near), before)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert torch.equal(model(near), before)
    assert torch.equal(model.train()(near), model(near)) is (backbone is SGC)

"""Gradients of single labelled nodes, beside those that automatic differentiation gives."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn import functional as F

from gaudit.attacks.gradients.label_pursuit import surroundings
from gaudit.attacks.gradients.node_gradients import Atoms, node_gradients
from gaudit.attacks.gradients.pursuit import Seen, inner
from gaudit.errors import InputError
from gaudit.targets.models.backbone import BACKBONES
from gaudit.targets.models.propagation import gcn_operator, whole_graph
from support.sixty_nodes import sixty_nodes

GRAPH = sixty_nodes()
SUBJECTS = np.arange(10, 50)
ATOMS = Atoms(np.array([0, 3, 3, 17]), np.array([1, 0, 2, 2]))
SHARES = np.array([0.5, 0.1, 0.2, 0.2])


@pytest.fixture(params=["gcn", "sgc"])
def model(request):
    torch.manual_seed(0)
    return BACKBONES[request.param](GRAPH.num_features, 6, 3).double().eval()


@pytest.fixture
def known(model):
    near = surroundings(csr_array(GRAPH.x.double().numpy()), GRAPH.edge_index.numpy(), SUBJECTS)
    return node_gradients(near, {name: w.numpy() for name, w in model.weights().items()})


def differentiated(model):
    """The gradient of the atoms' cross-entropies, weighted by their shares."""
    near = whole_graph(GRAPH.x.double(), gcn_operator(GRAPH.edge_index, 60).double())
    logits = model(near)[torch.from_numpy(SUBJECTS[ATOMS.node])]
    losses = F.cross_entropy(logits, torch.from_numpy(ATOMS.label), reduction="none")
    model.zero_grad()
    (losses * torch.from_numpy(SHARES)).sum().backward()
    return {name: p.grad.numpy() for name, p in model.named_parameters()}


def one_by_one(known, atoms):
    """Each atom's own gradient as a vector, [a, m]."""
    whole = [known.of(known.summed_errors(atoms.where(np.array([i])), np.ones(1))) for i in range(len(atoms))]
    return np.stack([np.concatenate([one[name].ravel() for name in sorted(one)]) for one in whole])


def test_sums_of_atoms_are_the_gradient(model, known):
    told, found = differentiated(model), known.of(known.summed_errors(ATOMS, SHARES))
    for name, value in told.items():
        assert np.allclose(found[name], value, rtol=1e-6, atol=1e-9)


def test_products_are_those_of_the_vectors(known):
    vectors = one_by_one(known, ATOMS)
    assert np.allclose(known.between(ATOMS, ATOMS), vectors @ vectors.T)
    assert np.allclose(known.squares[ATOMS.node, ATOMS.label], (vectors**2).sum(1))
    gradient = known.of(known.summed_errors(ATOMS, SHARES))
    slopes = known.slopes(known.against(gradient))[ATOMS.node, ATOMS.label]
    assert np.allclose(slopes, vectors @ (SHARES @ vectors))


def test_a_nodes_gradients_cancel_when_weighted_by_its_posterior(known):
    every = Atoms(np.full(3, 5), np.arange(3))
    assert np.allclose(known.posterior[5] @ one_by_one(known, every), 0)


def test_what_is_beside_changes_nothing(model, known):
    weights = known.weights
    gradient = known.of(known.summed_errors(ATOMS, SHARES))
    decayed = {name: value + 0.3 * weights[name] for name, value in gradient.items()}
    one, other = (Seen(known, g, weights) for g in (gradient, decayed))
    assert inner(one.clean, weights) == pytest.approx(0, abs=1e-9)
    assert np.allclose(one.slopes(one.clean), other.slopes(other.clean))
    left = other.left(ATOMS, SHARES)
    assert inner(left, left) == pytest.approx(0, abs=1e-18)
    apart = one_by_one(known, ATOMS)
    unit = np.concatenate([weights[name].ravel() for name in sorted(weights)])
    apart = apart - np.outer(apart @ unit, unit) / (unit @ unit)
    assert np.allclose(one.between(ATOMS, ATOMS), apart @ apart.T)
    assert np.allclose(one.squares[ATOMS.node, ATOMS.label], (apart**2).sum(1))


def test_other_models_are_refused(known):
    with pytest.raises(InputError, match="expected those of a GCN"):
        node_gradients(known.near, {"from1": np.zeros(3)})
    with pytest.raises(InputError, match="features"):
        node_gradients(known.near, {"w": np.zeros((2, 3)), "b": np.zeros(3)})
    with pytest.raises(InputError, match="finite"):
        node_gradients(known.near, {name: value * np.nan for name, value in known.weights.items()})

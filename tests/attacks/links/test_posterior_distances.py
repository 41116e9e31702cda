"""Distances of pairs of rows, beside scipy's."""

import numpy as np
import pytest
import torch
from scipy.spatial import distance as oracle

from gaudit.attacks.links import posterior_distances
from gaudit.attacks.links.posterior_distances import MEASURES, distances, every_distance


def drawn(kind, rng):
    if kind == "posteriors":
        return rng.dirichlet(np.full(7, 0.3), 40)
    if kind == "binary":
        return (rng.random((40, 60)) < 0.2).astype(float) + np.eye(40, 60)
    return rng.normal(size=(40, 5))


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", ["posteriors", "binary", "signed"])
def test_each_is_scipys(name, kind, monkeypatch):
    monkeypatch.setattr(posterior_distances, "AT_ONCE", 250)  # several chunks
    rows = drawn(kind, np.random.default_rng(1))
    pairs = np.stack(np.triu_indices(40, 0), 1)
    expected = [getattr(oracle, name)(rows[i], rows[j]) for i, j in pairs]
    found = distances(torch.from_numpy(rows), torch.from_numpy(pairs), name)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_all_stand_in_their_order():
    rows, pairs = torch.rand(6, 3), torch.tensor([[0, 1], [2, 5]])
    found = every_distance(rows, pairs)
    assert found.shape == (2, 8)
    for column, name in enumerate(MEASURES):
        assert torch.equal(found[:, column], distances(rows, pairs, name))


@pytest.mark.parametrize("name", MEASURES)
def test_they_do_not_depend_on_the_order_of_a_pair(name):
    rows, pairs = torch.rand(9, 4), torch.tensor([[0, 1], [2, 5], [7, 3]])
    assert torch.equal(distances(rows, pairs, name), distances(rows, pairs.flip(1), name))


@pytest.mark.parametrize("name", MEASURES)
def test_no_pair_is_no_distance(name):
    assert distances(torch.rand(3, 2), torch.empty((0, 2), dtype=torch.long), name).shape == (0,)


def test_rows_without_direction_are_neither_near_nor_far():
    rows = torch.tensor([[0.0, 0, 0], [1, 2, 3], [1, 1, 1]])
    with_zeros, with_equal, both = torch.tensor([[0, 1]]), torch.tensor([[2, 1]]), torch.tensor([[0, 0]])
    assert distances(rows, with_zeros, "cosine") == 1
    assert distances(rows, both, "cosine") == 1
    assert distances(rows, with_equal, "correlation") == 1
    assert distances(rows, both, "correlation") == 1
    assert distances(rows, both, "braycurtis") == 0
    assert distances(rows, both, "canberra") == 0


@pytest.mark.parametrize("classes", [3, 6, 7])
def test_uniform_posteriors_are_constant_despite_rounding(classes):
    uniform = torch.zeros(2, classes).softmax(1)
    uniform[1, 0] *= 1 + 1.2e-7
    rows = torch.cat([uniform, torch.eye(classes)[:1]])
    assert (distances(rows, torch.tensor([[0, 1], [0, 2], [1, 2]]), "correlation") == 1).all()


def test_nearly_certain_posteriors_still_differ():
    rows = torch.tensor([[1 - 1e-5, 1e-5, 0], [1 - 1e-5, 0, 1e-5], [1 - 1e-5, 1e-5, 0]])
    near, same = distances(rows, torch.tensor([[0, 1], [0, 2]]), "correlation")
    assert near > 1e-11
    assert same == pytest.approx(0, abs=1e-15)

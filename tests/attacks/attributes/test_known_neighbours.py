"""What links tell of an attribute: against plain loops, and without a person's own value."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from gaudit.attacks.attributes.best_guess import folds_of
from gaudit.attacks.attributes.known_neighbours import PRIOR, mean_of_neighbours, neighbour_columns

NODES = 150


def world(seed: int, share: float = 0.04):
    """A random network, and coins of a random half of its nodes."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((NODES, NODES)) < share, 1)
    known = np.sort(rng.permutation(NODES)[: NODES // 2])
    told = rng.random(len(known)) < 0.4
    return csr_array((upper | upper.T).astype(float)), known, told, folds_of(told, 4, rng.permutation(len(known)))


def test_a_neighbour_counts_if_it_is_known_and_not_of_ones_own_fold():
    adjacency, known, told, fold = world(0)
    found = neighbour_columns(adjacency, known, told, fold)["neighbours"][:, 0]
    value, part = dict(zip(known.tolist(), told, strict=True)), dict(zip(known.tolist(), fold, strict=True))
    for node in range(NODES):
        left = {k: v for k, v in value.items() if node not in part or part[k] != part[node]}
        near = [left[k] for k in adjacency[[node]].nonzero()[1].tolist() if k in left]
        common = sum(left.values()) / len(left)
        assert found[node] == pytest.approx((sum(near) + PRIOR * common) / (len(near) + PRIOR))


@pytest.mark.parametrize("seed", range(3))
def test_nobodys_own_value_gets_into_the_own_columns(seed):
    """Walks of two steps lead back: a value that is turned round must change other people's columns alone."""
    adjacency, known, told, fold = world(seed)
    before = neighbour_columns(adjacency, known, told, fold)
    for place in range(0, len(known), 7):
        turned = told.copy()
        turned[place] = ~turned[place]
        after = neighbour_columns(adjacency, known, turned, fold)
        for name, column in before.items():
            assert column[known[place], 0] == after[name][known[place], 0], name
        assert not np.array_equal(before["smoothed"], after["smoothed"])


def test_coins_are_not_found_in_ones_own_columns():
    """The AUC of 20 worlds with coins is 0.5 within 4.5 standard errors (error rate below 1e-5 a column).

    With the own value in it the column of two steps would be far above.
    """
    for name in ("neighbours", "two steps", "smoothed"):
        areas = []
        for seed in range(20):
            adjacency, known, told, fold = world(100 + seed)
            areas.append(roc_auc_score(told, neighbour_columns(adjacency, known, told, fold)[name][known, 0]))
        assert abs(np.mean(areas) - 0.5) < 4.5 * np.std(areas, ddof=1) / math.sqrt(len(areas)), name


def test_people_with_alike_friends_are_found():
    rng = np.random.default_rng(1)
    group = np.arange(NODES) % 2 == 0
    upper = np.triu(rng.random((NODES, NODES)) < np.where(group[:, None] == group, 0.08, 0.01), 1)
    known = np.arange(0, NODES, 2) + rng.integers(0, 2, NODES // 2)
    fold = folds_of(group[known], 4, rng.permutation(len(known)))
    found = neighbour_columns(csr_array((upper | upper.T).astype(float)), known, group[known], fold)
    others = np.setdiff1d(np.arange(NODES), known)
    for column in found.values():
        assert roc_auc_score(group[others], column[others, 0]) > 0.85


def test_rows_of_neighbours_are_averaged():
    adjacency, *_ = world(0)
    rows = np.random.default_rng(0).normal(size=(NODES, 3))
    found = mean_of_neighbours(adjacency, rows)
    for node in range(NODES):
        near = adjacency[[node]].nonzero()[1]
        np.testing.assert_allclose(found[node, :3], rows[near].mean(0) if len(near) else np.zeros(3))
        assert found[node, 3] == pytest.approx(math.log(1 + len(near)))


def test_people_without_links_get_the_common_share():
    adjacency, known, told, fold = world(0)
    alone = csr_array(adjacency.shape)
    for column in neighbour_columns(alone, known, told, fold).values():
        unknown = np.setdiff1d(np.arange(NODES), known)
        np.testing.assert_allclose(column[unknown, 0], told.mean())

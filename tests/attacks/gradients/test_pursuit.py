"""Non-negative least squares with a working set, and choices of whole units, beside brute force."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from gaudit.attacks.gradients.node_gradients import Atoms
from gaudit.attacks.gradients.pursuit import fitted, unit_of
from gaudit.attacks.gradients.whole_units import _Pool


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    atoms, seen = rng.standard_normal((60, 25)) + 0.5, rng.standard_normal(60)
    start = np.maximum(rng.standard_normal(25), 0)
    found = fitted(atoms.T @ atoms, atoms.T @ seen, start)
    assert np.allclose(found, nnls(atoms, seen)[0], atol=1e-7)


def test_twins_share_and_nothing_breaks():
    rng = np.random.default_rng(0)
    atoms = np.abs(rng.standard_normal((30, 4)))
    atoms[:, 3] = atoms[:, 0]
    found = fitted(atoms.T @ atoms, atoms.T @ (atoms @ np.array([1.0, 2, 0, 0])), np.zeros(4))
    assert found[0] + found[3] == pytest.approx(1, abs=1e-6)
    assert found[1:3] == pytest.approx([2, 0], abs=1e-6)


def test_a_unit_is_told_or_the_middle_of_the_large_shares():
    shares = np.array([0.1, 0.1, 0.1001, 0.001])
    assert unit_of(shares, None) == pytest.approx(0.1)
    assert unit_of(shares, 2) == pytest.approx(0.15055)


@pytest.mark.parametrize("seed", range(5))
def test_swaps_find_the_best_choice(seed):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((40, 9)) + 0.3
    seen = atoms[:, [1, 4, 6]].sum(1) * 0.5 + 0.3 * rng.standard_normal(40)
    node = np.array([0, 1, 2, 3, 4, 4, 5, 6, 7])
    pool = _Pool(Atoms(node, np.zeros(9, dtype=int)), atoms.T @ atoms, atoms.T @ seen)
    start = np.isin(np.arange(9), [0, 2, 3])
    found = np.flatnonzero(pool.swapped(start, 0.5))
    fits = {
        choice: np.square(seen - 0.5 * atoms[:, choice].sum(1)).sum()
        for choice in combinations(range(9), 3)
        if len(set(node[list(choice)])) == 3
    }
    assert tuple(found) == min(fits, key=fits.get)

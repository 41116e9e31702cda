"""Weights of a network with new edges: they must not tell which edges are new."""

import numpy as np
import pytest
from scipy.stats import rankdata

from gaudit.graphs.edge_cells import ALIKE, medians, shared_cells
from gaudit.graphs.network import Network
from gaudit.graphs.pair_codes import ends, pairs_at

NODES, EDGES, WORLDS = 200, 1_000, 100
WEIGHTS = {
    "fine": lambda rng: rng.lognormal(size=EDGES),
    "whole numbers": lambda rng: rng.geometric(0.3, size=EDGES).astype(float),
    "most alike": lambda rng: np.where(rng.random(EDGES) < 0.9, 1.0, rng.random(EDGES)),
}


def published(weights, new, rng):
    """A random network that was given new edges: the weights of its edges, and which are new."""
    pairs = pairs_at(rng.choice(NODES * (NODES - 1) // 2, size=EDGES + new, replace=False), NODES)
    before = Network.from_edges(NODES, *ends(pairs[:EDGES], NODES), weights=weights)
    after = before.with_edges(pairs, rng)
    return after.weights, ~np.isin(after.codes, before.codes)


def guesses(weights):
    """Ways to guess which edges are new from weights alone: shared, odd, crowded, large or far from the middle."""
    values, place, times = np.unique(weights, return_inverse=True, return_counts=True)
    gaps = np.diff(values, prepend=values[0] - 1, append=values[-1] + 1)
    return {
        "shared": times[place],
        "odd": -times[place],
        "in pairs": times[place] == 2,
        "crowded": -np.minimum(gaps[1:], gaps[:-1])[place],
        "large": weights,
        "far out": np.abs(weights - np.median(weights)),
    }


def auc(scores, new):
    ranks = rankdata(scores)
    return (ranks[new].sum() - new.sum() * (new.sum() + 1) / 2) / (new.sum() * (~new).sum())


@pytest.mark.parametrize("new", [13, 150])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_guess_from_weights_finds_new_edges_no_better_than_chance(weights, new):
    """Mean AUC of 100 worlds is within .03 of .5: five standard errors or more, and a fifth of what copies gave."""
    rng = np.random.default_rng(new)
    found = [
        guesses(told) | {"new": fresh}
        for told, fresh in (published(WEIGHTS[weights](rng), new, rng) for _ in range(WORLDS))
    ]
    for how in guesses(np.arange(2.0)):
        assert np.mean([auc(world[how], world["new"]) for world in found]) == pytest.approx(0.5, abs=0.03), how


@pytest.mark.parametrize(
    ("old", "new"), [(1_000, 13), (1_000, 150), (1_000, 1), (50, 11), (300, 700), (1, 1), (2, 9)]
)
def test_cells_have_as_many_edges_and_as_many_new_ones_as_any_other(old, new):
    cell, joined = shared_cells(np.random.default_rng(0).random(old), new, np.random.default_rng(1))
    count = cell.max() + 1
    assert (len(cell), len(joined)) == (old, new)
    for sizes in (np.bincount(joined, minlength=count), np.bincount(np.append(cell, joined))):
        assert sizes.max() - sizes.min() <= 1
    assert np.bincount(cell).min() > 0
    assert np.bincount(joined, minlength=count).min() > 0
    assert np.bincount(np.append(cell, joined)).min() >= min(ALIKE, old + new)


def test_cells_hold_neighbours_by_weight_and_their_median_is_one_of_them():
    weights = np.random.default_rng(0).permutation(1_000).astype(float)
    cell, _ = shared_cells(weights, 50, np.random.default_rng(1))
    middle = medians(weights, cell)
    assert (np.diff(middle) > 0).all()
    for k, value in enumerate(middle):
        own = np.sort(weights[cell == k])
        assert own[-1] - own[0] == len(own) - 1
        assert value == own[(len(own) - 1) // 2]


def test_a_type_goes_with_the_weights_that_it_has():
    """Edges of type 0 weigh at most 1, those of type 1 at least 100: a new one that mixes them would stand out."""
    rng = np.random.default_rng(0)
    pairs = pairs_at(rng.choice(NODES * (NODES - 1) // 2, size=1_200, replace=False), NODES)
    types = np.arange(1_000) % 2
    weights = np.where(types == 0, rng.random(1_000), 100 + rng.random(1_000))
    before = Network.from_edges(NODES, *ends(pairs[:1_000], NODES), weights=weights, types=types)
    after = before.with_edges(pairs, rng)
    mixed = (after.weights > 50) != (after.types == 1)
    assert mixed.mean() < 0.02  # the cell in the middle, of 12
    assert np.bincount(after.types[~np.isin(after.codes, before.codes)]).min() > 60  # 100 expected, sd 7

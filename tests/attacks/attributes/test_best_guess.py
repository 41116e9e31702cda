"""The best guess is chosen on known people, and no guess that is chosen has seen those in question."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from gaudit.attacks.attributes.best_guess import Columns, best_guess, folds_of

NODES, KNOWN = 600, 300


def world(seed: int = 0):
    rng = np.random.default_rng(seed)
    has = rng.random(NODES) < 0.4
    known = np.sort(rng.permutation(NODES)[:KNOWN])
    noise = rng.normal(size=(NODES, 3))
    return has, known, noise, folds_of(has[known], 4, rng.permutation(KNOWN)), rng


def area(has, known, found) -> float:
    others = np.setdiff1d(np.arange(NODES), known)
    return float(roc_auc_score(has[others], found[others]))


def test_folds_have_equally_many_with_the_value():
    told = np.arange(101) < 33
    fold = folds_of(told, 4, np.random.default_rng(0).permutation(101))
    assert np.ptp(np.bincount(fold)) <= 1
    assert np.ptp(np.bincount(fold, weights=told)) <= 1


@pytest.mark.parametrize("where", ["own", "more", "model of more", "both"])
def test_what_tells_is_found_wherever_it_is(where):
    has, known, noise, fold, rng = world()
    own, more = noise.copy(), {"none": rng.normal(size=(NODES, 2))}
    if where == "own":
        own[:, 1] += 4 * has
    if where == "more":
        more["one"] = has[:, None] * 2.0 + rng.normal(size=(NODES, 1)) / 4
    if where == "model of more":
        more["two"] = np.column_stack([-3.0 * has, noise[:, 0]]) + rng.normal(size=(NODES, 2)) / 4
    if where == "both":  # neither tells much alone
        mask = 3 * rng.normal(size=NODES)
        own[:, 0], more["one"] = mask, (mask + 2 * has + rng.normal(size=NODES) / 4)[:, None]
    assert area(has, known, best_guess(Columns(own, more), known, has[known], fold)) > 0.95


def test_a_single_column_is_taken_as_it_is():
    has, known, noise, fold, _ = world()
    column = has[:, None] * 1.0
    assert np.array_equal(best_guess(Columns(noise, {"told": column}), known, has[known], fold), column[:, 0])


def test_values_of_people_in_question_are_not_used():
    has, known, noise, fold, _ = world()
    found = best_guess(Columns(noise, {"more": noise[:, :1]}), known, has[known], fold)
    assert abs(area(has, known, found) - 0.5) < 4.5 * np.sqrt(301 / 12 / (0.24 * 300**2))  # error rate below 1e-5

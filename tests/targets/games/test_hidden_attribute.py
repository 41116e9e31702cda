"""What is hidden with an attribute: all that tells it, and nothing else."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.targets.games.hidden_attribute import HiddenAttribute, hidden_together

NODES = 400


def coins(columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (NODES, columns)).astype(float)


def one_hot(values: int, seed: int) -> np.ndarray:
    return np.eye(values)[np.random.default_rng(seed).integers(0, values, NODES)]


def graph(x: np.ndarray, y: np.ndarray | None = None) -> Data:
    label = np.arange(len(x)) % 3 if y is None else y
    return Data(x=torch.from_numpy(x).float(), y=torch.from_numpy(label), edge_index=torch.tensor([[0, 1], [1, 0]]))


def test_columns_that_tell_nothing_stay():
    assert hidden_together(coins(6), 2) == (2,)
    words = (np.random.default_rng(1).random((NODES, 150)) < 0.05).astype(float)
    assert hidden_together(words, 7) == (7,)


def test_one_hot_codes_are_hidden_together_and_other_codes_stay():
    x = np.hstack([coins(2), one_hot(4, 1), one_hot(3, 2), coins(1, 5)])
    assert hidden_together(x, 3) == (2, 3, 4, 5)
    assert hidden_together(x, 7) == (6, 7, 8)
    shuffled = np.random.default_rng(3).permutation(x.shape[1])
    assert {shuffled[k] for k in hidden_together(x[:, shuffled], int(np.argsort(shuffled)[3]))} == {2, 3, 4, 5}


def test_copies_complements_and_scaled_copies_are_hidden():
    x = coins(3)
    x = np.hstack([x, x[:, :1], 1 - x[:, :1], 3 * x[:, :1] - 2])
    assert hidden_together(x, 0) == (0, 3, 4, 5)


def test_shares_that_sum_to_one_are_hidden_together():
    shares = np.random.default_rng(0).dirichlet(np.ones(4), NODES)
    assert hidden_together(np.hstack([shares, coins(3)]), 1) == (0, 1, 2, 3)


def test_what_tells_it_by_two_ways_is_hidden_by_both():
    x = np.hstack([one_hot(3, 0), coins(2)])
    x = np.hstack([x, x[:, :1]])
    assert hidden_together(x, 0) == (0, 1, 2, 5)


def test_nothing_that_is_left_tells_the_column_by_a_sum():
    x = np.hstack([one_hot(5, 0), coins(2), np.random.default_rng(2).dirichlet(np.ones(3), NODES)])
    for column in range(x.shape[1]):
        left = np.setdiff1d(np.arange(x.shape[1]), hidden_together(x, column))
        rows = np.column_stack([np.ones(NODES), x[:, left]])
        rest = x[:, column] - rows @ np.linalg.lstsq(rows, x[:, column], rcond=None)[0]
        assert rest.var() > 0.9 * x[:, column].var()


def test_two_values_are_had_or_not_and_others_are_above_their_median():
    x = np.column_stack([coins(1)[:, 0] * 4 - 1, np.random.default_rng(0).normal(size=NODES)])
    low, high = (HiddenAttribute.of(graph(x), str(column)).holders(graph(x)) for column in (0, 1))
    assert low.tolist() == (x[:, 0] == 3).tolist()
    assert high.sum() == NODES // 2
    assert x[high, 1].min() > x[~high, 1].max()


def test_a_median_that_is_the_largest_value_leaves_somebody_above():
    x = np.column_stack([np.repeat([0.0, 1.0, 2.0], [40, 60, 300]), coins(1)[:, 0]])
    assert HiddenAttribute.of(graph(x), "0").holders(graph(x)).sum() == 300


def test_a_class_hides_no_column():
    found = HiddenAttribute.of(graph(coins(2)), "label:2")
    assert found.columns == ()
    assert found.holders(graph(coins(2))).tolist() == [k % 3 == 2 for k in range(NODES)]
    assert found.others(graph(coins(2)), np.random.SeedSequence(0)).shape == (NODES, 2)


def test_rows_of_one_length_tell_what_was_taken_out_of_them():
    x = np.abs(np.random.default_rng(0).normal(size=(NODES, 5)))
    HiddenAttribute.of(graph(x), "1")
    with pytest.raises(InputError, match="scaled to one length or one sum"):
        HiddenAttribute.of(graph(x / np.linalg.norm(x, axis=1, keepdims=True)), "1")
    wide = np.random.default_rng(0).random((NODES, 300))
    with pytest.raises(InputError, match="scaled to one length or one sum"):
        HiddenAttribute.of(graph(wide / wide.sum(1, keepdims=True)), "1")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("2", "columns 0 to 1"),
        ("label:3", "classes are 0 to 2"),
        ("age", "number of a column"),
        ("label:x", "number of a column"),
        ("word:1", "number of a column"),
        ("-1", "number of a column"),
    ],
)
def test_what_is_no_attribute_is_refused(asked, message):
    with pytest.raises(InputError, match=message):
        HiddenAttribute.of(graph(coins(2)), asked)


def test_a_constant_column_is_refused():
    with pytest.raises(InputError, match="same value"):
        HiddenAttribute.of(graph(np.column_stack([coins(1), np.ones(NODES)])), "1")

"""What counts as a usable graph, and how one is normalised and split."""

import pytest
import torch
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.graphs.checks import MASKS, check_graph, row_normalised, spread_masks


def graph(**changes):
    """A path of six nodes with one mask for each third; ``None`` removes a field."""
    fields = {
        "x": torch.arange(12.0).reshape(6, 2),
        "y": torch.tensor([0, 1, 0, 1, 0, 1]),
        "edge_index": torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]]),
        "train_mask": torch.tensor([True, True, False, False, False, False]),
        "val_mask": torch.tensor([False, False, True, True, False, False]),
        "test_mask": torch.tensor([False, False, False, False, True, True]),
    } | changes
    return Data.from_dict({name: value for name, value in fields.items() if value is not None})


def test_edges_come_back_in_both_directions_once_and_without_loops():
    edges = torch.tensor([[0, 1, 2, 2, 0, 1], [1, 0, 2, 3, 1, 1]])
    result = check_graph(graph(edge_index=edges), "g")
    assert sorted(map(tuple, result.edge_index.T.tolist())) == [(0, 1), (1, 0), (2, 3), (3, 2)]


def test_the_given_graph_is_left_alone():
    given = graph()
    result = check_graph(given, "g")
    result.x += 1
    result.y += 1
    result.train_mask[:] = False
    for name in given.keys():  # noqa: SIM118 - Data is no mapping
        assert torch.equal(given[name], graph()[name])


def test_double_precision_features_become_single():
    assert check_graph(graph(x=torch.ones(6, 2, dtype=torch.float64)), "g").x.dtype == torch.float32


def test_a_class_without_a_labelled_training_node_is_allowed():
    only_class_0 = torch.tensor([True, False, False, False, False, False])
    assert check_graph(graph(train_mask=only_class_0), "g").train_mask.sum() == 1


def test_a_checked_graph_passes_again_unchanged():
    once = check_graph(graph(), "g")
    twice = check_graph(once, "g")
    assert all(torch.equal(once[name], twice[name]) for name in once.keys())  # noqa: SIM118


NAN = torch.ones(6, 2)
NAN[3:5, 1] = float("nan")
ALL = torch.ones(6, dtype=torch.bool)

BAD = {
    "no features": ({"x": None}, "'x' is missing: give x, y and edge_index .in a file masks are optional"),
    "no labels": ({"y": None}, "'y' is missing"),
    "no edge list": ({"edge_index": None}, "'edge_index' is missing"),
    "no mask": ({"val_mask": None}, "'val_mask' is missing: give all three masks"),
    "sparse features": ({"x": torch.ones(6, 2).to_sparse()}, "dense"),
    "features not a tensor": ({"x": [1, 2]}, "dense tensor"),
    "integer features": ({"x": torch.ones(6, 2, dtype=torch.long)}, "floating point"),
    "flat features": ({"x": torch.ones(6)}, r"shape \[nodes, width\]"),
    "features of width 0": ({"x": torch.ones(6, 0)}, "width"),
    "too few feature rows": ({"x": torch.ones(5, 2)}, "5 rows but labels 'y' name 6"),
    "NaN": ({"x": NAN}, "2 nodes are NaN or infinite.*first node 3"),
    "infinite in float32": ({"x": torch.full((6, 2), 1e300, dtype=torch.float64)}, "6 nodes are NaN"),
    "float labels": ({"y": torch.zeros(6)}, "int64"),
    "one-hot labels": ({"y": torch.zeros(6, 2, dtype=torch.long)}, r"shape \[nodes\]"),
    "negative label": ({"y": torch.tensor([0, 1, -1, 1, -2, 1])}, "2 nodes are negative"),
    "huge label": ({"y": torch.tensor([0, 1, 0, 1, 0, 10**12])}, "reach 1000000000000"),
    "one class": ({"y": torch.ones(6, dtype=torch.long)}, "only one class"),
    "float edges": ({"edge_index": torch.ones(2, 3)}, "int64"),
    "transposed edges": ({"edge_index": torch.zeros(5, 2, dtype=torch.long)}, r"shape \[2, edges\]"),
    "edge beyond the nodes": ({"edge_index": torch.tensor([[0, 1], [1, 6]])}, "1 edges.*0..5, first 1-6"),
    "negative node": ({"edge_index": torch.tensor([[0, -1], [1, 2]])}, "outside"),
    "no edges": ({"edge_index": torch.zeros(2, 0, dtype=torch.long)}, "no edges"),
    "only loops": ({"edge_index": torch.tensor([[0, 1], [0, 1]])}, "no edges"),
    "masks of numbers": ({"test_mask": torch.tensor([0, 0, 0, 0, 1, 1])}, "'test_mask' must be bool"),
    "short mask": ({"train_mask": torch.ones(5, dtype=torch.bool)}, r"shape \[6\]"),
    "overlap": ({"test_mask": ALL}, "'train_mask' and 'test_mask' overlap in 2 nodes"),
    "empty mask": ({"val_mask": ~ALL}, "'val_mask' is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_graphs_are_refused_in_one_line_that_names_the_source(case):
    changes, message = BAD[case]
    with pytest.raises(InputError, match=message) as refusal:
        check_graph(graph(**changes), "my graph")
    assert str(refusal.value).startswith("my graph: ")
    assert "\n" not in str(refusal.value)


def test_rows_are_divided_by_their_sum_unless_it_is_below_one():
    x = torch.tensor([[1.0, 3.0], [0.2, 0.3], [0.0, 0.0]])
    assert torch.equal(row_normalised(x), torch.tensor([[0.25, 0.75], [0.2, 0.3], [0.0, 0.0]]))


def labelled(*sizes):
    y = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return Data(x=torch.ones(len(y), 1), y=y)


def test_large_graphs_get_the_sizes_of_the_public_split():
    data = spread_masks(labelled(2000, 1500, 1000), seed=3)
    assert [int(data[name].sum()) for name in MASKS] == [60, 500, 1000]
    assert torch.bincount(data.y[data.train_mask]).tolist() == [20, 20, 20]
    assert not bool((data.train_mask & data.val_mask | data.val_mask & data.test_mask).any())


def test_small_graphs_get_smaller_shares():
    data = spread_masks(labelled(60, 30, 9, 1), seed=0)
    assert torch.bincount(data.y[data.train_mask]).tolist() == [20, 15, 4, 1]
    assert int(data.val_mask.sum()) == 20
    assert int(data.test_mask.sum()) == 40


def test_the_seed_alone_decides_the_split():
    data = labelled(60, 40)
    first, again, other = (spread_masks(data, seed) for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in MASKS)
    assert not torch.equal(first.test_mask, other.test_mask)
    assert "train_mask" not in data


@pytest.mark.parametrize("sizes", [(3, 2), (2, 2), (5, 1, 1, 1)])
def test_tiny_graphs_still_get_three_disjoint_masks(sizes):
    data = spread_masks(labelled(*sizes), seed=0)
    held = torch.stack([data[name] for name in MASKS]).sum(0)
    assert int(held.max()) == 1
    assert all(bool(data[name].any()) for name in MASKS)


def test_a_graph_too_small_to_split_is_refused():
    with pytest.raises(InputError, match="2 nodes are too few"):
        spread_masks(labelled(1, 1), seed=0)

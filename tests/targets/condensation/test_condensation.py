"""The pieces of condensation keep their promises on small cases that can be computed by hand or naively."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaudit.errors import InputError
from gaudit.targets.condensation.condensed import CondensedGraph
from gaudit.targets.condensation.gradient_distance import (
    StructureGenerator,
    allocate_labels,
    condensed_size,
    matching_distance,
)
from gaudit.targets.models.backbone import Outer
from gaudit.targets.models.propagation import Factor, dense_gcn_operator


@given(
    counts=st.lists(st.one_of(st.just(0), st.integers(1, 400)), min_size=1, max_size=12).filter(any),
    extra=st.integers(0, 200),
)
def test_labels_follow_the_class_shares(counts, extra):
    present = sum(c > 0 for c in counts)
    size = present + extra
    labels = allocate_labels(torch.tensor(counts), size)
    assert labels.dtype == torch.int64
    assert labels.tolist() == sorted(labels.tolist())
    given_ = torch.bincount(labels, minlength=len(counts)).tolist()
    assert len(given_) == len(counts)
    assert sum(given_) == size
    exact = [c * size / sum(counts) for c in counts]
    forced = sum(1 - share for c, share in zip(counts, exact, strict=True) if c and share < 1)
    for count, share, got in zip(counts, exact, given_, strict=True):
        assert (got > 0) == (count > 0)
        assert got < max(share, 1) + 1
        assert got > share - 1 - forced  # the minimum of others costs at most what they lack


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ([20, 20, 20], 30, [10, 10, 10]),
        ([1, 0, 1], 2, [1, 0, 1]),
        ([97, 1, 1, 1], 5, [2, 1, 1, 1]),
        ([50, 30, 20], 10, [5, 3, 2]),
        ([5, 5], 3, [2, 1]),
    ],
)
def test_labels_in_small_cases(counts, size, expected):
    assert torch.bincount(allocate_labels(torch.tensor(counts), size), minlength=len(counts)).tolist() == expected


@pytest.mark.parametrize(("counts", "size"), [([3, 3, 3], 2), ([100, 1], 1), ([1], 0)])
def test_a_size_that_empties_a_class_is_refused(counts, size):
    with pytest.raises(InputError, match=r"leaves \d of \d classes empty: raise the ratio") as caught:
        allocate_labels(torch.tensor(counts), size)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ratio", "ratio_of", "nodes", "labelled", "size"),
    [
        (0.026, "nodes", 2708, 140, 70),
        (0.5, "labelled", 2708, 140, 70),
        (0.018, "nodes", 3327, 120, 60),
        (0.5, "labelled", 3327, 120, 60),
        (1, "labelled", 2708, 140, 140),
    ],
)
def test_the_two_names_of_a_ratio(ratio, ratio_of, nodes, labelled, size):
    assert condensed_size(ratio, ratio_of, nodes, labelled) == size


def gathered(generator, x):
    """The structure as GCond writes it: all ordered pairs of rows through three layers."""
    n = len(x)
    pairs = torch.stack([torch.cat([x[i], x[j]]) for i in range(n) for j in range(n)])
    h = pairs
    for layer in (generator.pair, generator.middle):
        h = h @ layer.weight.t() + layer.bias
        h = torch.relu((h - h.mean(0)) / (h.var(0, unbiased=False) + 1e-5).sqrt())
    score = (h @ generator.out.weight.t() + generator.out.bias).reshape(n, n)
    return torch.sigmoid((score + score.t()) / 2).fill_diagonal_(0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("nodes", [2, 7])
def test_structure_is_that_of_gathered_pairs(nodes, training):
    torch.manual_seed(nodes)
    generator, x = StructureGenerator(5, hidden=16).train(training), torch.randn(nodes, 5)
    with torch.no_grad():
        adjacency = generator(x)
        assert torch.allclose(adjacency, gathered(generator, x), atol=1e-5)
    assert torch.equal(adjacency, adjacency.t())
    assert torch.equal(adjacency.diagonal(), torch.zeros(nodes))
    assert 0 <= float(adjacency.min()) <= float(adjacency.max()) <= 1
    assert float(adjacency[0, 1]) > 0


def test_structure_gives_gradients_to_weights_and_features():
    torch.manual_seed(0)
    generator, x = StructureGenerator(5, hidden=16), torch.randn(4, 5, requires_grad=True)
    (generator(x) * torch.randn(4, 4)).sum().backward()
    moved = [x.grad, generator.pair.weight.grad, generator.middle.weight.grad, generator.out.weight.grad]
    assert all(float(gradient.abs().max()) > 1e-8 for gradient in moved)


def test_structure_of_a_single_node_is_empty():
    assert StructureGenerator(5)(torch.randn(1, 5)).tolist() == [[0]]


def gradients(seed):
    made = torch.Generator().manual_seed(seed)
    return {n: torch.randn(s, generator=made) for n, s in {"w1": (4, 3), "b1": (3,), "w2": (3, 2)}.items()}


def test_distance_is_zero_between_equals():
    assert float(matching_distance(gradients(0), gradients(0), "mse")) == 0
    assert float(matching_distance(gradients(0), gradients(0), "columns")) == pytest.approx(0, abs=1e-5)


def test_squared_distance_sums_over_all_weights():
    real, synthetic = gradients(0), gradients(1)
    pairs = [(a, b) for n in real for a, b in zip(real[n].flatten(), synthetic[n].flatten(), strict=True)]
    expected = sum(float(a - b) ** 2 for a, b in pairs)
    assert float(matching_distance(real, synthetic, "mse")) == pytest.approx(expected, rel=1e-5)


def test_column_distance_is_one_minus_the_cosine_of_each_column():
    real, synthetic = gradients(0), gradients(1)
    expected = 0.0
    for name in ("w1", "w2"):  # biases are left out
        for column in range(real[name].shape[1]):
            a, b = real[name][:, column], synthetic[name][:, column]
            expected += 1 - float(a @ b / (a.norm() * b.norm()))
    assert float(matching_distance(real, synthetic, "columns")) == pytest.approx(expected, rel=1e-5)
    other_bias = {**synthetic, "b1": synthetic["b1"] + 5}
    scaled = {name: 3 * value for name, value in other_bias.items()}
    assert float(matching_distance(real, scaled, "columns")) == pytest.approx(expected, rel=1e-5)


def parts(**changes):
    adjacency = torch.tensor([[0.0, 0.5, 0.0], [0.5, 0.0, 1.0], [0.0, 1.0, 0.0]])
    return {"x": torch.eye(3), "y": torch.tensor([0, 1, 1]), "adjacency": adjacency} | changes


def test_release_goes_through_tensors_unchanged():
    graph = CondensedGraph.from_tensors(parts(), features=3)
    assert all(torch.equal(graph.tensors()[name], value) for name, value in parts().items())
    assert graph.density() == pytest.approx(4 / 6)
    operator = dense_gcn_operator(graph.adjacency)
    assert torch.equal(graph.neighbourhood().second, operator)
    assert torch.allclose(graph.neighbourhood().rows, operator)  # the features are the identity


@pytest.mark.parametrize("missing", ["x", "y", "adjacency"])
def test_release_that_lacks_a_part_is_refused(missing):
    tensors = parts()
    del tensors[missing]
    with pytest.raises(InputError, match=f"lacks {missing}"):
        CondensedGraph.from_tensors(tensors)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": torch.zeros(3)}, "do not fit"),
        ({"x": torch.zeros(2, 3)}, "do not fit"),
        ({"y": torch.zeros(3, 1)}, "do not fit"),
        ({"adjacency": torch.zeros(3, 2)}, "do not fit"),
        ({"x": torch.zeros(0, 3), "y": torch.zeros(0), "adjacency": torch.zeros(0, 0)}, "do not fit"),
        ({"x": torch.zeros(3, 4)}, "has 4 features, the dataset has 3"),
        ({"x": torch.full((3, 3), torch.nan)}, "not finite"),
        ({"adjacency": torch.full((3, 3), torch.inf)}, "not finite"),
        ({"y": torch.tensor([0, -1, 1])}, "negative labels"),
        # condensed.py from_tensors: what makes the degrees, and so every logit, NaN is let through
        pytest.param({"adjacency": -2 * torch.ones(3, 3)}, "adjacency"),
    ],
)
def test_unusable_release_is_refused(changes, message):
    with pytest.raises(InputError, match=message) as caught:
        CondensedGraph.from_tensors(parts(**changes), features=3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("distance", ["mse", "columns"])
@pytest.mark.parametrize("known", [True, False], ids=["products kept", "rows alone"])
def test_a_distance_by_factors_is_that_of_the_products(distance, known):
    """Value, and derivative by the condensed rows and by what they are multiplied with."""
    draw = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.double)

    left, right, bias = random(6, 11), random(6, 4), random(4)
    rows, into = random(5, 11).requires_grad_(), random(5, 4).requires_grad_()
    real = {"w1": Outer(Factor.of(left) if known else left, right), "b1": bias}
    own = {"w1": Outer(Factor.of(rows) if known else rows, into), "b1": bias + 1}
    by_factors = matching_distance(real, own, distance)
    products = matching_distance(
        {"w1": left.t() @ right, "b1": bias}, {"w1": rows.t() @ into, "b1": bias + 1}, distance
    )
    mixed = matching_distance({"w1": left.t() @ right, "b1": bias}, own, distance)
    assert torch.allclose(by_factors, products, rtol=1e-12)
    assert torch.allclose(mixed, products, rtol=1e-12)
    for one, other in zip(
        torch.autograd.grad(by_factors, (rows, into)), torch.autograd.grad(products, (rows, into)), strict=True
    ):
        assert torch.allclose(one, other, rtol=1e-9)


def test_columns_of_no_length_count_as_in_the_products():
    """A hidden unit that no condensed node reaches has no gradient: distance one, and no NaN in derivatives."""
    rows, into = torch.randn(3, 5, requires_grad=True), torch.zeros(3, 2, requires_grad=True)
    real, own = {"w1": Outer(torch.eye(3, 5), torch.ones(3, 2))}, {"w1": Outer(Factor.of(rows), into)}
    found = matching_distance(real, own, "columns")
    assert float(found) == pytest.approx(2.0)
    assert all(g.isfinite().all() for g in torch.autograd.grad(found, (rows, into)))

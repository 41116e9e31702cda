"""A condensed graph from a file, in the layouts that people publish."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

import gaudit
from gaudit import InputError, find
from gaudit.targets.external.released import Released
from gaudit.targets.external.released_file import read_released
from support.bomb import Bomb
from support.sixty_nodes import sixty_nodes

SEED = np.random.SeedSequence(0)
X = torch.randn(4, 5, generator=torch.Generator().manual_seed(0))
Y = torch.tensor([0, 1, 2, 0])
A = torch.tensor([[0.0, 1, 0, 0], [1, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]])


def run_of(target):
    return target(sixty_nodes(), find("defenses", "none")(), SEED, lambda m: True)


def layouts(folder):
    """The same graph in many layouts."""
    edges = A.nonzero().t()
    np.savez(folder / "arrays.npz", x=X.numpy(), y=Y.numpy(), adjacency=A.numpy())
    np.savez(
        folder / "edges.npz",
        features=X.numpy(),
        labels=Y.numpy(),
        edge_index=edges.numpy(),
        edge_weight=A[tuple(edges)].numpy(),
    )
    torch.save({"feat_syn": X, "labels_syn": Y, "adj_syn": A}, folder / "dictionary.pt")
    torch.save([X, A, Y], folder / "list.pt")
    torch.save({"x": X, "y": torch.eye(3)[Y], "adj": A.to_sparse()}, folder / "sparse_one_hot.pth")
    save_file({"x": X, "label": Y, "adjacency": A}, folder / "tensors.safetensors")
    return sorted(folder.iterdir())


def test_all_layouts_are_the_same_graph(tmp_path):
    for file in layouts(tmp_path):
        parts = read_released(str(file))
        assert set(parts) == {"x", "y", "adjacency"}, file
        for name, expected in (("x", X), ("y", Y), ("adjacency", A)):
            assert torch.equal(parts[name], expected), (file, name)


def test_nearest_on_a_release_is_what_an_independent_script_finds():
    """scipy's cosine and scikit-learn's AUC, everybody with everybody; the scale of rows changes nothing."""
    data, rng = sixty_nodes(), np.random.default_rng(0)
    rows = data.x[data.train_mask].numpy()[:8] + 0.3 * rng.normal(size=(8, data.num_features))
    asked = (data.train_mask | data.test_mask).numpy()
    scored = 1 - cdist(data.x.numpy(), rows, "cosine").min(1)
    expected = roc_auc_score(data.train_mask.numpy()[asked], scored[asked])
    for scale in (1.0, 1e20, 1e-20):
        given = {"x": (rows * scale).astype(np.float32)}
        result = gaudit.release(given, original=data, attacks="nearest", progress=False)
        assert result.plain_auc["nearest"].estimate == pytest.approx(expected, abs=1e-6)


def test_parts_may_lie_in_files_of_their_own(tmp_path):
    for name, part in (("feat", X), ("labels", Y), ("adj", A)):
        torch.save(part, tmp_path / f"{name}.pt")
    own = {"labels": str(tmp_path / "labels.pt"), "adjacency": str(tmp_path / "adj.pt")}
    run = run_of(Released(file=str(tmp_path / "feat.pt"), **own))
    told = run.transcript.seen_by("public").last("condensed-graph").tensors
    assert torch.equal(told["x"], X)
    assert torch.equal(told["y"], Y)
    assert torch.equal(told["adjacency"], A)
    np.savez(tmp_path / "edges.npz", edge_index=A.nonzero().t().numpy(), edge_weight=A[A > 0].numpy())
    run = run_of(Released(file=str(tmp_path / "feat.pt"), adjacency=str(tmp_path / "edges.npz")))
    assert torch.equal(run.transcript.seen_by("public").last("condensed-graph").tensors["adjacency"], A)


def test_what_is_not_there_is_not_made_up(tmp_path):
    np.savez(tmp_path / "rows.npz", x=X.numpy())
    run = run_of(Released(file=str(tmp_path / "rows.npz")))
    assert set(run.transcript.seen_by("public").last("condensed-graph").tensors) == {"x"}
    assert "the release has no labels and no edges" in run.notes
    assert run.recipe is None


def test_no_edges_is_said_by_the_user_alone(tmp_path):
    np.savez(tmp_path / "rows.npz", x=X.numpy(), y=Y.numpy())
    run = run_of(Released(file=str(tmp_path / "rows.npz"), no_edges=True))
    assert not run.transcript.seen_by("public").last("condensed-graph").tensors["adjacency"].any()
    np.savez(tmp_path / "all.npz", x=X.numpy(), adjacency=A.numpy())
    with pytest.raises(InputError, match="no_edges is set, and the release has edges"):
        run_of(Released(file=str(tmp_path / "all.npz"), no_edges=True))


def test_a_pickled_object_runs_nothing(tmp_path):
    torch.save({"x": X, "more": Bomb()}, tmp_path / "bomb.pt")
    with pytest.raises(InputError, match="holds more than tensors, or is damaged"):
        read_released(str(tmp_path / "bomb.pt"))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"z": X}, "no part of a condensed graph: expected features as 'x', found"),
        ({"y": Y}, "holds no features"),
        ({"x": X, "feat": X}, "holds 'x' twice"),
        ({"x": X, "adj": A, "edges": A.nonzero().t()}, "holds an adjacency and a list of edges: leave one"),
        ({"x": X[0]}, "features must be a matrix"),
        ({"x": X * float("nan")}, "not finite"),
        ({"x": X[:, :3]}, "the released graph has 3 features, the original has 5"),
        ({"x": X, "y": Y[:2]}, r"'y' is \[2\]: expected \[4\]"),
        ({"x": X, "y": Y + 0.5}, "labels must be whole numbers"),
        ({"x": X, "y": Y - 1}, "labels must be classes from 0, and one is -1"),
        ({"x": X, "adjacency": A + 0j}, "'adjacency' holds complex64: expected plain numbers"),
        ({"x": X.to("meta")}, "'x' holds no values: expected plain numbers"),
        ({"x": X[:1].expand(10**10, 5)}, "'x': too large"),
        ({"x": X, "adj": torch.eye(2).to_sparse().sparse_resize_((10**7, 10**7), 2, 0)}, "'adj': too large"),
        ({"x": X, "adjacency": A[:2]}, r"'adjacency' is \[2, 4\]: expected \[4, 4\]"),
        ({"x": X, "edge_index": torch.tensor([[0], [9]])}, "edges name rows outside of 0 to 3"),
    ],
)
def test_parts_that_do_not_fit_are_refused_in_one_line(tmp_path, parts, says):
    torch.save(parts, tmp_path / "release.pt")
    with pytest.raises(InputError, match=says) as error:
        run_of(Released(file=str(tmp_path / "release.pt")))
    assert "\n" not in str(error.value)


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "noise.pt").write_bytes(b"nothing" * 9)
    (tmp_path / "noise.npz").write_bytes(b"nothing" * 9)
    (tmp_path / "noise.safetensors").write_bytes(b"nothing" * 9)
    for name in ("noise.pt", "noise.npz", "noise.safetensors", "none.npz", "graph.json"):
        with pytest.raises(InputError):
            read_released(str(tmp_path / name))


@pytest.mark.parametrize("y", [[2], [[2]], [[0, 0, 1]]], ids=["rows", "a column", "by class"])
def test_one_row_has_one_label(tmp_path, y):
    np.savez(tmp_path / "row.npz", x=X[:1].numpy(), y=np.array(y))
    assert read_released(str(tmp_path / "row.npz"))["y"].tolist() == [2]


def test_labels_may_be_a_row_a_column_or_a_column_for_each_class(tmp_path):
    for y in (Y[None], Y[:, None], torch.eye(int(Y.max()) + 1)[Y]):
        np.savez(tmp_path / "labels.npz", x=X.numpy(), y=y.numpy())
        assert torch.equal(read_released(str(tmp_path / "labels.npz"))["y"], Y)

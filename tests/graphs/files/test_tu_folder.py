"""Collections of graphs in TU Dortmund's files: as PyG reads them, and what is wrong with others in one line."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import TUDataset

from gaudit.errors import InputError
from gaudit.graphs.collection import by_graph, graphs_in
from gaudit.graphs.files.tu_folder import is_tu_folder, read_tu_folder

RINGS = 9
"""Triangles, of which every other one has class 7 and the others class -1."""


def write(folder: Path, **other: str) -> Path:
    nodes = range(1, 3 * RINGS + 1)
    rows = {
        "A": "".join(f"{n}, {n - n % 3 + 1 if n % 3 == 0 else n + 1}\n" for n in nodes if n % 3),
        "graph_indicator": "".join(f"{(n + 2) // 3}\n" for n in nodes),
        "graph_labels": "".join(f"{7 if g % 2 else -1}\n" for g in range(RINGS)),
    }
    for name, text in (rows | other).items():
        (folder / f"RINGS_{name}.txt").write_text(text)
    return folder


def test_what_is_read(tmp_path):
    marks = "".join(f"{5 if n == 0 else 2}\n" for n in range(3 * RINGS))
    data = read_tu_folder(write(tmp_path, node_labels=marks, node_attributes="0.5, -1\n" * 3 * RINGS))
    assert is_tu_folder(tmp_path)
    assert graphs_in(data) == RINGS
    assert by_graph(data, "y").tolist() == [g % 2 for g in range(RINGS)]
    assert data.x[:2].tolist() == [[0.5, -1, 0, 1], [0.5, -1, 1, 0]]
    links = {tuple(pair) for pair in data.edge_index.t().tolist()}
    assert links == {(a + 3 * g, b + 3 * g) for g in range(RINGS) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1))}


def test_nodes_may_come_in_any_order(tmp_path):
    ends = "".join(f"{n},{RINGS + n}\n{RINGS + n},{2 * RINGS + n}\n" for n in range(1, RINGS + 1))
    indicator = "".join(f"{g}\n" for g in range(1, RINGS + 1)) * 3
    labels = "".join(f"{n}\n" for n in range(3 * RINGS))
    data = read_tu_folder(write(tmp_path, A=ends, graph_indicator=indicator, node_labels=labels))
    assert data.x.argmax(1).tolist() == [g + RINGS * k for g in range(RINGS) for k in range(3)]
    assert sorted(data.edge_index.t().tolist())[:4] == [[0, 1], [1, 0], [1, 2], [2, 1]]


def test_without_labels_of_nodes_there_is_one_feature(tmp_path):
    assert torch.equal(read_tu_folder(write(tmp_path)).x, torch.ones(3 * RINGS, 1))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"A": "1, 2, 3\n"}, "rows have 3 numbers: expected 2"),
        ({"A": "0, 1\n"}, "row 1 names a node outside 1 to 27"),
        ({"A": "1, 2\n1, 28\n"}, "row 2 names a node outside 1 to 27"),
        ({"A": "1, 2\n1, x\n"}, "expected rows of whole numbers"),
        ({"A": ""}, "is empty"),
        ({"A": "1, 4\n"}, "which are of two graphs"),
        ({"A": "1, 99999999999999999999\n"}, "expected rows of whole numbers"),
        ({"graph_labels": "1\n2\n"}, "names a graph outside 1 to 2"),
        ({"graph_labels": "1\n2\n" * 5}, "graph 9 has no node"),
        ({"graph_labels": "1.5\n" * 9}, "expected rows of whole numbers"),
        ({"node_labels": "1\n"}, "has 1 rows for 27 nodes"),
        ({"node_attributes": "1, 2\n" * 26 + "1\n"}, "expected rows of numbers"),
        ({"node_attributes": "nan\n" * 27}, "NaN or infinite"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, other, said):
    with pytest.raises(InputError, match=said) as told:
        read_tu_folder(write(tmp_path, **other))
    assert "\n" not in str(told.value)


def test_too_many_labels_of_nodes(tmp_path, monkeypatch):
    monkeypatch.setattr("gaudit.graphs.files.tu_folder.MOST_LABELS", 3)
    with pytest.raises(InputError, match="27 different labels of nodes"):
        read_tu_folder(write(tmp_path, node_labels="".join(f"{n}\n" for n in range(27))))


def test_too_large(tmp_path, monkeypatch):
    monkeypatch.setenv("GAUDIT_MEMORY", "0.0000001")
    with pytest.raises(InputError, match="GAUDIT_MEMORY"):
        read_tu_folder(write(tmp_path))


def test_a_folder_of_something_else(tmp_path):
    assert not is_tu_folder(tmp_path)
    with pytest.raises(InputError, match="no file called"):
        read_tu_folder(tmp_path)
    write(tmp_path)
    (tmp_path / "RINGS_A.txt").unlink()
    with pytest.raises(InputError, match=r"RINGS_A\.txt: no such file"):
        read_tu_folder(tmp_path)


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES"])
def test_known_collections_are_read_as_pyg_reads_them(tmp_path, name):
    raw = Path(os.environ.get("GAUDIT_DATA", "")) / "tu" / name / "raw"
    if not os.environ.get("GAUDIT_DATA") or not raw.is_dir():
        pytest.skip(f"{name} is not in GAUDIT_DATA")
    shutil.copytree(raw, tmp_path / name / "raw")
    theirs = TUDataset(str(tmp_path), name, use_node_attr=True)
    data = read_tu_folder(raw)
    assert graphs_in(data) == len(theirs)
    assert torch.equal(data.x, torch.cat([graph.x for graph in theirs]))
    assert torch.equal(by_graph(data, "y"), torch.cat([graph.y for graph in theirs]))
    start, links = 0, set()
    for graph in theirs:
        links |= {(a + start, b + start) for a, b in graph.edge_index.t().tolist()}
        start += graph.num_nodes
    assert {tuple(pair) for pair in data.edge_index.t().tolist()} == links

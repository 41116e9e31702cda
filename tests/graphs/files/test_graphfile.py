"""Graphs from files: good ones are read, bad and hostile ones refused in one line."""

import contextlib
import pickle
import zipfile
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaudit.errors import InputError
from gaudit.graphs.checks import MASKS
from gaudit.graphs.datasets.bundled import karate
from gaudit.graphs.files import data_file as graphfile
from gaudit.graphs.files.data_file import read_graph, write_graph
from gaudit.graphs.files.network_file import read_network
from gaudit.graphs.files.rows import Rows, network_of
from support.bomb import Bomb


def arrays(**changes):
    fields = {
        "x": np.arange(24, dtype=np.float64).reshape(12, 2),
        "y": np.arange(12) % 2,
        "edge_index": np.stack([np.arange(11), np.arange(1, 12)]),
    } | changes
    return {name: value for name, value in fields.items() if value is not None}


def saved(path, **changes):
    np.savez(path, **arrays(**changes))
    return path


def refused(path, message):
    with pytest.raises(InputError, match=message) as refusal:
        read_graph(path)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in ("x", "y", "edge_index", *MASKS))


def test_a_written_graph_is_read_back(tmp_path):
    write_graph(karate(), tmp_path / "karate.npz")
    assert same(read_graph(tmp_path / "karate.npz"), karate())


def test_writing_replaces_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "karate.npz"
    path.write_text("old")
    write_graph(karate(), path)
    assert list(tmp_path.iterdir()) == [path]
    assert read_graph(path).num_nodes == 34


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "karate.npz"
    path.write_text("old")

    def full_disk(stream, **_):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(InputError, match="No space left"):
        write_graph(karate(), path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["karate.graphml", "missing/karate.npz"])
def test_unusable_names_to_write_to_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="karate"):
        write_graph(karate(), tmp_path / name)


def test_an_archive_without_masks_gets_the_same_split_every_time(tmp_path):
    path = saved(tmp_path / "g.npz")
    graph = read_graph(path)
    assert same(graph, read_graph(path))
    assert graph.x.dtype == torch.float32
    assert graph.edge_index.shape == (2, 22)


def test_small_and_unsigned_integers_are_read_as_well(tmp_path):
    y, edges = arrays()["y"].astype(np.uint8), arrays()["edge_index"].astype(np.int16)
    graph = read_graph(saved(tmp_path / "g.npz", y=y, edge_index=edges))
    assert graph.y.dtype == graph.edge_index.dtype == torch.int64


MASK = np.zeros(12, dtype=bool)

BAD = {
    "an object array": ({"x": np.array([[1, "a"]] * 12, dtype=object)}, "'x' has type object"),
    "strings": ({"x": np.full((12, 2), "a")}, "'x' has type <U1"),
    "complex numbers": ({"x": np.ones((12, 2), dtype=complex)}, "'x' has type complex128"),
    "labels with fractions": ({"y": np.full(12, 0.5)}, "'y' has type float64"),
    "labels beyond int64": ({"y": np.full(12, 2**64 - 1, dtype=np.uint64)}, "beyond 64-bit"),
    "numbers as masks": ({"val_mask": np.zeros(12)}, "expected booleans"),
    "one mask": ({"train_mask": MASK}, "val_mask, test_mask missing"),
    "no features": ({"x": None}, "'x' is missing"),
    "no edges array": ({"edge_index": None}, "'edge_index' is missing"),
    "wrong rows": ({"x": np.ones((11, 2))}, "11 rows"),
    "infinite": ({"x": np.full((12, 2), np.inf)}, "12 nodes are NaN or infinite"),
    "too large for float32": ({"x": np.full((12, 2), 1e300)}, "infinite"),
    "an edge to nowhere": ({"edge_index": np.array([[0], [12]])}, "outside 0..11"),
    "a scalar": ({"y": np.array(1)}, "shape"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_archives_are_refused_in_one_line(tmp_path, case):
    changes, message = BAD[case]
    refused(saved(tmp_path / "g.npz", **changes), message)


def test_any_truncation_is_an_error_of_one_line(tmp_path):
    whole = saved(tmp_path / "g.npz").read_bytes()
    for kept in range(0, len(whole), 37):
        (tmp_path / "g.npz").write_bytes(whole[:kept])
        refused(tmp_path / "g.npz", "truncated or not an npz")


def test_any_damaged_byte_gives_a_graph_or_an_input_error(tmp_path):
    path = tmp_path / "g.npz"
    np.savez_compressed(path, **arrays())
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            read_graph(path)


def test_pickles_are_never_opened(tmp_path):
    bomb = pickle.dumps(Bomb())
    (tmp_path / "g.npz").write_bytes(bomb)
    refused(tmp_path / "g.npz", "not an npz")
    np.savez(tmp_path / "h.npz", **arrays(x=np.array([Bomb()] * 12, dtype=object)))
    refused(tmp_path / "h.npz", "type object")
    with zipfile.ZipFile(tmp_path / "i.npz", "w") as archive:
        archive.writestr("x.npy", bomb)
    refused(tmp_path / "i.npz", "not an npz")


def test_an_array_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path):
    claims = {"x": (5_000_000, 10_000), "y": (10**12,), "edge_index": (2, 10**12)}
    for name, shape in claims.items():
        saved(tmp_path / "g.npz", **{name: None})
        kind = np.dtype(np.float32 if name == "x" else np.int64).str
        header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        with zipfile.ZipFile(tmp_path / "g.npz", "a") as archive:
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        refused(tmp_path / "g.npz", f"'{name}'.*too large")


def test_other_kinds_missing_files_and_folders_are_refused(tmp_path):
    refused(tmp_path / "g.csv", "unknown kind")
    refused(tmp_path / "none.npz", "no such file|this is a folder")
    (tmp_path / "folder.npz").mkdir()
    refused(tmp_path / "folder.npz", "no such file|this is a folder")


def club(**changes):
    """A path of ten nodes for GraphML; functions of the node give other attributes than the usual."""
    graph = nx.path_graph(10)
    attributes = {"label": lambda n: "ab"[n % 2], "x": lambda n: f"{n} 0.5"} | changes
    for name, value in attributes.items():
        for node in graph:
            if value is not None and value(node) is not None:
                graph.nodes[node][name] = value(node)
    return graph


def graphml(path, **changes):
    nx.write_graphml(club(**changes), path)
    return path


def test_graphml_with_string_features_and_labels(tmp_path):
    graph = read_graph(graphml(tmp_path / "g.graphml"))
    assert graph.x.tolist() == [[n, 0.5] for n in range(10)]
    assert graph.y.tolist() == [0, 1] * 5
    assert graph.edge_index.shape == (2, 18)


def test_graphml_with_numbered_features_integer_labels_and_a_split(tmp_path):
    parts = {0: "train", 1: "train", 2: "val", 3: "test"}
    numbered = {"x": None, "x0": float, "x1": lambda n: -n, "label": lambda n: 2 * (n % 2)}
    graph = read_graph(graphml(tmp_path / "g.graphml", **numbered, split=parts.get))
    assert graph.x.tolist() == [[n, -n] for n in range(10)]
    assert graph.y.tolist() == [0, 2] * 5
    assert [graph[name].nonzero().flatten().tolist() for name in MASKS] == [[0, 1], [2], [3]]


def test_what_is_dropped_from_edges_and_made_undirected_is_remarked(tmp_path):
    """A graph to learn from was silently another one than the file's."""
    once = arrays()["edge_index"]
    both = np.concatenate([once, once[::-1]], axis=1)
    for edges, remarks in (
        (once, ()),
        (both, ()),
        (
            np.concatenate([both, both[:, :3], [[2, 5], [2, 5]]], axis=1),
            ("self-loops dropped: 2; repeated edges dropped: 3",),
        ),
        (both[:, :13], ("directed edges made undirected: 9",)),
    ):
        assert read_graph(saved(tmp_path / "g.npz", edge_index=edges)).remarks == remarks
    nx.write_graphml(club().to_directed(), tmp_path / "g.graphml")
    assert read_graph(tmp_path / "g.graphml").remarks == ()
    graph = club()
    path = nx.DiGraph(graph.edges)
    path.add_nodes_from(graph.nodes(data=True))
    nx.write_graphml(path, tmp_path / "g.graphml")
    assert read_graph(tmp_path / "g.graphml").remarks == ("directed edges made undirected: 9",)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25),
    st.booleans(),
    st.sampled_from(("yes", "no", "if-mixed", "unsaid", "in-words")),
)
def test_remarks_are_those_of_the_network_of_the_same_rows(pairs, both_ways, directed):
    ends = np.array(pairs + [pair[::-1] for pair in pairs] if both_ways else pairs).T
    assume((ends[0] != ends[1]).any())
    data = Data(edge_index=torch.from_numpy(ends), y=torch.zeros(7, dtype=torch.long))
    rows = Rows(tuple(map(str, range(7))), *ends, directed=directed)
    network, dropped = network_of(rows, "g", "merge")
    expected = replace(dropped, both_ways=0).sentence
    assert graphfile._edge_remarks(data, network.size, directed) == ((expected,) if expected else ())


BAD_GRAPHML = {
    "a missing label": (
        {"label": lambda n: "ab"[n % 2] if n < 9 else None},
        "node '9' has no attribute 'label'",
    ),
    "fractions as labels": ({"label": lambda n: n / 2}, "all integers or all strings"),
    "a negative label": ({"label": lambda n: n - 1}, "negative"),
    "a huge label": ({"label": lambda n: n * 10**30}, "goes beyond"),
    "no features": ({"x": None}, "no features"),
    "words as features": ({"x": lambda _: "1 two"}, "node '0' has a feature that is no number"),
    "rows of other widths": (
        {"x": lambda n: "1 " * (1 + n % 2)},
        "node '1' has 2 features, the first node has 1",
    ),
    "a node without features": ({"x": lambda n: "1 2" if n else "1 2 3"}, "node '1' has 2 features"),
    "a node with more features": (
        {"x": None, "x0": float, "x1": lambda n: n or None},
        "node '1' has a feature 'x1', and the first node has 1 features",
    ),
    "a node with fewer features": (
        {"x": None, "x0": float, "x1": lambda n: None if n else 1},
        "node '1' lacks a feature 'x1', and the first node has 2 features",
    ),
    "features that only a later node has": ({"x": None, "x0": lambda n: n or None}, "node '1' has a feature 'x0'"),
    "features from 1": (
        {"x": None, "x1": float, "x2": float},
        "node '0' lacks a feature 'x0', .*called x0, x1",
    ),
    "NaN": ({"x": lambda _: "nan 1"}, "10 nodes are NaN"),
    "an unknown split": ({"split": lambda _: "dev"}, "node '0' has split 'dev'"),
    "no validation": ({"split": lambda n: "train" if n else "test"}, "'val_mask' is empty"),
}


@pytest.mark.parametrize("case", BAD_GRAPHML)
def test_unusable_graphml_is_refused_in_one_line(tmp_path, case):
    changes, message = BAD_GRAPHML[case]
    refused(graphml(tmp_path / "g.graphml", **changes), message)


ENTITIES = '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize("read", [read_graph, read_network])
def test_an_edge_to_a_node_that_graphml_does_not_declare_is_refused(tmp_path, read):
    """The reader makes a node of it: one misspelled id would be one more person."""
    path = graphml(tmp_path / "g.graphml")
    path.write_text(path.read_text().replace('target="9"', 'target="ninth"'))
    with pytest.raises(InputError, match=r"g\.graphml: an edge names the node 'ninth'") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp037"])
def test_document_type_declarations_are_refused_in_any_encoding(tmp_path, encoding):
    text = graphml(tmp_path / "g.graphml").read_text()
    body = text[text.index("<graphml") :]
    content = f"<?xml version='1.0' encoding='{encoding}'?>{ENTITIES}{body}".encode(encoding)
    (tmp_path / "g.graphml").write_bytes(content)
    refused(tmp_path / "g.graphml", "DOCTYPE|broken XML")


def test_truncated_and_foreign_documents_are_refused(tmp_path):
    path = graphml(tmp_path / "g.graphml")
    whole = path.read_bytes()
    for kept in range(0, len(whole) - 10, 211):
        path.write_bytes(whole[:kept])
        refused(path, "broken XML")
    path.write_text("<html/>")
    refused(path, "GraphML")
    path.write_text(
        "<graphml xmlns='http://graphml.graphdrawing.org/xmlns'><graph edgedefault='directed'/></graphml>"
    )
    refused(path, "no nodes")


def test_a_graphml_file_over_the_limit_is_refused(tmp_path, monkeypatch):
    path = graphml(tmp_path / "g.graphml")
    monkeypatch.setattr(graphfile, "MOST_GRAPHML_BYTES", 100)
    refused(path, "larger than")

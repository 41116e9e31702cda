"""Networks as other programs write them: the same network comes back, and hostile files end in one line."""

import json
import re

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from networkx.readwrite import json_graph
from scipy import sparse

from gaudit.errors import InputError
from gaudit.graphs.files.network_file import is_readable, read_network

GRAPH = nx.gnm_random_graph(20, 45, seed=3)
for place, (one, other) in enumerate(GRAPH.edges):
    GRAPH.edges[one, other]["weight"] = round(0.5 + place / 8, 3)
GRAPH = nx.relabel_nodes(GRAPH, {node: f"Ann Lee {node}" for node in GRAPH})
GRAPH.add_node("nobody's friend")


def told(path, weighted=True) -> dict[frozenset[str], float | None]:
    """Edges by the file's ids, with their weight."""
    read = read_network(path)
    weights = read.network.weights.tolist() if weighted else [None] * read.network.size
    ends = read.network.edges.T.tolist()
    return {frozenset((read.ids[a], read.ids[b])): w for (a, b), w in zip(ends, weights, strict=True)}


EXPECTED = {frozenset(edge[:2]): edge[2]["weight"] for edge in GRAPH.edges(data=True)}


def write_json(graph, path):
    path.write_text(json.dumps(json_graph.node_link_data(graph, edges="links")))


WRITERS = {"gexf": nx.write_gexf, "gml": nx.write_gml, "json": write_json}


@pytest.mark.parametrize("ending", WRITERS)
def test_what_networkx_writes_is_read(ending, tmp_path):
    path = tmp_path / f"graph.{ending}"
    WRITERS[ending](GRAPH, path)
    assert told(path) == EXPECTED
    assert set(read_network(path).ids) == set(GRAPH)
    assert is_readable(path.name.upper())


@pytest.mark.parametrize("ending", WRITERS)
def test_directed_files_are_refused_or_merged(ending, tmp_path):
    path = tmp_path / f"graph.{ending}"
    WRITERS[ending](nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), path)
    with pytest.raises(InputError, match="1 of 2 edges lack their reverse, for example b -> c"):
        read_network(path)
    assert read_network(path, "merge").network.size == 2


def test_what_igraph_writes_is_read(tmp_path):
    path = tmp_path / "graph.gml"
    graph = igraph.Graph.Famous("Zachary")
    graph.write_gml(str(path))
    assert {frozenset(map(int, edge)) for edge in told(path, False)} == {frozenset(e) for e in graph.get_edgelist()}
    graph.vs["name"] = [f"member {node}" for node in range(34)]
    graph.write_gml(str(path))
    assert frozenset(("member 0", "member 1")) in told(path, False)


def test_other_attributes_are_named_and_not_read(tmp_path):
    graph = nx.Graph(GRAPH)
    nx.set_node_attributes(graph, 7, "age")
    nx.set_edge_attributes(graph, "x", "colour")
    for ending in ("gml", "json"):
        WRITERS[ending](graph, tmp_path / f"graph.{ending}")
        read = read_network(tmp_path / f"graph.{ending}")
        assert read.attributes == ("age",)
        assert "attributes of edges not read: 'colour'" in read.dropped.sentence
        assert (read.x, read.y) == (None, None)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("weighted", [True, False])
def test_what_scipy_saves_is_read(kind, weighted, tmp_path):
    path = tmp_path / "adjacency.npz"
    matrix = nx.to_scipy_sparse_array(GRAPH, nodelist=sorted(GRAPH), weight="weight" if weighted else None)
    sparse.save_npz(path, matrix.asformat(kind))
    read = read_network(path)
    names = sorted(GRAPH)
    ends = [frozenset((names[a], names[b])) for a, b in read.network.edges.T.tolist()]
    assert set(ends) == set(EXPECTED)
    assert read.network.nodes == 21
    if weighted:
        assert dict(zip(ends, read.network.weights.tolist(), strict=True)) == EXPECTED
    else:
        assert read.network.weights is None


def test_a_triangle_of_a_matrix_and_a_directed_one(tmp_path):
    path = tmp_path / "adjacency.npz"
    full = nx.to_scipy_sparse_array(GRAPH, weight=None)
    sparse.save_npz(path, sparse.csr_array(sparse.triu(full)))
    assert read_network(path).network.size == 45
    some = sparse.triu(full).tolil()
    row, col = (ends[0] for ends in sparse.triu(full).nonzero())
    some[col, row] = 1
    sparse.save_npz(path, some.tocsr())
    with pytest.raises(InputError, match="44 of 45 edges lack their reverse"):
        read_network(path)


def test_entries_that_are_there_twice_are_refused(tmp_path):
    """scipy adds them up; whoever keeps the first publishes a weight that nobody has."""
    path = tmp_path / "adjacency.npz"
    twice = sparse.coo_array(([2.0, 3.0, 1.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    sparse.save_npz(path, twice)
    with pytest.raises(InputError, match=r"row 0, column 1 is there more than once: add up such entries first"):
        read_network(path)
    sparse.save_npz(path, twice.tocsr())  # which adds them up
    assert read_network(path).network.weights.tolist() == [5.0, 1.0]


def test_gephis_table_of_edges_is_read(tmp_path):
    path = tmp_path / "edges.csv"
    rows = [(a, b, "Undirected", k, "", w["weight"]) for k, (a, b, w) in enumerate(GRAPH.edges(data=True))]
    table = pd.DataFrame(rows, columns=["Source", "Target", "Type", "Id", "Label", "Weight"])
    table.to_csv(path, index=False)
    assert told(path) == EXPECTED
    table.to_csv(path, index=False, sep=";", decimal=",", quotechar='"', quoting=1)
    assert told(path) == EXPECTED


def test_konects_edge_lists_are_read_by_their_name(tmp_path):
    path = tmp_path / "out.club"
    path.write_text("% sym unweighted\n% 3 3 3\n1 2\n2 3\n")
    assert set(told(path, False)) == {frozenset("12"), frozenset("23")}
    path.write_text("% asym positive\n1 2\t4 1082040961\n2 3\t1 1082040962\n")
    assert told(path) == {frozenset("12"): 4.0, frozenset("23"): 1.0}
    assert is_readable(str(path))
    assert not is_readable("club")


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><gexf><graph/></gexf>'
PLACE = "http://www.gexf.net/1.2draft"
GEXF = f'<gexf xmlns="{PLACE}" version="1.2"><graph><nodes>{{}}</nodes><edges>{{}}</edges></graph></gexf>'
EDGE = '<edge id="0" source="a" target="b"/>'
HOSTILE = {
    "bomb.gexf": (BOMB, "DOCTYPE or ENTITY declaration, which is refused"),
    "broken.gexf": ("<gexf><graph>", "broken XML"),
    "other.gexf": ("<svg/>", "not a readable GEXF graph"),
    "stranger.gexf": (GEXF.format('<node id="a"/>', EDGE), "does not declare"),
    "deep.gml": ("graph [ " + "a [ " * 100_000, "not readable as GML"),
    "text.gml": ("hello", "not readable as GML"),
    "bytes.gml": ("graph [ node [ id 0 label \udcff ] ]", "not readable as GML"),
    "endless.gml": (
        "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 weight 9.0E999 ] ]",
        "no finite number",
    ),
    "deep.json": ("[" * 100_000, "not readable as JSON"),
    "list.json": ("[1, 2]", "expected an object with 'nodes' and 'links'"),
    "nodes.json": ('{"nodes": [1], "links": []}', "expected an object with 'nodes' and 'links'"),
    "twice.json": ('{"nodes": [{"id": 1}, {"id": "1"}], "links": []}', "node '1' is there twice"),
    "no id.json": ('{"nodes": [{"id": [1]}], "links": []}', "as 'id': expected text"),
    "stranger.json": (
        '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
        "an edge names the node '2', which is not listed",
    ),
    "number.json": ('{"nodes": [{"id": ' + "9" * 9999 + '}], "links": []}', "not readable as JSON"),
    "empty.json": ('{"nodes": [], "links": []}', "holds no nodes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_one_line(name, tmp_path):
    content, says = HOSTILE[name]
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=re.escape(says)) as refused:
        read_network(path)
    assert "\n" not in str(refused.value)


def test_a_weight_beyond_all_floats_is_refused(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "weight": 1%s}]}' % ("0" * 400)
    )
    with pytest.raises(InputError, match="'weight' of an edge is no finite number"):
        read_network(tmp_path / "a.json")


def test_a_file_that_takes_more_memory_than_there_may_be_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GAUDIT_MEMORY", "0.001")
    for name, content in (("a.json", "[" + "[]," * 20_000), ("a.gml", "graph [ " + "a 1 " * 20_000)):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="GAUDIT_MEMORY"):
            read_network(tmp_path / name)


GOOD = {
    "format": np.array(b"csr"),
    "shape": np.array([2, 2]),
    "indptr": np.array([0, 1, 2]),
    "indices": np.array([1, 0]),
    "data": np.array([1.0, 1.0]),
}
WRONG = {
    "a shape": ({"shape": np.array([2, 3])}, "expected a square one"),
    "a huge shape": ({"shape": np.array([10**12, 10**12])}, "expected a square one"),
    "another format": ({"format": np.array(b"bsr")}, "expected csr, csc or coo"),
    "no such array": ({"format": np.array(b"coo")}, "expected csr, csc or coo"),
    "steps back": ({"indptr": np.array([0, 3, 2])}, "'indptr' does not fit"),
    "a node beyond": ({"indices": np.array([1, 7])}, "do not fit to each other"),
    "less data": ({"data": np.array([1.0])}, "do not fit to each other"),
    "no number": ({"data": np.array([1.0, np.nan])}, "NaN or infinite"),
    "a number": ({"indptr": np.array(3)}, "is none of a sparse matrix"),
    "an object": ({"data": np.array([{}, {}])}, "is none of a sparse matrix"),
}


@pytest.mark.parametrize("case", WRONG)
def test_sparse_matrices_that_are_none_are_refused(case, tmp_path):
    changed, says = WRONG[case]
    path = tmp_path / "adjacency.npz"
    np.savez(path, **GOOD)
    assert read_network(path).network.size == 1
    np.savez(path, **(GOOD | changed))
    with pytest.raises(InputError, match=re.escape(says)):
        read_network(path)

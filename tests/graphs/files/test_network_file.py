"""Networks from files and back: what is written is read again, and what cannot be read is refused in one line."""

import contextlib
import gzip
import itertools
import pickle
import tracemalloc
import zipfile

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gaudit.errors import InputError
from gaudit.graphs.files import data_file as graphfile
from gaudit.graphs.files import edge_list
from gaudit.graphs.files import npz as network_npz
from gaudit.graphs.files import rows as network_rows
from gaudit.graphs.files.data_file import read_graph
from gaudit.graphs.files.network_file import ids_with_added, read_network, write_network
from gaudit.graphs.files.rows import Dropped
from gaudit.graphs.network import Network
from support.bomb import Bomb

TEXTS = [ending + packed for ending in (".txt", ".tsv", ".csv", ".edges") for packed in ("", ".gz")]
ENDINGS = [*TEXTS, ".npz", ".graphml"]


def put(path, content):
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(tmp_path, content, name="g.txt", **settings):
    return read_network(put(tmp_path / name, content), **settings)


def refused(path, message, **settings):
    with pytest.raises(InputError, match=message) as refusal:
        read_network(path, **settings)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def named(found):
    """Edges by ids, with weights and names of types."""
    network = found.network
    weights = itertools.repeat(None) if network.weights is None else network.weights.tolist()
    types = itertools.repeat(None)
    if network.types is not None:
        types = [found.type_names[t] if found.type_names else t for t in network.types.tolist()]
    return {
        (frozenset((found.ids[u], found.ids[v])), weight, kind)
        for u, v, weight, kind in zip(*network.edges.tolist(), weights, types, strict=False)
    }


def pairs(found):
    return {tuple(sorted(edge)) for edge, _, _ in named(found)}


# ---- what is written is read again

WORDS = st.text(
    st.characters(exclude_categories=("Z", "C"), exclude_characters=',"#%\ufeff\ufffe\uffff'),
    min_size=1,
    max_size=5,
)
NUMBERS = st.integers(-20, 200).map(str) | st.sampled_from(["007", "+5", "1e3", "-0", "9" * 30])
ODD = st.sampled_from(
    ["source", "target", "from", "to", "NA", "nan", "null", "a#b", "x%", "'", "None", "True", "added-1"]
)
IDS = st.lists(st.one_of(WORDS, NUMBERS, ODD), min_size=2, max_size=7, unique=True)
KINDS = WORDS.filter(lambda word: edge_list.number_of(word) is None)
SECONDS = 6e8  # weights from here on may pass for times since 1970, and get a first row that says what they are
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def networks(draw, both=False):
    """A network with ids; weights, or types with names, or neither (or both)."""
    ids = draw(IDS)
    what = draw(st.sampled_from(["plain", "weights", "types", *(["both"] if both else [])]))
    names = draw(st.lists(KINDS, min_size=1, max_size=3, unique=True)) if what in ("types", "both") else []
    every = [(u, v, t) for u, v in itertools.combinations(range(len(ids)), 2) for t in range(max(len(names), 1))]
    rows = np.array(draw(st.lists(st.sampled_from(every), min_size=1, unique=True)), dtype=np.int64)
    weights = None
    if what in ("weights", "both"):
        weights = np.array(draw(st.lists(FINITE, min_size=len(rows), max_size=len(rows))))
    return Network.from_edges(len(ids), rows[:, 0], rows[:, 1], weights, rows[:, 2] if names else None), ids, names


def equal(one, other):
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and one.dtype.kind == other.dtype.kind and (one == other).all()


def same(found, network, ids, names):
    assert found.ids == tuple(ids)
    assert found.network.nodes == network.nodes
    for field in ("edges", "weights", "types", "groups", "counts"):
        assert equal(getattr(found.network, field), getattr(network, field)), field
    assert found.type_names == tuple(names)
    assert found.dropped == Dropped()


@pytest.mark.parametrize("ending", [".txt", ".tsv", ".csv", ".edges", ".csv.gz"])
@given(case=networks())
@settings(max_examples=60)
def test_text_is_read_as_it_was_written(ending, case, tmp_path_factory):
    network, ids, names = case
    assume(network.weights is None or not all(SECONDS <= weight < 1e19 for weight in network.weights))
    path = tmp_path_factory.getbasetemp() / f"round{ending}"
    write_network(network, path, ids, names)
    same(read_network(path), network, ids, names)


def test_weights_that_pass_for_times_are_written_with_the_names_of_the_columns(tmp_path):
    network = Network.from_edges(3, np.array([0]), np.array([1]), np.array([SECONDS * 2]))
    write_network(network, tmp_path / "late.edges", ["0", "1", "00"], [])
    found = read_network(tmp_path / "late.edges")
    assert found.network.weights == [SECONDS * 2]
    assert found.network.events is None
    assert found.dropped == Dropped(header=1)


@pytest.mark.parametrize("ending", [".npz", ".graphml"])
@given(case=networks(both=True), features=st.booleans(), classes=st.booleans())
@settings(max_examples=60)
def test_archives_and_graphml_are_read_as_they_were_written(ending, case, features, classes, tmp_path_factory):
    network, ids, names = case
    x = np.arange(2 * len(ids), dtype=np.float32).reshape(-1, 2) / 3 if features else None
    y = np.arange(len(ids)) % 3 if classes else None
    path = tmp_path_factory.getbasetemp() / f"round{ending}"
    write_network(network, path, ids, names, x, y)
    found = read_network(path)
    same(found, network, ids, names)
    assert equal(found.x, x)
    assert equal(found.y, y)


@given(counts=st.lists(st.tuples(*[st.integers(0, 5)] * 4), min_size=1, max_size=4), edges=st.booleans())
@settings(max_examples=20)
def test_an_archive_keeps_groups_and_counts_also_without_edges(counts, edges, tmp_path_factory):
    ends = np.array([[0], [2]] if edges else [[], []], dtype=np.int64)
    network = Network(3, ends, groups=np.array([0, 1, 1]), counts=np.array(counts, dtype=np.int64))
    path = tmp_path_factory.getbasetemp() / "round.npz"
    write_network(network, path)
    same(read_network(path), network, ["0", "1", "2"], [])


def test_plain_networks_of_numbers_are_written_without_comments(tmp_path):
    write_network(Network.from_edges(3, [0, 1], [2, 2]), tmp_path / "g.txt")
    assert (tmp_path / "g.txt").read_text() == "0 2\n1 2\n"
    write_network(Network.from_edges(3, [0, 1], [2, 2], np.array([0.1, 2.0])), tmp_path / "g.csv", ["b", "c", "a"])
    assert (tmp_path / "g.csv").read_text() == "#@node b\n#@node c\n#@node a\nb,a,0.1\nc,a,2.0\n"
    write_network(Network.from_edges(2, [0], [1], types=np.array([1])), tmp_path / "g.tsv")
    assert (tmp_path / "g.tsv").read_text() == "#@type type-0\n#@type type-1\n0\t1\ttype-1\n"


@pytest.mark.parametrize(("ending", "between"), [(".csv.gz", ","), (".tsv.gz", "\t"), (".txt.gz", " ")])
def test_packed_text_has_the_same_columns_and_no_time(tmp_path, ending, between):
    write_network(EDGE, tmp_path / f"g{ending}")
    packed = (tmp_path / f"g{ending}").read_bytes()
    assert gzip.decompress(packed).decode() == f"0{between}1\n"
    assert packed[4:8] == bytes(4)


@pytest.mark.parametrize("ending", ENDINGS)
def test_added_nodes_get_fresh_ids(tmp_path, ending):
    network = Network.from_edges(5, [0, 0, 3], [1, 3, 4])
    write_network(network, tmp_path / f"g{ending}", ["added-2", "me", "added-1"])
    found = read_network(tmp_path / f"g{ending}")
    assert found.ids == ("added-2", "me", "added-1", "added-3", "added-4")
    assert pairs(found) == {("added-2", "me"), ("added-2", "added-3"), ("added-3", "added-4")}


def test_fresh_ids_are_for_fewer_ids_than_nodes():
    assert ids_with_added(["a"], 1) == ("a",)
    assert ids_with_added([], 2) == ("added-1", "added-2")
    with pytest.raises(InputError, match="3 ids for 2 nodes"):
        ids_with_added(["a", "b", "c"], 2)


@pytest.mark.parametrize("ending", ENDINGS)
def test_writing_replaces_and_leaves_nothing_else(tmp_path, ending):
    path = tmp_path / f"g{ending}"
    path.write_text("old")
    write_network(Network.from_edges(2, [0], [1]), path)
    assert list(tmp_path.iterdir()) == [path]
    assert read_network(path).network.size == 1
    first = path.read_bytes()
    write_network(Network.from_edges(2, [0], [1]), path)
    assert path.suffix == ".npz" or path.read_bytes() == first


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("old")
    with pytest.raises(InputError, match="there twice"):
        write_network(Network.from_edges(2, [0], [1]), path, ["a", "a"])
    with pytest.raises(InputError, match="cannot write"):
        write_network(Network.from_edges(2, [0], [1]), tmp_path / "nowhere" / "g.txt")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


EDGE = Network.from_edges(2, [0], [1])
TYPED = Network.from_edges(2, [0], [1], types=np.array([1]))
HEAVY = Network.from_edges(2, [0], [1], np.array([0.5]), np.array([0]))
UNWRITABLE = {
    "no edges": (Network.from_edges(2, [], []), "g.txt", {}, "no edges"),
    "another ending": (EDGE, "g.docx", {}, "unknown kind.*expected .txt"),
    "a blank at an id's end": (EDGE, "g.npz", {"ids": ["a ", "c"]}, "id 'a ' is with blanks at its ends"),
    "a tab in an id": (EDGE, "g.npz", {"ids": ["a\tb", "c"]}, "is with blanks"),
    "an empty id": (EDGE, "g.txt", {"ids": ["", "c"]}, "id '' is empty"),
    "a long id": (EDGE, "g.npz", {"ids": ["a" * 300, "c"]}, "longer than 256"),
    "ids that are there twice": (EDGE, "g.graphml", {"ids": ["a", "a"]}, "'a' is there twice"),
    "more ids than nodes": (EDGE, "g.txt", {"ids": ["a", "b", "c"]}, "3 ids for 2 nodes"),
    "too few names of types": (TYPED, "g.txt", {"type_names": ["friend"]}, "1 names of types, expected 2"),
    "ids like column names": (HEAVY, "g.txt", {"ids": ["source", "b"]}, "an id is 'source'"),
    "features in text": (EDGE, "g.txt", {"x": np.ones((2, 1))}, "could not hold features"),
    "groups in GraphML": (Network(2, EDGE.edges, groups=np.zeros(2, int)), "g.graphml", {}, "not hold groups"),
    "features of other nodes": (EDGE, "g.npz", {"x": np.ones((3, 1))}, "features of 3 nodes, expected 2"),
    "NaN as a weight": (Network.from_edges(2, [0], [1], np.array([np.nan])), "g.npz", {}, "NaN"),
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_what_could_not_be_read_again_is_not_written(tmp_path, case):
    network, name, settings, message = UNWRITABLE[case]
    with pytest.raises(InputError, match=message) as refusal:
        write_network(network, tmp_path / name, **settings)
    assert "\n" not in str(refusal.value)
    assert not list(tmp_path.iterdir())


# ---- edge lists


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 3\n",
        "1\t2\n2\t3",
        "1,2\n2,3\n",
        "1, 2\r\n2 ,3\r\n",
        "  1   2 \n\n2\t 3\n   \n",
        "# comment\n% another\n1 2\n# 5 6\n2 3\n",
        "\ufeff1 2\n2 3\n",
        "\ufeff# comment\n1 2\n2 3\n",
        "1 2\r2 3\r",
        '"1" "2"\n"2" "3"\n',
        "source,target\n1,2\n2,3\n",
        "FromNodeId\tToNodeId\n1\t2\n2\t3\n",
        "user,other\n1,2\n2,3\n",
    ],
)
def test_blanks_tabs_commas_comments_and_headers(tmp_path, text):
    found = read(tmp_path, text)
    assert found.ids == ("1", "2", "3")
    assert found.network.edges.tolist() == [[0, 1], [1, 2]]
    assert found.dropped == Dropped(header=int(text[:1] in "sFu"))


def test_ids_are_kept_as_they_stand_and_in_numeric_order_if_all_are_whole_numbers(tmp_path):
    assert read(tmp_path, "10 9\n9 -2\n007 7\n").ids == ("-2", "007", "7", "9", "10")
    assert read(tmp_path, "10 9\n9 x\n").ids == ("10", "9", "x")
    assert read(tmp_path, "NA nan\nnull 1.0\n").ids == ("NA", "nan", "null", "1.0")
    assert read(tmp_path, "é 日本\n").ids == ("é", "日本")


def test_a_first_row_that_could_be_an_edge_is_one(tmp_path):
    assert pairs(read(tmp_path, "a b\nb c\n")) == {("a", "b"), ("b", "c")}
    assert pairs(read(tmp_path, "source target\nb source\n")) == {("source", "target"), ("b", "source")}
    assert pairs(read(tmp_path, "a 1\n1 2\n")) == {("1", "a"), ("1", "2")}
    assert pairs(read(tmp_path, "#@node source\n#@node target\nsource target\na b\n")) == {
        ("source", "target"),
        ("a", "b"),
    }
    assert read(tmp_path, "from,to,weight\n1,2,0.5\n").network.weights.tolist() == [0.5]


NAMED = [f"n{i},n{i + 1}" for i in range(9)]


@pytest.mark.parametrize("first", ["user,follows", "person,friend", "from_id,to_id", "Person name,Friend name"])
@pytest.mark.parametrize("third", ["", ",friend", ",0.5"])
def test_a_first_row_that_may_be_column_names_is_refused(tmp_path, first, third):
    """Taken for an edge, they were two people and a type that do not exist."""
    rows = "".join(f"{row}{third}\n" for row in NAMED)
    called = ",kind" if third else ""
    refused(
        put(tmp_path / "g.csv", f"{first}{called}\n{rows}"), "first row .* looks like names of columns.*delete it"
    )
    found = read(tmp_path, f"#{first}{called}\n{rows}", "g.csv")
    assert found.ids == tuple(f"n{i}" for i in range(10))
    assert found.type_names == (("friend",) if third == ",friend" else ())


@pytest.mark.parametrize("sign", ["#", "%"])
@pytest.mark.parametrize(("name", "between"), [("g.csv", ","), ("g.txt", " "), ("g.tsv.gz", "\t")])
def test_comments_that_look_like_edges_are_counted(tmp_path, sign, name, between):
    """Ids that start with a sign of comments lost all edges that they stand before, and nobody was told."""
    edges = [f"{sign}a b", f"{sign}a c", f"\t{sign}b c", f"b {sign}a", "c d"]
    others = [f"{sign} a b", f"{sign}source target", f"{sign}a b c d", f"{sign}a", sign, "#@node b", "#@node new"]
    content = "".join(f"{row}\n" for row in [*others, *(edge.replace(" ", between) for edge in edges)])
    found = read(tmp_path, content, name)
    assert pairs(found) == {tuple(sorted(("b", f"{sign}a"))), ("c", "d")}
    assert found.dropped == Dropped(comments=3)
    assert "lines skipped as comments that look like edges: 3 (" in found.dropped.sentence
    quoted = read(tmp_path, f'"{sign}a"{between}b\nb{between}c\n', name)
    assert quoted.ids == (f"{sign}a", "b", "c")
    assert quoted.dropped == Dropped()


def test_a_lone_edge_in_the_first_row_is_read_once_it_is_told_from_column_names(tmp_path):
    for rows in (
        ["n0,n1", "ann,bob", *NAMED[1:]],
        ["#@node ann", "ann,bob", *NAMED],
        ["n7,1", *NAMED],
        ["7,8", *NAMED],
    ):
        found = read(tmp_path, "\n".join(rows), "g.csv")
        assert len(pairs(found)) == sum("#" not in row for row in rows)
    assert pairs(read(tmp_path, "ann bob\ncarl dora\n")) == {("ann", "bob"), ("carl", "dora")}


def test_a_lone_edge_that_stands_first_is_written_so_that_it_is_read(tmp_path):
    ids = ["ann", "bob", *(f"n{i}" for i in range(10))]
    network = Network.from_edges(12, [0, *range(2, 11)], [1, *range(3, 12)])
    write_network(network, tmp_path / "g.csv", ids)
    same(read_network(tmp_path / "g.csv"), network, ids, ())


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("g.csv", "source,target\n"),
        ("g.csv", "Source;Target"),
        ("g.txt", "FromNodeId ToNodeId\n\n# no rows\n"),
        ("g.tsv.gz", "from\tto\tweight\n"),
        ("g.csv", "Id,Source,Label,Target,Type,Weight\n"),
    ],
)
def test_column_names_alone_are_no_edge(tmp_path, name, row):
    """An export of nothing was read as two people who know each other."""
    file = tmp_path / name
    file.write_bytes(gzip.compress(row.encode()) if name.endswith(".gz") else row.encode())
    refused(file, "holds the names of columns .* and no edges")


def test_an_only_row_of_other_words_is_an_edge_and_that_is_said(tmp_path):
    for row in ("ann bob\n", "ann source\n", "ann bob friend\n"):
        found = read(tmp_path, row)
        assert pairs(found) == {tuple(row.split()[:2])}
        assert f"first row read as an edge, of ann and {row.split()[1]}" in found.dropped.sentence
    for row in ("1 2\n", "ann 2\n"):
        assert read(tmp_path, row).dropped.columns == ""


def test_an_only_edge_between_nodes_called_like_columns_is_read_once_that_is_said(tmp_path):
    assert pairs(read(tmp_path, "#@node source\nsource target\n")) == {("source", "target")}
    assert pairs(read(tmp_path, "source target\ntarget source\n")) == {("source", "target")}
    network = Network.from_edges(2, [0], [1])
    write_network(network, tmp_path / "g.csv", ["source", "target"])
    same(read_network(tmp_path / "g.csv"), network, ["source", "target"], ())


def test_declared_nodes_and_types_come_first_in_their_order(tmp_path):
    found = read(tmp_path, "#@node z\n#@node alone\n#@type foe\nb a friend\nz b foe\n")
    assert found.ids == ("z", "alone", "b", "a")
    assert found.type_names == ("foe", "friend")
    assert found.network.degrees.tolist() == [1, 0, 2, 1]


def test_a_third_column_is_a_weight_or_a_type(tmp_path):
    found = read(tmp_path, "b a 0.25\nb c 1e3\n")
    assert named(found) == {(frozenset("ab"), 0.25, None), (frozenset("bc"), 1000.0, None)}
    found = read(tmp_path, "b,a,friend\na,b,foe\nb,c,friend\n", "g.csv")
    assert found.type_names == ("friend", "foe")
    assert named(found) == {
        (frozenset("ab"), None, "friend"),
        (frozenset("ab"), None, "foe"),
        (frozenset("bc"), None, "friend"),
    }


def test_loops_and_repeated_rows_are_dropped_and_counted(tmp_path):
    found = read(tmp_path, "1 1\n1 2\n2 1\n1 2\n1 2\n3 2\n2 3\n4 4\n")
    assert found.ids == ("1", "2", "3", "4")  # who is only in a loop is a node all the same
    assert found.network.edges.tolist() == [[0, 1], [1, 2]]
    assert found.dropped == Dropped(loops=2, parallel=2, both_ways=2)
    assert found.dropped.sentence == (
        "self-loops dropped: 2; repeated edges dropped: 2; edges told in both directions: 2"
    )
    assert Dropped().sentence == ""


def test_the_first_row_of_an_edge_gives_its_weight(tmp_path):
    found = read(tmp_path, "2 1 5\n1 2 7\n1 3 1\n3 1 1\n2 1 5\n")
    assert found.network.weights.tolist() == [5, 1]
    assert found.dropped == Dropped(parallel=1, both_ways=2, uneven=1)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30))
@settings(max_examples=80)
def test_rows_are_counted_as_by_hand(tmp_path_factory, rows):
    path = put(tmp_path_factory.getbasetemp() / "rows.txt", "".join(f"{u} {v}\n" for u, v in rows))
    proper = [(u, v) for u, v in rows if u != v]
    if not proper:
        refused(path, "no edges but self-loops")
        return
    edges = {tuple(sorted(row)) for row in proper}
    both = sum((u, v) in proper and (v, u) in proper for u, v in edges)
    found = read_network(path)
    assert {tuple(map(int, pair)) for pair in pairs(found)} == {tuple(sorted(e, key=str)) for e in edges}
    expected = Dropped(
        len(rows) - len(proper), len(proper) - len(set(proper)), both, len(edges) - both if both else 0
    )
    assert found.dropped == expected


BAD_TEXT = {
    "nothing": ("", "no edges"),
    "only comments": ("# 1 2\n\n  \n", "no edges"),
    "only loops": ("1 1\n2 2\n", "no edges but self-loops"),
    "one column": ("1\n2\n", "line 1: 1 columns"),
    "four columns": ("1 2 3 4\n", "column 3 and column 4 both look like weights of edges: name the columns"),
    "five columns": ("1 2 3 x 1082040961\n", "line 1: 5 columns: .* need names in the first row"),
    "a named weight that is none": ("source target weight\n1 2 x\n", "column 'weight' holds 'x': expected numbers"),
    "a short row": ("# c\n1 2\n\n3\n", "line 4: 1 columns"),
    "a longer row": ("1 2\n1 3\n3 4 x\n", "line 3: 3 columns: expected 2"),
    "a much longer row": ("1 2\n1 3\n3 4 x y z\n", "line 3: 5 columns"),
    "a row without its weight": ("1 2 0.5\n1 3\n", "line 2: 2 columns: expected 3"),
    "an empty cell": ("1,2\n,3\n", "line 2: entry '' is empty"),
    "an empty weight": ("1,2,5\n2,3,\n", "line 2: entry '' is empty"),
    "a hard blank": ("a b\nc\u00a0d e\n", "line 2: entry .* with blanks"),
    "a control character": ("a b\nc\x07 e\n", "line 2: entry .* with control characters"),
    "a long id": ("a b\n" + "c" * 300 + " d\n", "line 2: entry .* longer than 256"),
    "a first row without an end": ("c" * 200_000 + " d\n", "line 1: entry .* longer than 256"),
    "an open quotation mark": ('a b\n"c d\ne f\n', "line 2: an unclosed quotation mark"),
    "a word as weight": ("1 2 0.5\n1 3 0.7\n2 3 0.7x\n", "line 3: third column '0.7x': expected a number.* line 1"),
    "a number as type": ("1 2 a\n1 3 5\n2 3 b\n", "line 2: third column '5': expected the name of a type.* line 1"),
    "NaN as weight": ("1 2 0.5\n1 3 nan\n", "line 2: weight 'nan': expected a finite number"),
    "infinite weight": ("1 2 1e999\n", "line 1: weight '1e999'"),
    "a node declared twice": ("#@node a\n#@node a\na b\n", "node 'a' is there twice"),
    "bytes": (b"1 2\n\x00\x01\x02", "line 2: not text"),
    "Latin-1": ("1 2\nM\u00fcller 3\n".encode("latin-1"), "line 2: not text in UTF-8"),
    "UTF-16": ("1 2\n".encode("utf-16"), "line 1: not text"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
@pytest.mark.parametrize("name", ["g.txt", "g.csv.gz"])
def test_unusable_text_is_refused_with_its_line(tmp_path, case, name):
    content, message = BAD_TEXT[case]
    refused(put(tmp_path / name, content), message)


@given(st.binary(max_size=60) | st.text('ab12 ,\t\n"#%.;-', max_size=60).map(str.encode))
@settings(max_examples=300)
def test_any_content_gives_a_network_or_an_input_error(tmp_path_factory, content):
    for name in ("any.txt", "any.csv"):
        path = put(tmp_path_factory.getbasetemp() / name, content)
        said = str(path)
        try:
            found = read_network(path)
            made = found.network.size >= 1 and len(found.ids) == found.network.nodes
        except InputError as error:
            said = str(error)
            made = True
        assert made
        assert str(path) in said
        assert "\n" not in said


def test_gzip_that_is_none_or_truncated_is_refused(tmp_path):
    (tmp_path / "g.txt.gz").write_text("1 2\n")
    refused(tmp_path / "g.txt.gz", "not a gzip file")
    whole = gzip.compress(b"".join(b"%d %d\n" % (i, i + 1) for i in range(300)))
    for kept in range(0, len(whole) - 1, 41):
        (tmp_path / "g.txt.gz").write_bytes(whole[:kept])
        refused(tmp_path / "g.txt.gz", "truncated or not a gzip|no edges")


def test_text_over_the_limit_is_refused_before_it_is_unpacked_in_full(tmp_path, monkeypatch):
    monkeypatch.setenv("GAUDIT_MEMORY", "0.0002")
    path = put(tmp_path / "g.txt.gz", b"1 2\n" * 5_000_000)
    tracemalloc.start()
    refused(path, "too large: .* set GAUDIT_MEMORY=1")
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()
    assert read(tmp_path, b"1 2\n" * 250).dropped.parallel == 249


def test_too_many_nodes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(network_rows, "MOST_NODES", 3)
    refused(put(tmp_path / "g.txt", "1 2\n3 4\n"), "at most 3 nodes")


def test_other_kinds_missing_files_and_folders_are_refused(tmp_path):
    refused(tmp_path / "g.docx", "unknown kind")
    refused(tmp_path / "g.gz", "unknown kind")
    refused(tmp_path / "none.txt", "no such file|this is a folder")
    (tmp_path / "folder.csv").mkdir()
    refused(tmp_path / "folder.csv", "no such file|this is a folder")


# ---- archives


def saved(path, **arrays):
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


ENDS = np.array([[0, 1, 2], [1, 2, 3]])
BOTH = np.concatenate([ENDS, ENDS[::-1]], axis=1)


def test_an_archive_once_or_in_both_directions_is_one_network(tmp_path):
    for name, ends, both in (("edge_index", ENDS, 0), ("edge_index", BOTH, 3), ("edges", BOTH.astype(np.uint8), 3)):
        found = read_network(saved(tmp_path / "g.npz", **{name: ends}))
        assert found.network.edges.tolist() == ENDS.tolist()
        assert found.ids == ("0", "1", "2", "3")
        assert found.dropped == Dropped(both_ways=both)


def test_an_archive_says_how_many_nodes_there_are(tmp_path):
    assert read_network(saved(tmp_path / "g.npz", edges=ENDS, nodes=6)).network.nodes == 6
    assert read_network(saved(tmp_path / "g.npz", edges=ENDS, y=np.zeros(5, int))).network.nodes == 5
    assert read_network(saved(tmp_path / "g.npz", edges=ENDS, ids=np.array(list("abcde")))).ids == tuple("abcde")


def test_an_archive_of_a_written_graph_is_a_network_and_the_other_way_round(tmp_path):
    x = np.eye(12, dtype=np.float32)
    ring = Network.from_edges(12, np.arange(12), (np.arange(12) + 1) % 12)
    write_network(ring, tmp_path / "g.npz", x=x, y=np.arange(12) % 2)
    graph = read_graph(tmp_path / "g.npz")
    assert graph.edge_index.shape == (2, 24)
    graphfile.write_graph(graph, tmp_path / "h.npz")
    found = read_network(tmp_path / "h.npz")
    assert (found.network.edges == ring.edges).all()
    assert (found.x == x).all()
    assert found.y.tolist() == [0, 1] * 6


def test_mixed_directions_are_directed_and_refused_or_merged(tmp_path):
    mixed = np.concatenate([ENDS, ENDS[::-1, :1]], axis=1)
    path = saved(tmp_path / "g.npz", edge_index=mixed, ids=np.array(list("abcd")))
    refused(path, "directed: 2 of 3 edges lack their reverse, for example b -> c.*directed=merge")
    found = read_network(path, directed="merge")
    assert found.network.edges.tolist() == ENDS.tolist()
    assert found.dropped == Dropped(both_ways=1, merged=2)
    assert "directed edges made undirected: 2" in found.dropped.sentence


WEIGHTS = np.ones(3)
BAD_NPZ = {
    "no edges array": ({"nodes": 3}, "'edge_index' or 'edges'.* found 0"),
    "both edges arrays": ({"edges": ENDS, "edge_index": ENDS}, "found 2"),
    "edges of no kind": ({"edges": ENDS.astype(float)}, "'edges' has type float64: expected whole numbers"),
    "an object array": ({"edges": ENDS, "ids": np.array(["a", 1, 2, 3], dtype=object)}, "'ids' has type object"),
    "a pair a row": ({"edges": ENDS.T}, r"'edges' has shape \(3, 2\): expected \[2, e\]"),
    "no edges": ({"edges": ENDS[:, :0], "nodes": 3}, "no edges"),
    "an edge to nowhere": ({"edges": ENDS, "nodes": 3}, "an edge to node 3: expected positions 0..2"),
    "a negative node": ({"edges": ENDS - 1}, "an edge to node -1"),
    "numbers beyond int64": ({"edges": np.full((2, 1), 2**64 - 1, dtype=np.uint64)}, "beyond 64-bit"),
    "several numbers of nodes": ({"edges": ENDS, "nodes": np.array([1, 2])}, "expected a single number"),
    "too many nodes": ({"edges": ENDS, "nodes": 10**9}, "1000000000 nodes: at most"),
    "too few ids": ({"edges": ENDS, "ids": np.array(list("abcd")), "nodes": 5}, "'ids' has 4 entries: expected 5"),
    "ids that are there twice": ({"edges": ENDS, "ids": np.array(list("abca"))}, "id 'a' is there twice"),
    "ids with blanks": ({"edges": ENDS, "ids": np.array(["a", "b", "c", "d\te"])}, "id .* is with blanks"),
    "too few weights": ({"edges": ENDS, "weights": WEIGHTS[:2]}, "'weights' has 2 entries: expected 3"),
    "NaN weights": ({"edges": ENDS, "weights": WEIGHTS * np.nan}, "'weights' holds NaN"),
    "words as weights": (
        {"edges": ENDS, "weights": np.array(list("abc"))},
        "'weights' has type <U1: expected numbers",
    ),
    "a negative type": ({"edges": ENDS, "types": np.array([0, -1, 0])}, "'types' holds negative"),
    "a huge type": ({"edges": ENDS, "types": np.array([0, 10**9, 0])}, "'types' goes up to 1000000000"),
    "a type without a name": (
        {"edges": ENDS, "types": np.array([0, 1, 0]), "type_names": np.array(["a"])},
        "'types' goes up to 1: expected types below 1",
    ),
    "features of other nodes": ({"edges": ENDS, "nodes": 4, "x": np.ones((3, 2))}, "'x' has 3 entries: expected 4"),
    "infinite features": ({"edges": ENDS, "x": np.full((4, 1), np.inf)}, "'x' holds NaN or infinite"),
    "classes with fractions": ({"edges": ENDS, "y": np.full(4, 0.5)}, "'y' has type float64"),
    "counts of three columns": ({"edges": ENDS, "counts": np.ones((2, 3), int)}, r"expected \[any, 4\]"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_unusable_archives_are_refused_in_one_line(tmp_path, case):
    arrays, message = BAD_NPZ[case]
    refused(saved(tmp_path / "g.npz", **arrays), message)


def test_pickles_are_never_opened(tmp_path):
    bomb = pickle.dumps(Bomb())
    (tmp_path / "g.npz").write_bytes(bomb)
    refused(tmp_path / "g.npz", "not an npz")
    refused(saved(tmp_path / "h.npz", edges=np.array([Bomb()] * 4, dtype=object)), "type object")
    with zipfile.ZipFile(tmp_path / "i.npz", "w") as archive:
        archive.writestr("edges.npy", bomb)
    refused(tmp_path / "i.npz", "not an npz")


def test_an_array_that_claims_to_be_huge_is_refused_before_it_is_read(tmp_path):
    claims = {"edges": ("<i8", (2, 10**12)), "ids": ("<U100000", (10**6,)), "x": ("<f4", (5_000_000, 10_000))}
    for name, (kind, shape) in claims.items():
        saved(tmp_path / "g.npz", edges=None if name == "edges" else ENDS)
        header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        with zipfile.ZipFile(tmp_path / "g.npz", "a") as archive:
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        refused(tmp_path / "g.npz", f"'{name}'.*too large")


def test_any_truncated_or_damaged_archive_gives_a_network_or_an_input_error(tmp_path):
    path = tmp_path / "g.npz"
    np.savez_compressed(path, edges=ENDS, ids=np.array(list("abcd")))
    whole = path.read_bytes()
    for kept in range(0, len(whole), 23):
        path.write_bytes(whole[:kept])
        refused(path, "truncated or not an npz")
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            read_network(path)


def test_limits_of_archives_are_those_of_graphs():
    assert network_npz.ARRAYS["edge_index"][2] == 2 * graphfile.MOST_EDGES
    assert network_npz.ARRAYS["ids"][2] == graphfile.MOST_NODES


# ---- GraphML


def graphml(path, graph):
    nx.write_graphml(graph, path)
    return path


def test_graphml_with_weights_types_features_and_labels(tmp_path):
    graph = nx.MultiGraph()
    graph.add_nodes_from([("z", {"label": "b", "x": "1 2"}), ("a", {"label": "a", "x": "0.5 3"})])
    graph.add_edge("z", "a", weight=2.5, type="friend")
    graph.add_edge("z", "a", weight=1, type="foe")
    graph.add_edge("z", "a", weight=9, type="foe")
    found = read_network(graphml(tmp_path / "g.graphml", graph))
    assert found.ids == ("z", "a")
    assert named(found) == {(frozenset("az"), 2.5, "friend"), (frozenset("az"), 1, "foe")}
    assert found.dropped == Dropped(parallel=1, uneven=1)
    assert found.x.tolist() == [[1, 2], [0.5, 3]]
    assert found.y.tolist() == [1, 0]


def test_graphml_without_features_is_a_network(tmp_path):
    found = read_network(graphml(tmp_path / "g.graphml", nx.karate_club_graph()))
    assert (found.network.nodes, found.network.size) == (34, 78)
    assert found.network.weights.sum() == 231
    assert (found.x, found.y, found.type_names) == (None, None, ())


def test_features_and_classes_that_some_nodes_lack_are_refused(tmp_path):
    """Where the first node lacked them, or its features did not start at x0, the others' were left out unsaid."""
    for told, message in (
        ({"a": {"x0": 1.0}, "b": {"x0": 1.0, "x1": 2.0}}, "node 'b' has a feature 'x1', and the first node has 1"),
        ({"a": {"x1": 1.0}, "b": {"x1": 1.0}}, "node 'a' lacks a feature 'x0'"),
        ({"b": {"x0": 1.0}}, "node 'b' has a feature 'x0', and the first node has 0"),
        ({"b": {"x": "1 2"}}, "node 'b'.* has 2 features, the first node has 0"),
        ({"b": {"label": "left"}}, "node 'a' has no attribute 'label'"),
    ):
        graph = nx.Graph([("a", "b")])
        nx.set_node_attributes(graph, told)
        refused(graphml(tmp_path / "g.graphml", graph), message)


def test_directed_graphml_is_refused_or_merged_unless_both_directions_are_there(tmp_path):
    graph = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    path = graphml(tmp_path / "g.graphml", graph)
    refused(path, "directed: 1 of 2 edges lack their reverse, for example b -> c")
    found = read_network(path, directed="merge")
    assert pairs(found) == {("a", "b"), ("b", "c")}
    assert found.dropped == Dropped(both_ways=1, merged=1)
    graph.add_edge("c", "b")
    assert read_network(graphml(path, graph)).dropped == Dropped(both_ways=2)
    refused(graphml(path, nx.DiGraph([("a", "b")])), "directed: 1 of 1")


ENTITIES = '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'


def test_unusable_graphml_is_refused(tmp_path):
    path = tmp_path / "g.graphml"
    graph = nx.Graph([("a", "b"), ("b", "c")])
    graph.edges["a", "b"]["weight"] = 1
    refused(graphml(path, graph), r"edge \('b', 'c'\) has no attribute 'weight'")
    graph.edges["b", "c"]["weight"] = float("nan")
    refused(graphml(path, graph), "no finite number")
    refused(graphml(path, nx.Graph([("a b ", "c")])), "node 'a b ' is with blanks at its ends")
    refused(graphml(path, nx.empty_graph(3)), "no edges")
    refused(graphml(path, nx.Graph()), "no nodes")
    refused(put(path, f"<?xml version='1.0'?>{ENTITIES}<graphml/>"), "DOCTYPE")
    refused(put(path, "<graphml"), "broken XML")
    refused(put(path, "<html/>"), "GraphML")


# ---- real lists


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "dropped"),
    [
        ("email-Enron", 36_692, 183_831, Dropped(both_ways=183_831)),
        ("soc-Epinions1-undirected-lcc", 75_877, 405_739, Dropped()),
        ("ca-GrQc", 5_242, 14_484, Dropped(loops=12, both_ways=14_484)),
        ("wiki-Vote", 7_115, 100_762, Dropped(both_ways=2_927, merged=97_835)),
    ],
)
def test_lists_of_snap_are_read_with_their_published_sizes(gaudit_data, name, nodes, edges, dropped):
    found = read_network(gaudit_data / f"snap/{name}.txt.gz")
    assert (found.network.nodes, found.network.size, found.dropped) == (nodes, edges, dropped)
    assert list(map(int, found.ids)) == sorted(map(int, found.ids))


def test_times_of_messages_are_no_weights(gaudit_data):
    found = read_network(gaudit_data / "snap/CollegeMsg.txt.gz")
    assert (found.network.nodes, found.network.size) == (1_899, 13_838)
    assert found.network.weights is None
    assert "read as times of edges, which windows alone use (2004-04-15 to 2004-10-26)" in found.dropped.sentence
    assert found.dropped.both_ways + found.dropped.parallel + found.network.size == 59_835
    assert len(found.network.events) == 59_835


def test_a_real_list_is_written_and_read_again(gaudit_data, tmp_path):
    found = read_network(gaudit_data / "snap/ca-HepTh.txt.gz")
    for ending in (".csv.gz", ".npz"):
        write_network(found.network, tmp_path / f"g{ending}", found.ids)
        same(read_network(tmp_path / f"g{ending}"), found.network, found.ids, ())

"""`gaudit anonymize`: a defense as a tool, and the refusals of what cannot be read or kept."""

import gzip

import igraph
import networkx as nx
import numpy as np
import pytest

from gaudit.graphs.files.network_file import read_network


@pytest.fixture(name="karate")
def karate_file(tmp_path):
    path = tmp_path / "karate.txt"
    edges = igraph.Graph.Famous("Zachary").get_edgelist()
    path.write_text("# members of a club\n" + "".join(f"member-{a} member-{b}\n" for a, b in edges))
    return path


def degrees_of(path) -> list[int]:
    return sorted(read_network(path).network.degrees.tolist())


def test_the_result_is_anonymous_and_keeps_the_ids(gaudit, karate, tmp_path):
    out = tmp_path / "out.csv"
    result = gaudit("anonymize", karate, "--defense", "k-degree", "--k", 5, "-o", out)
    assert result.exit_code == 0, result.output
    counts = np.unique(degrees_of(out), return_counts=True)[1]
    assert counts.min() >= 5
    assert sorted(read_network(out).ids) == sorted(read_network(karate).ids)
    assert "Verified on the output" in result.output
    assert "78 kept" in result.output or "100.0 % of 78 kept" in result.output
    assert "publish with --rename" in result.stderr


def test_settings_can_be_written_with_the_name(gaudit, karate, tmp_path):
    one, other = tmp_path / "one.txt", tmp_path / "other.txt"
    seeded = ("--no-utility", "--seed", 3, "-o")
    assert gaudit("anonymize", karate, "--defense", "k-degree:k=5", *seeded, one).exit_code == 0
    assert gaudit("anonymize", karate, "--defense", "k-degree", "--k", 5, *seeded, other).exit_code == 0
    assert one.read_text() == other.read_text()


def test_without_a_seed_randomness_is_fresh(gaudit, karate, tmp_path):
    """Two of some 10^50 ways to rewire: they agree never. With a seed a warning says that it can be undone."""
    files = [tmp_path / f"{i}.txt" for i in range(2)]
    results = [gaudit("anonymize", karate, "--defense", "random-switch", "--no-utility", "-o", f) for f in files]
    assert files[0].read_text() != files[1].read_text()
    assert "publish without --seed" not in results[0].stderr
    seeded = gaudit("anonymize", karate, "--defense", "random-switch", "--seed", 0, "--no-utility", "-o", files[0])
    assert "publish without --seed" in seeded.stderr


def test_a_promise_is_printed(gaudit, karate, tmp_path):
    result = gaudit("anonymize", karate, "--defense", "dp-1k", "--no-utility", "-o", tmp_path / "out.txt")
    assert result.exit_code == 0, result.output
    assert "differ in one edge" in result.output
    assert "No guarantee" not in result.output


def test_nodes_that_only_edges_name_are_told_of_beside_a_promise(gaudit, karate, tmp_path):
    """With an edge less some would not be in the file: a promise that takes nodes as public is not about that."""
    told = "nodes that only edges name: 34."
    for defense, says in (("dp-1k", True), ("random-switch", False)):
        result = gaudit("anonymize", karate, "--defense", defense, "--no-utility", "-o", tmp_path / "out.txt")
        assert (told in result.output) is says
    listed = "".join(f"#@node member-{k}\n" for k in range(33))
    karate.write_text(listed + karate.read_text())
    result = gaudit("anonymize", karate, "--defense", "dp-1k", "--no-utility", "-o", tmp_path / "out.txt")
    assert "only edges name: 1." in result.output
    karate.write_text("#@node member-33\n" + karate.read_text())
    result = gaudit("anonymize", karate, "--defense", "dp-1k", "--no-utility", "-o", tmp_path / "out.txt")
    assert "only edges name" not in result.output


def test_types_are_told_by_number_and_column_names_are_none_of_them(gaudit, tmp_path):
    """A type of column names was number 0: the sensitive one, which only they had."""
    path, out = tmp_path / "typed.csv", tmp_path / "out.csv"
    rows = "".join(f"n{i},n{i + 1},{('likes', 'follows')[i % 2]}\n" for i in range(9))
    path.write_text(f"user,other,kind\n{rows}")
    result = gaudit("anonymize", path, "--defense", "intact-edges", "--no-utility", "-o", out)
    assert result.exit_code == 2
    assert "('user', 'other') looks like names of columns" in result.stderr
    assert not out.exists()
    path.write_text(rows)
    result = gaudit("anonymize", path, "--defense", "intact-edges", "--no-utility", "-o", out)
    assert "types of edges: 0 is likes, 1 is follows\n" in result.output
    assert read_network(out).network.size == 4
    path.write_text("".join(f"a{i} b type-{i}\n" for i in range(30)))
    result = gaudit("anonymize", path, "--defense", "intact-edges", "--no-utility", "-o", out)
    assert ", 19 is type-19, and 10 more\n" in result.output


def test_what_a_file_tells_of_nodes_is_not_written_and_said(gaudit, tmp_path):
    """Features and labels went without a word: who needs them must know, and who publishes them by hand as well."""
    path, out = tmp_path / "people.graphml", tmp_path / "out.graphml"
    graph = nx.gnm_random_graph(20, 40, seed=1)
    for told, message in (
        ({}, None),
        ({"label": 1}, "not written: classes of nodes, which"),
        (
            {"label": 1, "x0": 0.5, "age": 3, "town": "here"},
            "not written: features, classes, 'age', 'town' of nodes, ",
        ),
    ):
        nx.set_node_attributes(graph, dict.fromkeys(graph, told))
        nx.write_graphml(graph, path)
        result = gaudit("anonymize", path, "--defense", "random-switch", "--no-utility", "-o", out)
        assert result.exit_code == 0, result.output
        assert message in result.output if message else "not written" not in result.output
        assert all(not attributes for _, attributes in nx.read_graphml(out).nodes(data=True))


def test_names_can_be_dropped(gaudit, karate, tmp_path):
    out = tmp_path / "out.txt"
    result = gaudit("anonymize", karate, "--defense", "random-switch", "--rename", "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    assert "member" not in out.read_text()
    assert "publish with --rename" not in result.stderr
    assert degrees_of(out) == degrees_of(karate)


@pytest.mark.parametrize("ending", ["edges", "txt.gz", "npz", "graphml"])
def test_the_ending_chooses_the_format(gaudit, karate, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    result = gaudit("anonymize", karate, "--defense", "random-switch", "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    assert degrees_of(out) == degrees_of(karate)
    if ending == "graphml":
        assert nx.read_graphml(out).number_of_edges() == 78
    if ending == "txt.gz":
        assert len(gzip.decompress(out.read_bytes()).splitlines()) >= 78


BAD = {
    "k larger than n": ("a b\nb c\n", ["--defense", "k-degree", "--k", "10"], "10"),
    "no defense of a graph": ("a b\nb c\n", ["--defense", "ldp"], "does not change a graph: these do"),
    "unknown defense": ("a b\nb c\n", ["--defense", "k-degre"], "did you mean 'k-degree'"),
    "empty": ("", ["--defense", "k-degree"], "no edges"),
    "ragged": ("a b\nb\n", ["--defense", "k-degree"], "line 2"),
    "a setting twice": (
        "a b\nb c\n",
        ["--defense", "k-degree:k=2", "--k", "3"],
        "the setting 'k' is given twice, as 2 and as 3",
    ),
    "settings cut off": ("a b\nb c\n", ["--defense", "k-degree:"], "k-degree:k=10"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_nothing_is_written(gaudit, tmp_path, case):
    content, options, says = BAD[case]
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text(content)
    result = gaudit("anonymize", path, *options, "-o", out)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1
    assert says in lines[0]
    assert [p.name for p in tmp_path.iterdir()] == ["in.txt"]


def test_what_is_dropped_is_counted_and_said(gaudit, tmp_path):
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_text("a b\nb a\na b\nc c\nb c\nc d\nd a\n")
    result = gaudit("anonymize", path, "--defense", "random-switch", "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    assert "self-loops dropped: 1" in result.output
    assert "repeated edges dropped: 1" in result.output

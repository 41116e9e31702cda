"""Windows of time on the command line: written by anonymize, audited by published."""

import csv
from collections import Counter

import numpy as np
import pytest

from gaudit.graphs.files.network_file import read_network, write_network
from gaudit.graphs.network import Network
from gaudit.graphs.snapshots import degree_vectors, window_names, windowed
from support.messages_over_time import messages

NETWORK = messages(40, 300, 0)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "before.csv"
    write_network(NETWORK, path, [f"p{node}" for node in range(40)])
    return path


def by_type(path, windows: int) -> Network:
    """A written network with its types of edges in the order of windows."""
    read = read_network(path)
    number = np.array([window_names(windows).index(name) for name in read.type_names])
    return Network.from_edges(read.network.nodes, *read.network.edges, types=number[read.network.types])


@pytest.mark.parametrize("by", ["time", "count"])
def test_what_is_written_are_windows_and_they_are_anonymous(gaudit, tmp_path, source, by):
    out = tmp_path / "out.csv"
    told = ("--windows", 12, "--windows-by", by)
    result = gaudit("anonymize", source, *told, "--defense", "k-degree-temporal:k=4", "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    with out.open() as stream:
        rows = list(csv.reader(line for line in stream if not line.startswith("#")))
    assert all(len(row) == 3 and row[2] in window_names(12) for row in rows)
    found = by_type(out, 12)
    assert min(Counter(map(tuple, degree_vectors(found, 12).tolist())).values()) >= 4
    assert found.plain().size > 0.5 * NETWORK.size
    assert "every vector of degrees over the windows occurs at least 4 times" in result.output


def test_types_make_way_for_windows_and_that_is_said(gaudit, tmp_path):
    source, out = tmp_path / "typed.csv", tmp_path / "out.csv"
    coins = np.random.default_rng(0)
    rows = [f"a{i},b{j},{('wire', 'card')[i % 2]},{t}" for i, j, t in coins.integers(0, 9, (200, 3)).tolist()]
    source.write_text("\n".join(["from,to,kind,when", *rows]) + "\n")
    told = ("--windows", 3, "--defense", "k-degree-temporal:k=3", "--no-utility", "-o", out)
    result = gaudit("anonymize", source, *told)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "Will be published: edges, which of 3 windows of time each edge is in." in said
    assert "Will be left out: types of edges, times of edges" in said
    assert "wire" not in out.read_text()
    assert min(Counter(map(tuple, degree_vectors(by_type(out, 3), 3).tolist())).values()) >= 3


@pytest.mark.parametrize(("defense", "hinted"), [("k-degree-temporal", True), ("k-degree", False)])
def test_a_defense_of_windows_without_windows_says_how_to_ask_for_them(gaudit, tmp_path, source, defense, hinted):
    out = tmp_path / "out.csv"
    result = gaudit("anonymize", source, "--defense", f"{defense}:k=2", "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    assert ("--windows 8 publishes eight windows" in result.output) == hinted
    windows = gaudit("anonymize", source, "--windows", 3, "--defense", f"{defense}:k=2", "--no-utility", "-o", out)
    assert "--windows 8" not in windows.output


def test_published_reads_windows_again_and_finds_who_is_alone(gaudit, tmp_path, source):
    out, same = tmp_path / "out.txt", tmp_path / "same.csv"
    told = ("--windows", 12, "--rename", "--write-map", same, "-o", out)
    made = gaudit("anonymize", source, *told, "--defense", "random-edit:share=0", "--no-utility")
    assert made.exit_code == 0, made.output
    rows = Counter(map(tuple, degree_vectors(windowed(NETWORK, 12)).tolist()))
    audited = ("--original", source, "--same", same, "--windows", 12, "--attack", "temporal-refinement")
    result = gaudit("published", out, *audited)
    assert result.exit_code == 0, result.output
    assert f"{100 * len(rows) / 40:.1f} %" in result.output  # who is one of s alike is named with 1 / s
    usual = gaudit("published", out, *audited[:-2])
    assert usual.exit_code == 0, usual.output
    assert "temporal-refinement" in usual.output


def test_small_numbers_in_a_third_column_are_times_where_windows_are_asked_for(gaudit, tmp_path):
    source, out = tmp_path / "g.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{a} {b} {t}\n" for a, b, t in [(1, 2, 0), (2, 3, 5), (1, 3, 9), (1, 2, 9)]))
    result = gaudit(
        "anonymize", source, "--windows", 2, "--defense", "k-degree-temporal:k=1", "--no-utility", "-o", out
    )
    assert result.exit_code == 0, result.output
    found = by_type(out, 2)
    assert sorted(zip(*found.edges.tolist(), found.types.tolist(), strict=True)) == [
        (0, 1, 0), (0, 1, 1), (0, 2, 1), (1, 2, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--windows-by", "count"), "--windows-by says how windows of time are cut: say how many with --windows"),
        (("--windows", 3, "--keep", "weights"), "--keep weights: weights of edges do not go with --windows"),
        (("--windows", 3, "--weights", "rounded:10"), "--weights rounded:10: weights of edges do not go"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(gaudit, tmp_path, source, options, message):
    result = gaudit("anonymize", source, *options, "--defense", "k-degree", "-o", tmp_path / "out.txt")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "out.txt").exists()


def test_a_file_without_times_says_how_to_name_them(gaudit, tmp_path):
    source = tmp_path / "g.txt"
    source.write_text("a b\nb c\n")
    result = gaudit("anonymize", source, "--windows", 2, "--defense", "k-degree", "-o", tmp_path / "out.txt")
    assert result.exit_code == 2
    assert "name a column 'time' in the file's first row" in result.output


def test_weights_and_times_are_said_to_be_left_out_of_windows(gaudit, tmp_path):
    source, out = tmp_path / "g.csv", tmp_path / "out.txt"
    source.write_text("source,target,weight,time\na,b,4,1\nb,c,5,7\na,b,4,8\n")
    result = gaudit("anonymize", source, "--windows", 2, "--defense", "random-edit:share=0", "-o", out)
    assert result.exit_code == 0, result.output
    assert "Read: 3 nodes and 2 edges." in result.output
    assert "Will be published: edges, which of 2 windows of time each edge is in." in result.output
    assert "Will be left out: weights of edges, times of edges." in result.output
    assert "The windows of edges are published." in result.output


def test_private_windows_are_written_and_told_with_their_promise(gaudit, tmp_path, source):
    out = tmp_path / "out.csv"
    told = ("--windows", 4, "--defense", "private-windows:epsilon=8", "--no-utility", "-o", out)
    made = gaudit("anonymize", source, *told)
    assert made.exit_code == 0, made.output
    assert "which of 4 windows of time each edge is in" in " ".join(made.output.split())
    assert "edge-history-level" in made.output
    assert set(np.unique(by_type(out, 4).types).tolist()) <= set(range(4))


def test_windows_that_follow_from_messages_are_refused_to_a_promise_about_messages(gaudit, tmp_path, source):
    out = tmp_path / "out.csv"
    told = ("--windows", 4, "--windows-by", "count", "--defense", "private-windows", "-o", out)
    refused = gaudit("anonymize", source, *told)
    assert refused.exit_code == 2
    assert "cut windows of equal length" in " ".join(refused.output.split())
    assert not out.exists()

"""`gaudit anonymize` on directed files: directions are dropped unless they are kept, and pairs are made alike."""

import csv
from collections import Counter

import networkx as nx
import numpy as np
import pytest

from gaudit.graphs.files.network_file import read_network
from support.directed_networks import arcs_in, pairs_by_sets


@pytest.fixture
def source(tmp_path):
    graph = nx.gnp_random_graph(60, 0.06, seed=1, directed=True)
    nx.write_edgelist(graph, tmp_path / "g.txt", data=False)
    return tmp_path / "g.txt"


def anonymised(gaudit, source, *options):
    out = source.with_name("out.txt")
    return gaudit("anonymize", source, "--no-utility", "-o", out, *options), out


def test_pairs_are_made_alike_and_written_with_directions(gaudit, source):
    result, out = anonymised(gaudit, source, "--defense", "k-degree-directed", "--k", "4")
    assert result.exit_code == 0, result.output
    assert "every pair of in- and out-degree occurs at least 4 times" in result.output
    graph = nx.read_edgelist(out, create_using=nx.DiGraph)
    times = Counter((graph.in_degree(v), graph.out_degree(v)) for v in graph)
    times[0, 0] += len(read_network(out).ids) - len(graph)
    assert min(n for n in times.values() if n) >= 4
    assert set(nx.read_edgelist(source, create_using=nx.DiGraph).edges) <= set(graph.edges)


def test_directions_are_kept_on_request_and_the_guarantee_says_that_it_leaves_them_aside(gaudit, source):
    result, out = anonymised(gaudit, source, "--defense", "k-degree", "--k", "4", "--keep", "directions")
    assert result.exit_code == 0, result.output
    assert "directions of edges are published too" in " ".join(result.output.split())
    before, after = (read_network(file, directed="keep").network for file in (source, out))
    assert arcs_in(before) <= arcs_in(after)
    assert min(Counter(pairs_by_sets(after)).values()) == 1
    result, out = anonymised(gaudit, source, "--defense", "k-degree", "--k", "4")
    assert read_network(out, directed="told").network.directions is None


def test_who_is_alone_by_links_in_and_out_is_listed(gaudit, source):
    risk = source.with_name("risk.csv")
    result, _ = anonymised(gaudit, source, "--defense", "k-degree-directed", "--k", "4", "--at-risk", risk)
    assert result.exit_code == 0, result.output
    before = read_network(source, directed="keep")
    pairs = pairs_by_sets(before.network)
    alone = {before.ids[v] for v, pair in enumerate(pairs) if Counter(pairs)[pair] == 1}
    rows = list(csv.DictReader(risk.open()))
    assert {row["id"] for row in rows if row["directions_before"] == "1"} == alone
    assert not any(row["directions_after"] == "1" for row in rows)


def test_new_names_keep_every_way(gaudit, source):
    table = source.with_name("who.csv")
    options = ("--defense", "k-degree-directed", "--k", "1", "--rename", "--write-map", table)
    result, out = anonymised(gaudit, source, *options)
    assert result.exit_code == 0, result.output
    new = {row["original"]: row["published"] for row in csv.DictReader(table.open())}
    before, after = (read_network(file, directed="keep") for file in (source, out))
    named = [{(r.ids[a], r.ids[b]) for a, b in arcs_in(r.network)} for r in (before, after)]
    assert {(new[a], new[b]) for a, b in named[0]} == named[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--defense", "k-degree-directed", "--merge-directions"), "directions cannot be merged and published"),
        (("--defense", "k-degree", "--keep", "directions", "--merge-directions"), "directions cannot be merged"),
    ],
)
def test_merging_and_keeping_is_refused(gaudit, source, options, message):
    result, out = anonymised(gaudit, source, *options)
    assert result.exit_code == 2
    assert message in result.output
    assert not out.exists()


def test_a_file_that_tells_no_directions_is_refused_in_one_line(gaudit, tmp_path):
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0, 1, 2], [1, 2, 3]]), directed=np.array(0))
    result, _ = anonymised(gaudit, tmp_path / "g.npz", "--defense", "k-degree", "--keep", "directions")
    assert result.exit_code == 2
    assert "tells no directions of edges" in result.output
    result, _ = anonymised(gaudit, tmp_path / "g.npz", "--defense", "k-degree-directed", "--k", "2")
    assert result.exit_code == 2
    assert "take k-degree" in result.output


def test_published_reads_the_directions_of_both_files(gaudit, source, tmp_path):
    out = source.with_name("out.txt")
    made = gaudit("anonymize", source, "--no-utility", "--defense", "k-degree-directed", "--k", "4", "-o", out)
    assert made.exit_code == 0, made.output
    result = gaudit("published", out, "--original", source, "--attack", "refinement", "-v")
    assert "how many edges lead to each and away from it" in " ".join(result.output.split())

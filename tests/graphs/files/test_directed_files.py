"""Directed networks from files and back, and what becomes of directions when a file leaves doubt."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaudit.errors import InputError
from gaudit.graphs.files.network_file import read_network, write_network
from support.directed_networks import arcs_in, directed_networks, network_of_arcs

ENDINGS = [".txt", ".csv", ".tsv.gz", ".npz", ".graphml"]


def named(read) -> set[tuple[str, str]]:
    return {(read.ids[a], read.ids[b]) for a, b in arcs_in(read.network)}


def put(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
@given(network=directed_networks(least=2), data=st.data())
def test_what_is_written_is_read_again(ending, network, data, tmp_path_factory):
    if not network.size:
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    weights = rng.random(network.size) if data.draw(st.booleans()) else None
    types = rng.integers(2, size=network.size) if data.draw(st.booleans()) else None
    network = type(network)(network.nodes, network.edges, weights, types, directions=network.directions)
    file = tmp_path_factory.mktemp("made") / f"g{ending}"
    write_network(network, file)
    read = read_network(file, directed="keep")
    assert read.network.digest == network.digest
    told = read_network(file, directed="told").network.directions
    assert (told is None) == bool((network.directions == 3).all())
    assert read_network(file, directed="merge").network.directions is None


def test_a_written_network_is_read_by_networkx_with_the_same_arcs(tmp_path):
    network = network_of_arcs(5, {(0, 1), (1, 0), (3, 2), (4, 0)})
    write_network(network, tmp_path / "g.graphml")
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert graph.is_directed()
    assert {(int(a), int(b)) for a, b in graph.edges} == arcs_in(network)
    write_network(network, tmp_path / "g.txt")
    graph = nx.read_edgelist(tmp_path / "g.txt", create_using=nx.DiGraph)
    assert {(int(a), int(b)) for a, b in graph.edges} == arcs_in(network)


@pytest.mark.parametrize(
    ("text", "kept", "told"),
    [
        ("1 2\n2 1\n3 2\n", {("1", "2"), ("2", "1"), ("3", "2")}, True),
        ("# directed\n2 1\n3 2\n", {("2", "1"), ("3", "2")}, True),
        ("2 1\n3 2\n", {("2", "1"), ("3", "2")}, False),
        ("1 2\n2 1\n3 2\n2 3\n", {("1", "2"), ("2", "1"), ("3", "2"), ("2", "3")}, False),
        ("source,target,type\n2,1,Directed\n3,2,Directed\n", {("2", "1"), ("3", "2")}, True),
        ("source,target,type\n2,1,Directed\n3,2,Undirected\n", {("2", "1"), ("3", "2"), ("2", "3")}, True),
        ("source,target,type\n2,1,directed\n1,1,mutual\n1,3,mutual\n", {("2", "1"), ("1", "3"), ("3", "1")}, True),
    ],
)
def test_directions_are_kept_on_request_and_told_where_the_file_says_so(tmp_path, text, kept, told):
    file = put(tmp_path / "g.csv" if "," in text else tmp_path / "g.txt", text)
    assert named(read_network(file, directed="keep")) == kept
    read = read_network(file, directed="told")
    assert (read.network.directions is not None) == told
    if told:
        assert named(read) == kept


def test_files_that_say_that_they_are_undirected_have_no_directions(tmp_path):
    nx.write_graphml(nx.path_graph(3), tmp_path / "g.graphml")
    text = put(tmp_path / "g.csv", "source,target,type\n2,1,Undirected\n3,2,Undirected\n")
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0, 1, 1], [1, 0, 2]]), directed=np.array(0))
    for file in (tmp_path / "g.graphml", text, tmp_path / "g.npz"):
        assert read_network(file, directed="keep").network.directions is None


def test_a_refused_file_says_how_directions_are_kept(tmp_path):
    nx.write_graphml(nx.path_graph(3, create_using=nx.DiGraph), tmp_path / "g.graphml")
    with pytest.raises(InputError, match="--keep directions"):
        read_network(tmp_path / "g.graphml")


def test_a_mutual_edge_keeps_the_first_of_two_weights_and_says_so(tmp_path):
    read = read_network(put(tmp_path / "g.txt", "1 2 5\n2 1 7\n2 3 4\n"), directed="keep")
    assert read.network.weights.tolist() == [5, 4]
    assert read.network.directions.tolist() == [3, 1]
    assert "first of several weights is kept: 1" in read.dropped.sentence

"""Weighted, typed, timed and directed graphs: what `anonymize` publishes is anonymous for the knowledge it names.

The checks here read the written file themselves and share no code with those of the defenses.
"""

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from gaudit.graphs.files.network_file import read_network

K = 3
TOLD = ("weights", "types", "times", "directions")
KNOWLEDGE = {
    "k-degree": "somebody who knows how many neighbours each person has, and nothing else of the graph",
    "k-neighbourhood": "somebody who knows a person's neighbours and which of them are linked to each other",
    "k-automorphism": "somebody who knows all of the graph's structure but its names, and looks for one person",
    "summarisation": "somebody who knows anything of the graph's structure and looks for one person",
    "cluster-edges": "somebody who knows anything of the graph's structure and looks for one person",
}
PATH = nx.path_graph(10)
PATH.add_edges_from([(0, 4), (2, 7), (2, 9), (4, 9), (10, 11), (11, 12), (12, 13), (13, 0)])


def source(folder, told):
    """A file of the graph above that also tells something of its edges; no two people are alike by it."""
    rng = np.random.default_rng(0)
    edges = [(f"p{one}", f"p{other}") for one, other in PATH.edges]
    third = {
        "weights": [f" {w:.4f}" for w in rng.random(len(edges))],
        "types": [f" {kind}" for kind in rng.choice(["friend", "foe", "kin"], len(edges))],
        "times": [f" {t}" for t in rng.integers(1_082_040_961, 1_382_040_961, len(edges))],
        "directions": [""] * len(edges),
    }[told]
    rows = [" ".join(edge) + more for edge, more in zip(edges, third, strict=True)]
    if told == "directions":
        rows += [f"{other} {one}" for one, other in edges[:4]]
    path = folder / "source.txt"
    path.write_text("\n".join(rows) + "\n")
    return path


def written(path):
    """The graph in a file of rows, which may tell nothing but the ends of edges."""
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    nodes = [line.split()[1] for line in path.read_text().splitlines() if line.startswith("#@node")]
    assert {len(row) for row in rows} == {2}
    graph = nx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(rows)
    return graph


def alike_by_degree(graph, one, other):
    return graph.degree(one) == graph.degree(other)


def alike_by_neighbourhood(graph, one, other):
    return nx.is_isomorphic(graph.subgraph(graph[one]), graph.subgraph(graph[other]))


def alike_by_automorphism(graph, one, other):
    marked = [nx.Graph(graph) for _ in range(2)]
    for copy, node in zip(marked, (one, other), strict=True):
        nx.set_node_attributes(copy, {n: n == node for n in copy}, "looked for")
    return nx.is_isomorphic(*marked, node_match=lambda a, b: a["looked for"] == b["looked for"])


ALIKE = {
    "k-degree": alike_by_degree,
    "k-neighbourhood": alike_by_neighbourhood,
    "k-automorphism": alike_by_automorphism,
}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("defense", ALIKE)
def test_people_are_alike_for_whoever_knows_what_the_sentence_names(gaudit, tmp_path, defense, told):
    out = tmp_path / "out.txt"
    result = gaudit("anonymize", source(tmp_path, told), "--defense", defense, "--k", K, "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    graph = written(out)
    assert {f"p{node}" for node in PATH} <= set(graph)
    for node in graph:
        assert sum(ALIKE[defense](graph, node, other) for other in graph) >= K
    assert f"This holds against {KNOWLEDGE[defense]}" in result.output
    assert "not covered" not in result.output
    assert (f"The {told} of edges are not published" in result.output) is (told in ("weights", "types"))
    assert ("read as times of edges, which windows alone use" in result.output) is (told == "times")
    assert ("directed edges made undirected: 13" in result.output) is (told == "directions")
    assert ("It speaks of the undirected graph" in result.output) is (told == "directions")


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("defense", ["summarisation", "cluster-edges"])
def test_people_of_a_group_are_alike_whatever_is_known(gaudit, tmp_path, defense, told):
    """Groups of k and numbers of edges between them, and nothing else of any node: no edge, no weight."""
    out = tmp_path / "out.npz"
    settings = {"summarisation": "sample=false", "cluster-edges": "sensitive=null"}[defense]
    result = gaudit(
        "anonymize",
        source(tmp_path, told),
        "--defense",
        f"{defense}:k={K}",
        "--set",
        settings,
        "--no-utility",
        "--seed",  # two edges are of the rarest type, and both may end within groups
        0,
        "-o",
        out,
    )
    assert result.exit_code == 0, result.output
    with np.load(out) as arrays:
        assert set(arrays) <= {"edge_index", "nodes", "ids", "type_names", "groups", "counts"}
        assert arrays["edge_index"].size == 0
        groups, counts = arrays["groups"], arrays["counts"]
        names = set(arrays["type_names"].tolist()) if "type_names" in arrays else set()
    assert min(Counter(groups.tolist()).values()) >= K
    assert names == ({"friend", "foe", "kin"} if (defense, told) == ("cluster-edges", "types") else set())
    assert counts[:, 2].max() == max(len(names) - 1, 0)
    assert f"This holds against {KNOWLEDGE[defense]}" in result.output
    assert ("It speaks of the undirected graph" in result.output) is (told == "directions")


@pytest.mark.parametrize("told", ["weights", "types"])
@pytest.mark.parametrize("defense", ALIKE)
def test_what_is_kept_is_not_covered_and_whom_it_names_is_counted(gaudit, tmp_path, defense, told):
    out = tmp_path / "out.csv"
    path = source(tmp_path, told)
    result = gaudit("anonymize", path, "--defense", defense, "--k", K, "--keep", told, "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    assert (
        f"The {told} of edges are published too: somebody who knows those of a person is not covered"
        in result.output
    )
    marks = {f"p{node}": [] for node in PATH}
    for one, other, mark in (line.split(",") for line in out.read_text().splitlines() if line[0] != "#"):
        for end in (one, other):
            marks.setdefault(end, []).append(mark)
    keys = {node: tuple(sorted(own)) for node, own in marks.items()}
    alone = sum(Counter(keys.values())[keys[f"p{node}"]] == 1 for node in PATH)
    by = {"weights": "their weights one by one", "types": "their types"}[told]
    assert f"{100 * alone / len(PATH):.1f} % by {by}" in result.output


def test_more_of_a_graph_than_the_sentence_names_tells_people_apart(gaudit, tmp_path):
    """Why the sentence is needed: a 3-degree release has a neighbourhood that occurs once."""
    out = tmp_path / "out.txt"
    gaudit("anonymize", source(tmp_path, "weights"), "--defense", "k-degree", "--k", K, "--seed", 0, "-o", out)
    graph = written(out)
    assert min(sum(alike_by_automorphism(graph, node, other) for other in graph) for node in graph) < K


def test_a_directed_graphml_says_of_which_graph_the_guarantee_speaks(gaudit, tmp_path):
    path, out = tmp_path / "in.graphml", tmp_path / "out.txt"
    graph = nx.DiGraph([*PATH.edges, (1, 0)])
    nx.set_edge_attributes(graph, 1_082_040_961, "since")
    nx.write_graphml(graph, path)
    asked = ("anonymize", path, "--defense", "k-degree", "--k", K, "--no-utility", "-o", out)
    refused = gaudit(*asked)
    assert refused.exit_code == 2
    assert "--merge-directions" in refused.stderr
    result = gaudit(*asked, "--merge-directions")
    assert "edges told in both directions: 1" in result.output
    assert "directed edges made undirected: 16" in result.output
    assert "attributes of edges not read: 'since'" in result.output
    assert "It speaks of the undirected graph: directions of edges are not published." in result.output


def test_every_person_of_a_weighted_release_is_named_by_weights_and_said(gaudit, tmp_path):
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    rng = np.random.default_rng(1)
    edges = nx.gnm_random_graph(300, 900, seed=1).edges
    path.write_text("".join(f"{one} {other} {rng.random():.6f}\n" for one, other in edges))
    result = gaudit("anonymize", path, "--defense", "k-degree", "--no-utility", "-o", out)
    assert "100.0 % of the people in this file are the only ones with the sum of their weights" in result.output
    assert read_network(out).network.weights is None
    for keep, says in (
        ("types", "tells no types of edges: leave the option out"),
        ("times", "'times' is not one of"),
    ):
        refused = gaudit("anonymize", path, "--defense", "k-degree", "--keep", keep, "--no-utility", "-o", out)
        assert refused.exit_code == 2
        assert says in refused.stderr


def test_k_neighbourhood_says_that_it_fell_back_and_what_that_costs(gaudit, tmp_path):
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    edges = nx.barabasi_albert_graph(60, 3, seed=1).edges
    path.write_text("".join(f"{one} {other}\n" for one, other in edges))
    result = gaudit("anonymize", path, "--defense", "k-neighbourhood", "--k", K, "--seed", 0, "-o", out)
    assert result.exit_code == 2
    assert "set otherwise=k-automorphism" in result.stderr
    assert not out.exists()
    instead = "k-neighbourhood:otherwise=k-automorphism"
    result = gaudit("anonymize", path, "--defense", instead, "--k", K, "--seed", 0, "-o", out)
    times = written(out).number_of_edges() / len(edges)
    assert "the network was made k-automorphic instead" in result.output
    assert f"it has {times:.2f} times as many edges as the original" in result.output
    unlink = "k-neighbourhood:otherwise=unlink"
    result = gaudit("anonymize", path, "--defense", unlink, "--k", K, "--seed", 0, "-o", out)
    assert "edges were removed until no two neighbours of a person are linked" in result.output
    assert not any(nx.triangles(written(out)).values())
    rings = "".join(f"{k} {8 * (k // 8) + (k + 1) % 8}\n" for k in range(24)) + "0 2\n"
    path.write_text(rings)
    result = gaudit(
        "anonymize",
        path,
        "--defense",
        "k-neighbourhood:growth=5,otherwise=k-automorphism",
        "--k",
        K,
        "--seed",
        0,
        "-o",
        out,
    )
    assert result.exit_code == 0, result.output
    assert "instead" not in result.output


def test_k_neighbourhood_says_what_holds_if_added_nodes_do_not_count(gaudit, tmp_path):
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    people = nx.barabasi_albert_graph(20 * K + 1, 3, seed=1)  # one node more than a multiple of k
    path.write_text("".join(f"p{one} p{other}\n" for one, other in people.edges))
    instead = "k-neighbourhood:otherwise=k-automorphism"
    result = gaudit("anonymize", path, "--defense", instead, "--k", K, "--seed", 0, "-o", out)
    graph = written(out)
    assert graph.number_of_nodes() > people.number_of_nodes()
    old = [f"p{node}" for node in people]
    fewest = min(sum(alike_by_neighbourhood(graph, one, other) for other in old) for one in old)
    assert fewest < K
    assert f"at least {fewest} times if added nodes do not count" in result.output


@pytest.mark.parametrize("rename", [[], ["--rename"]], ids=["own ids", "renamed"])
@pytest.mark.parametrize("defense", ["intact-edges", "partial-edges", "cluster-edges"])
def test_the_name_of_a_dropped_type_is_not_published(gaudit, tmp_path, defense, rename):
    path, out = source(tmp_path, "types"), tmp_path / "out.npz"
    settings = ["--set", "sensitive=foe", *(["--k", K] if defense == "cluster-edges" else []), *rename]
    result = gaudit("anonymize", path, "--defense", defense, *settings, "--no-utility", "-o", out)
    assert result.exit_code == 0, result.output
    with np.load(out) as content:
        assert sorted(content["type_names"]) == ["friend", "kin"]
        kinds = content["types"] if "types" in content else content["counts"][:, 2]
        assert set(kinds) == {0, 1}


def test_types_are_called_by_their_names(gaudit, tmp_path):
    path, out = source(tmp_path, "types"), tmp_path / "out.txt"
    result = gaudit(
        "anonymize", path, "--defense", "intact-edges", "--set", "sensitive=foe", "--no-utility", "-o", out
    )
    assert result.exit_code == 0, result.output
    assert {line.split()[2] for line in out.read_text().splitlines() if line[0] != "#"} == {"friend", "kin"}
    assert "foe" not in out.read_text()
    refused = gaudit("anonymize", path, "--defense", "intact-edges", "--set", "sensitive=enemy", "-o", out)
    assert refused.exit_code == 2
    assert "no type of edges has this name, the types of this file are: " in refused.stderr


@pytest.mark.parametrize(
    ("defense", "name", "says"),
    [
        ("summarisation", "out.txt", "could not hold groups: choose .npz"),
        ("k-degree", "out.docx", "expected .txt, .tsv"),
    ],
)
def test_a_file_that_cannot_hold_the_result_is_refused_before_it_is_read(gaudit, tmp_path, defense, name, says):
    path = tmp_path / "in.txt"
    path.write_text("not an edge list at all, which nobody gets to see\n1 2 3 4 5 6 7\n")
    result = gaudit("anonymize", path, "--defense", defense, "-o", tmp_path / name)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_degrees_of_pairs_with_several_types_are_counted_once(gaudit, tmp_path):
    """Types go before the defense: what it makes alike is what is published."""
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    rows = [f"{a} {b} {kind}" for a, b in combinations(range(6), 2) for kind in ("x", "y")][:17]
    path.write_text("\n".join([*rows, "7 8 x", "8 9 y", "9 10 x"]) + "\n")
    assert gaudit("anonymize", path, "--defense", "k-degree", "--k", 2, "-o", out).exit_code == 0
    assert min(Counter(dict(written(out).degree()).values()).values()) >= 2

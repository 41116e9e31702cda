"""What `gaudit anonymize` says beforehand, what it tells of weights, who is at risk, and the page about it."""

import csv
import re
import stat
from collections import Counter
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pytest

from gaudit.commands.publishing.anonymise_command import AnonymiseRequest, anonymise

EDGES = sorted(nx.barabasi_albert_graph(60, 3, seed=1).edges)
WEIGHTS = np.random.default_rng(0).integers(1, 500, len(EDGES))


@pytest.fixture(name="weighted")
def weighted_file(tmp_path):
    path = tmp_path / "in.csv"
    rows = [f"p{one},p{other},{weight}" for (one, other), weight in zip(EDGES, WEIGHTS, strict=True)]
    path.write_text("source,target,weight\n" + "\n".join(rows) + "\n")
    return path


def weights_in(path) -> list[float]:
    return [float(line.split(",")[2]) for line in path.read_text().splitlines() if re.match(r"p\d", line)]


def people_in(path) -> set[str]:
    with path.open(newline="") as stream:
        return {row["id"] for row in csv.DictReader(stream)}


def test_what_is_kept_and_dropped_is_told_before_anything_is_written(tmp_path):
    graph = nx.DiGraph([*nx.cycle_graph(9).edges, (0, 2), (2, 0)])
    nx.set_edge_attributes(graph, 2.5, "weight")
    nx.set_edge_attributes(graph, "friend", "type")
    nx.set_edge_attributes(graph, 7, "since")
    nx.set_node_attributes(graph, 1, "label")
    nx.set_node_attributes(graph, "here", "town")
    source, out = tmp_path / "in.graphml", tmp_path / "out.txt"
    nx.write_graphml(graph, source)
    heard = []

    def tell(line):
        assert not out.exists()
        heard.append(line)

    anonymise(AnonymiseRequest(source, out, "random-switch", {}, keep=("types",), merge=True), tell)
    assert out.exists()
    assert heard[:3] == [
        "Read: 9 nodes and 10 edges.",
        "Will be published: edges, types of edges.",
        "Will be left out: weights of edges, directions of edges, classes of nodes, 'town' of nodes, attributes of "
        "edges not read: 'since'.",
    ]


def test_it_is_told_even_if_the_defense_fails(gaudit, weighted, tmp_path):
    out = tmp_path / "out.csv"
    result = gaudit("anonymize", weighted, "--defense", "k-degree:k=1000", "-o", out)
    assert result.exit_code == 2
    assert "Will be left out: weights of edges." in result.stdout
    assert not out.exists()


@pytest.mark.parametrize(
    ("defense", "says"),
    [
        ("cluster-edges:k=3,sensitive=null", "numbers of edges between groups"),
        ("summarisation:k=3", "edges, or their"),
    ],
)
def test_what_is_published_in_place_of_edges_is_told(gaudit, weighted, tmp_path, defense, says):
    result = gaudit("anonymize", weighted, "--defense", defense, "--no-utility", "-o", tmp_path / "out.npz")
    assert result.exit_code == 0, result.output
    assert f"Will be published: {says}" in result.stdout
    assert "the group of each node." in result.stdout


@pytest.mark.parametrize("how", ["rounded:50", "binned:4", "noised:20"])
def test_weights_are_told_in_part(gaudit, weighted, tmp_path, how):
    out = tmp_path / "out.csv"
    asked = ("anonymize", weighted, "--defense", "random-switch:switches=0", "--no-utility", "--weights", how)
    result = gaudit(*asked, "-o", out)
    assert result.exit_code == 0, result.output
    told = weights_in(out)
    assert len(told) == len(EDGES)
    if how == "rounded:50":
        assert Counter(told) == Counter((50 * np.rint(WEIGHTS / 50)).tolist())
        assert "rounded to multiples of 50" in result.stdout
    elif how == "binned:4":
        assert set(told) <= set(WEIGHTS)
        assert len(set(told)) == 4
        assert min(Counter(told).values()) >= len(EDGES) // 4
    else:
        assert Counter(told) != Counter(map(float, WEIGHTS))
        assert all(value == round(value) for value in told)
        assert "This promises no epsilon." in result.stdout


@pytest.mark.parametrize(
    ("how", "says"),
    [("coarse", "expected rounded:10"), ("binned:0", "expected rounded:10"), ("binned:9999", "fewer classes")],
)
def test_a_way_that_does_not_exist_is_one_line(gaudit, weighted, tmp_path, how, says):
    result = gaudit(
        "anonymize", weighted, "--defense", "random-switch", "--weights", how, "-o", tmp_path / "out.csv"
    )
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr


def test_weights_that_the_file_does_not_tell_cannot_be_told(gaudit, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("a b\nb c\n")
    result = gaudit(
        "anonymize", source, "--defense", "random-switch", "--weights", "rounded:1", "-o", tmp_path / "o.txt"
    )
    assert result.exit_code == 2
    assert "--weights rounded:1" in result.stderr
    assert "tells no weights of edges: leave the option out" in result.stderr


def test_who_is_alone_is_listed_by_the_owners_ids(gaudit, weighted, tmp_path):
    """Who is alone is counted here with networkx; ids are the source's though the result is renamed."""
    out, risk = tmp_path / "out.csv", tmp_path / "risk.csv"
    asked = ("anonymize", weighted, "--defense", "k-degree:k=4", "--no-utility", "--rename", "--at-risk", risk)
    result = gaudit(*asked, "-o", out)
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(risk.stat().st_mode) == 0o600
    graph = nx.Graph(EDGES)
    around = {v: tuple(sorted(graph.degree(u) for u in graph[v])) for v in graph}
    marks = {v: [] for v in graph}
    for (one, other), weight in zip(EDGES, WEIGHTS.tolist(), strict=True):
        marks[one].append(weight)
        marks[other].append(weight)
    known = (dict(graph.degree), around, {v: tuple(sorted(own)) for v, own in marks.items()})
    alone = {f"p{v}" for by in known for v in graph if Counter(by.values())[by[v]] == 1}
    assert alone <= people_in(risk)  # others are alone in the result
    degrees = Counter(dict(graph.degree).values())
    assert f"Alone by how many neighbours they have: {sum(c == 1 for c in degrees.values())} of 60" in result.stdout
    assert "before, 0 after." in result.stdout
    again = gaudit(*asked, "-o", tmp_path / "other.csv")
    assert again.exit_code == 2
    assert "is there already" in again.stderr
    assert not (tmp_path / "other.csv").exists()


class Page(HTMLParser):
    """Text, and everything that a browser would load or run."""

    def __init__(self):
        super().__init__()
        self.text, self.loads, self.open = "", [], []

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ("src", "href") and not value.startswith("#")]
        self.loads += [tag] if tag in ("script", "img", "link", "iframe") else []
        self.loads += [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        self.text += " "

    def handle_data(self, data):
        self.text += data


def page_at(path) -> Page:
    page = Page()
    page.feed(path.read_text())
    page.text = " ".join(page.text.split())
    return page


GUARANTEES = {
    "k-degree:k=4": ("What was checked on the result holds", "Every degree occurs at least 4 times"),
    "dp-1k:epsilon=1": ("What the mechanism promises", "differ in one edge"),
    "random-walk": ("Nothing is promised", "random-walk changes the graph and promises nothing."),
}


@pytest.mark.parametrize("defense", GUARANTEES)
def test_the_page_says_what_holds_what_is_told_who_is_at_risk_and_what_is_kept(gaudit, weighted, tmp_path, defense):
    out, place = tmp_path / "out.csv", tmp_path / "page.html"
    result = gaudit("anonymize", weighted, "--defense", defense, "--report", place, "-o", out)
    assert result.exit_code == 0, result.output
    page = page_at(place)
    for title, _ in GUARANTEES.values():
        assert (title in page.text) is (title == GUARANTEES[defense][0])
    assert GUARANTEES[defense][1] in page.text
    assert "weights of edges" in page.text
    assert re.search(r"by how many neighbours they have \d+ \(\d+\.\d", page.text)
    assert "average-clustering" in page.text
    alone = max(int(n.replace(",", "")) for n in re.findall(r"\) ([\d,]+) \(\d+\.\d\s%\)", page.text))
    assert f"{alone} of 60 people" in page.text or not alone
    assert page.loads == []
    assert "script-src" not in place.read_text()
    assert "default-src 'none'" in place.read_text()


def test_names_from_the_file_are_text_on_the_page(gaudit, tmp_path):
    graph = nx.path_graph(6)
    nx.set_node_attributes(graph, 3, "<script>alert(1)</script>")
    source, place = tmp_path / "in<b>.graphml", tmp_path / "page.html"
    nx.write_graphml(graph, source)
    asked = ("anonymize", source, "--defense", "random-switch", "--no-utility", "--report", place)
    assert gaudit(*asked, "-o", tmp_path / "out.txt").exit_code == 0
    page = page_at(place)
    assert page.loads == []
    assert "<script>alert(1)</script>" in page.text
    assert "in<b>.graphml" in page.text
    assert "was not measured" in page.text


def test_a_private_graph_is_not_said_beforehand_to_tell_types(gaudit, tmp_path):
    source, out = tmp_path / "g.csv", tmp_path / "out.txt"
    source.write_text("source,target,type\na,b,x\nb,c,y\nc,d,x\na,c,x\n")
    result = gaudit("anonymize", source, "--keep", "types", "--defense", "tmf:epsilon=9", "-o", out)
    assert result.exit_code == 0, result.output
    assert "Will be published: edges.\nWill be left out: types of edges." in result.output

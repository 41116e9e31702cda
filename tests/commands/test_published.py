"""`gaudit published`, and the table that `gaudit anonymize --write-map` writes for it."""

import csv
import stat

import networkx as nx
import pytest
from click.testing import CliRunner

from gaudit.commands.main import main
from gaudit.graphs.files.network_file import write_network
from support.random_networks import uneven_network

NODES = 60


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(name="files")
def original_and_places(tmp_path):
    """An original, and where its release and the table go."""
    source = tmp_path / "before.txt"
    write_network(uneven_network(NODES, 150, 0), source, [f"person-{node}" for node in range(NODES)])
    return source, tmp_path / "after.txt", tmp_path / "same.csv"


def anonymised(files, *more):
    source, after, same = files
    how = ("--defense", "k-degree:k=3", "--no-utility", "--seed", 1)
    return run("anonymize", source, *how, "-o", after, "--write-map", same, *more)


def test_what_was_renamed_is_audited_with_the_table(files, tmp_path):
    source, after, same = files
    done = anonymised(files, "--rename")
    assert done.exit_code == 0, done.output
    assert "it undoes the renaming" in done.stderr
    assert stat.S_IMODE(same.stat().st_mode) == 0o600
    report = tmp_path / "report.html"
    told = ("published", after, "--original", source, "--same", same, "--attack", "refinement", "--report", report)
    audited = run(*told)
    assert audited.exit_code == 0, audited.output
    assert "refinement" in audited.stdout
    assert "which defense was in place is not known" in audited.stdout
    assert report.is_file()
    over = run(*told, "--below", "auc=0.5")
    assert over.exit_code == 1
    lacking = run("published", after, "--original", source)
    assert lacking.exit_code == 2
    assert lacking.stderr.startswith("gaudit: error: before.txt: 60 persons that after.txt does not name")


def test_without_renaming_the_table_says_so(files):
    done = anonymised(files)
    assert "nodes kept their ids" in done.stderr
    assert '"person-0","person-0"' in files[2].read_text()


def test_no_table_in_the_place_of_a_file_that_is_read_or_written(files):
    source, after, same = files
    for place, says in ((source, "this command reads it"), (after, "twice"), (same.with_suffix(".txt"), ".csv")):
        refused = anonymised((source, after, place))
        assert refused.exit_code == 2
        assert says in refused.stderr
        assert not after.exists()


def test_who_is_alone_is_listed_by_the_originals_names(files, tmp_path):
    source, after, same = files
    anonymised(files, "--rename")
    risk = tmp_path / "risk.csv"
    asked = ("published", after, "--original", source, "--same", same, "--attack", "refinement", "--at-risk", risk)
    done = run(*asked)
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(risk.stat().st_mode) == 0o600
    with risk.open(newline="") as stream:
        listed = {row["id"]: row for row in csv.DictReader(stream)}
    with same.open(newline="") as stream:
        who = {row["original"]: row["published"] for row in csv.DictReader(stream)}
    for place, when, called in ((source, "before", {name: name for name in who}), (after, "after", who)):
        graph = nx.read_edgelist(place)
        graph.add_nodes_from(called.values())
        around = {node: tuple(sorted(graph.degree(other) for other in graph[node])) for node in graph}
        alone = {name for name, node in called.items() if list(around.values()).count(around[node]) == 1}
        assert alone
        assert {name for name, row in listed.items() if row[f"neighbours_{when}"] == "1"} == alone
    again = run(*asked)
    assert again.exit_code == 2
    assert "is there already" in again.stderr

"""The order of people in a private file is that of their names, and its noise is the system's own."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gaudit.commands.publishing import anonymise_command
from gaudit.commands.publishing.anonymise_command import AnonymiseRequest
from gaudit.graphs.files.network_file import read_network
from gaudit.registry import find, registered
from gaudit.targets.defense import Defense

PRIVATE = [
    name
    for name in registered("defenses")
    if (kind := find("defenses", name)).on_graph is not Defense.on_graph
    and "epsilon" in kind.Settings.model_fields
    and "windows" not in kind.Settings.model_fields
    and kind(epsilon=1).promise() is not None
]
CHAIN = ["ann bob", "bob carl", "carl dan", "dan eve", "9 10"]


def written(gaudit, source, edges, defense):
    source.write_text("\n".join(edges) + "\n")
    out = source.with_suffix(".graphml")
    told = ("--defense", defense, "--set", "epsilon=200", "--no-utility", "-o", out)
    result = gaudit("anonymize", source, *told)
    assert result.exit_code == 0, result.output
    return re.findall('node id="([^"]*)"', out.read_text())


def test_all_private_graphs_are_looked_at():
    assert {"private-generator", "dp-1k", "privgraph", "ldpgen"} <= set(PRIVATE)


@pytest.mark.parametrize("defense", PRIVATE)
def test_one_edge_more_changes_no_order(gaudit, tmp_path, defense):
    """A file without a list names nodes by its edges, the first edge first; a list may have been made from it."""
    listed = [f"#@node {name}" for name in ("eve", "bob", "10", "ann", "dan", "9", "carl")]
    for edges in (CHAIN, ["ann eve", *CHAIN], CHAIN[::-1], [*listed, *CHAIN]):
        assert written(gaudit, tmp_path / "in.txt", edges, defense) == [
            "9",
            "10",
            "ann",
            "bob",
            "carl",
            "dan",
            "eve",
        ]


def test_features_and_classes_move_with_their_node(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\n".join(CHAIN) + "\n")
    read = read_network(path)
    read = replace(read, x=np.array([[len(name)] for name in read.ids]), y=np.arange(len(read.ids)))
    moved = read.in_order_of_ids()
    assert moved.x[:, 0].tolist() == [len(name) for name in moved.ids]
    assert [read.ids[place] for place in moved.y] == list(moved.ids)
    for one, other in zip(*read.network.edges, strict=True):
        ends = {moved.ids.index(read.ids[one]), moved.ids.index(read.ids[other])}
        assert ends in [set(pair) for pair in zip(*moved.network.edges.tolist(), strict=True)]
    assert moved.network.size == read.network.size


@pytest.mark.parametrize(
    ("seed", "settings", "fresh"), [(None, {}, True), (3, {}, False), (None, {"fresh": "false"}, False)]
)
def test_noise_is_the_system_s_own_unless_it_shall_be_repeated(monkeypatch, tmp_path, seed, settings, fresh):
    path, made = tmp_path / "in.txt", []
    path.write_text("\n".join(CHAIN) + "\n")
    kind, own = find("defenses", "dp-1k"), find("defenses", "dp-1k").on_graph

    def watched(self, network, coins):
        made.append(self.settings.fresh)
        return own(self, network, coins)

    monkeypatch.setattr(kind, "on_graph", watched)
    # so little noise that a link is left: with an epsilon of 1 one run in twelve had none, which no file can hold
    request = AnonymiseRequest(path, tmp_path / "out.txt", "dp-1k", {"epsilon": "100", **settings}, seed=seed)
    anonymise_command.anonymise(request)
    assert made == [fresh]

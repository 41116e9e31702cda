"""What is in a batch of graphs: kinds of surroundings by search, counterparts, and what adversaries are told."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import categorical_node_match

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.registry import find
from gaudit.targets.games.neighbourhood_presence import (
    NeighbourhoodPresence,
    as_common,
    graphs_with,
    neighbourhood_presence,
    surroundings,
)
from support.adversaries import adversary

DATA = forty_graphs()
BATCHES = [np.array([0, 7]), np.array([3]), np.array([12, 30, 31])]


def unrolled(data, node: int, radius: int, degrees: bool) -> nx.Graph:
    """The tree of all walks from a node, each kept apart: what as many refinements see."""
    linked = nx.Graph(data.edge_index.T.tolist())
    linked.add_nodes_from(range(len(data.x)))
    tree, level, count = nx.Graph(), [(0, node)], 1
    tree.add_node(0, of=(tuple(data.x[node].tolist()), linked.degree(node) if degrees else -1, 0))
    for step in range(1, radius + 1):
        below = []
        for parent, at in level:
            for other in linked[at]:
                degree = linked.degree(other) if degrees else -1
                tree.add_node(count, of=(tuple(data.x[other].tolist()), degree, step))
                tree.add_edge(parent, count)
                below.append((count, other))
                count += 1
        level = below
    return tree


@pytest.mark.parametrize(("radius", "degrees"), [(1, False), (1, True), (2, False)])
def test_kinds_are_the_same_where_trees_of_walks_are(radius, degrees):
    kinds = surroundings(DATA, radius, degrees)
    nodes = np.random.default_rng(0).permutation(len(kinds))[:30].tolist()
    trees = {node: unrolled(DATA, node, radius, degrees) for node in nodes}
    match = categorical_node_match("of", None)
    for one, other in product(nodes, nodes):
        same = nx.is_isomorphic(trees[one], trees[other], node_match=match)
        assert same == (kinds[one] == kinds[other])


def test_graphs_are_counted_once():
    kinds, of = surroundings(DATA, 1, False), DATA.graph_of.numpy()
    counted = [len({int(of[node]) for node in np.flatnonzero(kinds == kind)}) for kind in range(kinds.max() + 1)]
    assert graphs_with(kinds, of).tolist() == counted


def test_half_are_there_and_counterparts_are_as_common():
    (game,) = neighbourhood_presence(DATA, BATCHES, 1, False, np.random.SeedSequence(0)).values()
    kinds, of, count = surroundings(DATA, 1, False), DATA.graph_of.numpy(), len(DATA.graph_of)
    graphs = graphs_with(kinds, of)
    assert game.truth.sum() * 2 == len(game.truth)
    assert len(np.unique(game.subjects)) == len(game.subjects)
    for subject, owner, member in zip(game.subjects, game.owners, game.truth, strict=True):
        client, node = divmod(int(subject), count)
        assert client == owner
        assert (kinds[node] in kinds[np.isin(of, BATCHES[client])]) == member
    there, absent = (graphs[kinds[game.subjects[game.truth == t] % count]] for t in (True, False))
    assert (np.maximum(there / absent, absent / there) <= 2).all()


def test_who_has_no_counterpart_is_not_asked_about():
    graphs = np.array([100, 3, 1, 1, 4])
    there = np.array([True, True, False, False, False])
    assert as_common(there, graphs, np.random.default_rng(0)) == [(1, 4)]
    assert as_common(np.ones(5, dtype=bool), graphs, np.random.default_rng(0)) == []
    everyone = [np.unique(DATA.graph_of.numpy())]
    assert neighbourhood_presence(DATA, everyone, 1, False, np.random.SeedSequence(0)) == {}


def test_adversaries_know_neighbourhoods_and_not_whose_they_are():
    (game,) = neighbourhood_presence(DATA, BATCHES, 2, False, np.random.SeedSequence(0)).values()
    given, left = game.grant(DATA, adversary(), np.random.SeedSequence(1))
    known, count = given.knowledge, len(DATA.graph_of)
    roots = known.steps == 0
    nodes = known.subjects % count
    assert (known.x[roots] == DATA.x[nodes]).all()
    assert known.neighbourhood[roots].tolist() == list(range(len(nodes)))
    assert (known.clients == known.subjects // count).all()
    assert (known.degree[roots] == DATA.edge_index[0].bincount(minlength=count)[nodes]).all()
    assert left(game) is game
    assert known.sentence().startswith(f"knows {len(nodes)} neighbourhoods of 2 steps")


def test_what_is_public_is_told_subject_by_subject():
    (game,) = neighbourhood_presence(DATA, BATCHES, 1, True, np.random.SeedSequence(0)).values()
    columns = game.public_columns(DATA, np.random.SeedSequence(0))
    assert {len(values) for values in columns.values()} == {len(game.subjects)}
    assert {len(labels) for labels in game.attributes(DATA).values()} == {len(game.subjects)}


def test_found_by_name():
    assert find("games", "neighbourhood-presence") is NeighbourhoodPresence
    assert NeighbourhoodPresence.words.question.endswith("?")

"""Membership of whole graphs: what is granted leads back to the right graphs, and says nothing of the truth."""

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from gaudit.audit.conformance.small_graphs import forty_graphs
from gaudit.audit.games.blind import blind_baselines
from gaudit.errors import InputError
from gaudit.graphs.collection import by_graph, collection_of
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.targets.games.graph_columns import colour_shares, density_of, edges_of, nodes_of, refined
from gaudit.targets.games.graph_membership import GraphMembership, graph_membership
from support.adversaries import adversary

SEED = np.random.SeedSequence(7)


@pytest.fixture(scope="module")
def molecules():
    return load_dataset("molecules")


@pytest.fixture(scope="module")
def forty():
    return forty_graphs()


def rows_of(x, graph_of, graph):
    return sorted(map(tuple, x[graph_of == graph].tolist()))


def test_masks_tell_the_truth(forty):
    game = graph_membership(forty)
    train, test = by_graph(forty, "train_mask"), by_graph(forty, "test_mask")
    assert game.subjects.tolist() == (train | test).nonzero().flatten().tolist()
    assert game.truth.tolist() == train[train | test].tolist()


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_are_new_and_lead_back(forty, seed):
    game = graph_membership(forty)
    given, left = game.grant(forty, adversary(auditor=True), np.random.SeedSequence(seed))
    knows = given.knowledge
    assert not np.array_equal(given.ids, np.arange(40))
    for theirs, ours in enumerate(given.ids.tolist()):
        assert rows_of(knows.x, knows.graph_of, theirs) == rows_of(forty.x, forty.graph_of, ours)
    assert np.array_equal(np.sort(given.subject_ids(knows.subjects.numpy())), game.subjects)
    assert torch.equal(knows.graph_of[knows.edges[0]], knows.graph_of[knows.edges[1]])
    assert left(game) is game


def test_labels_of_those_in_question_are_an_auditors_alone(forty):
    game, y = graph_membership(forty), by_graph(forty, "y")
    for auditor in (False, True):
        given, _ = game.grant(forty, adversary(auditor=auditor), SEED)
        told = given.knowledge.labels
        assert (told[given.knowledge.subjects] >= 0).all() == auditor
        known = told >= 0
        assert torch.equal(told[known], y[torch.from_numpy(given.ids)][known])
        assert given.knowledge.all_edges.shape[1] == (given.knowledge.edges.shape[1] if auditor else 0)
        outside = set(given.subject_ids(given.knowledge.shadow.numpy())) & set(game.subjects)
        assert not outside


def test_knowledge_does_not_follow_the_truth(forty):
    game = graph_membership(forty)
    other = GraphMembership(subjects=game.subjects, truth=np.roll(game.truth, 5))
    one, two = (g.grant(forty, adversary(auditor=True), SEED)[0].knowledge for g in (game, other))
    assert torch.equal(one.x, two.x)
    assert torch.equal(one.labels, two.labels)
    assert torch.equal(one.subjects, two.subjects)


def test_it_is_asked_of_collections_alone():
    game = GraphMembership(subjects=np.arange(4), truth=np.arange(4) < 2)
    with pytest.raises(InputError, match="collection of graphs"):
        game.grant(load_dataset("karate"), adversary(), SEED)


def test_graphs_are_measured_as_networkx_measures_them(molecules):
    for graph in (0, 17, 399):
        nodes = (molecules.graph_of == graph).nonzero().flatten()
        one = nx.Graph(molecules.subgraph(nodes).edge_index.t().tolist())
        assert nodes_of(molecules)[graph] == one.number_of_nodes()
        assert edges_of(molecules)[graph] == one.number_of_edges()
        assert density_of(molecules)[graph] == pytest.approx(nx.density(one))


def test_colours_part_nodes_as_weisfeiler_and_lehman_do(molecules):
    nodes = (molecules.graph_of < 12).nonzero().flatten()
    some = molecules.subgraph(nodes)
    graph = nx.Graph(some.edge_index.t().tolist())
    for node in graph:
        graph.nodes[node]["atom"] = str(int(some.x[node].argmax()))
    theirs = nx.weisfeiler_lehman_subgraph_hashes(
        graph, node_attr="atom", iterations=3, include_initial_labels=True
    )
    ours, (row, col) = some.x.argmax(1).numpy(), some.edge_index.numpy()
    for turn in range(4):
        pairs = {(int(ours[node]), theirs[node][turn]) for node in graph}
        assert len(pairs) == len({mine for mine, _ in pairs}) == len({other for _, other in pairs})
        ours = refined(ours, row, col)


def test_shares_of_colours_add_up(molecules):
    shares = colour_shares(molecules)
    assert shares.min() >= 0
    assert np.allclose(shares[:, :5].sum(1), 1)  # of the first colours, five kinds of atoms


def test_a_blind_classifier_sees_sizes_and_only_where_they_tell():
    """With members the larger graphs, sizes tell all; drawn at random, nothing does (an interval of 99.9 %)."""
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.arange(3, 203) // 2)
    start = np.repeat(sizes.cumsum() - sizes, sizes)
    node = np.arange(len(start))
    edges = np.stack([node, start + (node - start + 1) % np.repeat(sizes, sizes)])
    graph_of = np.repeat(np.arange(200), sizes)
    labels = torch.from_numpy(rng.permutation(200) % 2)
    data = collection_of(
        torch.ones(len(node), 1), torch.from_numpy(edges), torch.from_numpy(graph_of), labels, "rings"
    )
    spread = np.sqrt(201 / (12 * 100 * 100))
    for truth, least, most in (
        (sizes > np.median(sizes), 0.95, 1.0),
        (rng.permutation(200) < 100, 0.5 - 3.3 * spread, 0.5 + 3.3 * spread),
    ):
        found = blind_baselines(data, GraphMembership(subjects=np.arange(200), truth=truth), SEED)
        assert set(found) == {"nodes", "edges", "density", "label", "features", "colours", "all"}
        score = roc_auc_score(found["nodes"].truth, found["nodes"].score)
        assert least <= score <= most


def test_risk_is_told_by_size_and_class(molecules):
    game = graph_membership(molecules)
    told = game.attributes(molecules)
    assert set(told) == {"nodes", "edges", "density", "class"}
    assert {len(values) for values in told.values()} == {len(game.subjects)}
    assert told["class"].tolist() == by_graph(molecules, "y")[game.subjects].numpy().astype(str).tolist()

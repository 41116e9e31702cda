"""A private graph for each client: nothing but that graph is read, and few edges change its law by e^epsilon."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import beta

from gaudit.defenses.private_graphs.private_client_graph import PrivateClientGraph
from gaudit.defenses.private_graphs.tmf import TmF
from gaudit.graphs.datasets.loading import load_dataset
from gaudit.graphs.network import Network
from gaudit.registry import find
from gaudit.targets.party import Client

QUIET = {"clients": 2, "rounds": 3, "local_epochs": 2, "hidden": 4}


def client_of(size, pairs):
    nodes, nobody = torch.arange(size) + 100, torch.zeros(size, dtype=torch.bool)
    edges = torch.tensor(sorted([(a, b) for a, b in pairs] + [(b, a) for a, b in pairs]), dtype=torch.long)
    edges, cut = edges.reshape(-1, 2).t(), torch.tensor([[0, 1], [7, 8]])
    y = torch.zeros(size, dtype=torch.long)
    return Client(0, nodes, torch.ones(size, 1), y, y, ~nobody, nobody, nobody, ~nobody, edges, cut, 1)


def released(client, defense, seed=0):
    return defense.on_data(client, None, np.random.SeedSequence(seed), lambda kind, tensors: None)


def pairs_of(client):
    return {(a, b) for a, b in client.edges.t().tolist() if a < b}


@pytest.mark.parametrize("mechanism", ["tmf", "ldpgen", "privgraph"])
def test_the_graph_is_the_mechanisms_and_edges_to_others_are_dropped(mechanism):
    pairs = [(i, j) for i in range(12) for j in range(i) if (i + j) % 3 == 0]
    after = released(client_of(12, pairs), PrivateClientGraph(epsilon=2.0, mechanism=mechanism), seed=3)
    edges = np.array(sorted((min(p), max(p)) for p in pairs)).T
    told = find("defenses", mechanism)(epsilon=2.0).on_graph(Network(12, edges), np.random.SeedSequence(3))
    assert pairs_of(after) == set(map(tuple, told.edges.T.tolist()))
    assert {(b, a) for a, b in after.edges.t().tolist()} == set(map(tuple, after.edges.t().tolist()))
    assert after.cut.shape[1] == 0


@pytest.mark.parametrize("target", ["fedavg", "fedprox", "scaffold", "pfedme", "ifca", "cfl", "fedem", "fedpub"])
def test_guarantee_nothing_reads_the_true_edges_once_the_private_graph_is_drawn(monkeypatch, target):
    """All that anybody sends is the same, bit by bit, whatever the true edges within clients are."""
    data = load_dataset("karate")
    frozen = {}

    def drawn(self, network, seed):
        return frozen.setdefault(network.nodes, Network(network.nodes, np.array([[0, 1, 2], [3, 2, 4]])))

    monkeypatch.setattr(TmF, "on_graph", drawn)
    owner = torch.arange(data.num_nodes) % 2
    monkeypatch.setattr(
        "gaudit.targets.federated.federated_averaging.partition",
        lambda data, *args, **more: replace_owner(data, owner),
    )
    made = find("targets", target)(answer_with="defended", **QUIET)
    runs = [sent(made, graph) for graph in (data, without(data, owner, 5))]
    assert runs[0].keys() == runs[1].keys()
    for key, tensors in runs[0].items():
        assert all(torch.equal(runs[1][key][name], tensor) for name, tensor in tensors.items()), key


def replace_owner(data, owner):
    from gaudit.targets.partition import Partition

    row, col = data.edge_index
    cut = data.edge_index[:, (owner[row] != owner[col]) & (row < col)]
    return Partition(owner, 2, "given", cut)


def without(data, owner, count):
    """The graph without some edges within clients."""
    row, col = data.edge_index
    inside = ((owner[row] == owner[col]) & (row < col)).nonzero().flatten()[:count]
    gone = {tuple(pair) for pair in data.edge_index[:, inside].t().tolist()}
    keep = torch.tensor([(min(a, b), max(a, b)) not in gone for a, b in data.edge_index.t().tolist()])
    fewer = data.clone()
    fewer.edge_index = data.edge_index[:, keep]
    return fewer


def sent(made, data):
    run = made(data, PrivateClientGraph(epsilon=1.0), np.random.SeedSequence(0), lambda message: True)
    return {(m.kind, m.sender, m.receiver, m.round): dict(m.tensors) for m in run.transcript.messages}


@pytest.mark.dear
def test_guarantee_no_event_is_likelier_than_e_to_the_epsilon_with_one_edge_more():
    """The most telling event, that the pair is linked: 99.9 % bounds on its chance with and without the edge."""
    epsilon, runs = 1.0, 2000
    without_it = [(1, 2), (3, 4)]
    seen = []
    for pairs in (without_it, [(0, 1), *without_it]):
        client, defense = client_of(5, pairs), PrivateClientGraph(epsilon=epsilon)
        seen.append(sum((0, 1) in pairs_of(released(client, defense, seed)) for seed in range(runs)))
    low = beta.ppf(5e-4, seen[1], runs - seen[1] + 1)
    high = beta.isf(5e-4, seen[0] + 1, runs - seen[0])
    assert low / high <= np.exp(epsilon)
    assert seen[1] > seen[0], "the edge leaves no trace at all: the test would not notice a leak"


def test_it_says_what_it_covers():
    promise = PrivateClientGraph(epsilon=2.0).promise()
    assert (promise.unit, float(promise.epsilon)) == ("edge", 2.0)
    assert "private graph" in promise.sentence()
    assert replace(promise, covers="x") != promise

"""What clients compute side by side is what the undivided graph gives, and the channel counts what it took."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import subgraph, to_undirected

from gaudit.graphs.datasets.bundled import karate
from gaudit.targets.channel import Channel
from gaudit.targets.federated.neighbour_exchange import exchange
from gaudit.targets.models.propagation import side_by_side
from gaudit.targets.partition import Partition, partition
from gaudit.targets.party import clients_of

HIDDEN = 5


@pytest.fixture(scope="module")
def graph():
    """The karate club with real-valued features."""
    data = karate()
    data.x = torch.randn(34, 6, generator=torch.Generator().manual_seed(0))
    data.train_mask[:] = True
    return data


@pytest.fixture(scope="module")
def layers():
    torch.manual_seed(1)
    layers = GCNConv(6, HIDDEN), GCNConv(HIDDEN, 3)
    for layer in layers:
        torch.nn.init.normal_(layer.bias)
    return layers


def pyg(layers, x, edge_index):
    first, second = layers
    with torch.no_grad():
        return second(first(x, edge_index).relu(), edge_index)


def ours(layers, near):
    first, second = layers
    with torch.no_grad():
        hidden = torch.relu(near.rows @ first.lin.weight.t() + first.bias)
        return near.second @ (hidden @ second.lin.weight.t()) + second.bias


def split(data, owner):
    owner = torch.as_tensor(owner)
    return clients_of(data, Partition(owner, int(owner.max()) + 1, "given", torch.empty(2, 0).long()))


def swapped(data, hops, clients, encrypted=False):
    channel = Channel()
    return exchange(clients, hops, data.num_nodes, channel, encrypted), channel.transcript


OWNERS = {
    "louvain": lambda d: partition(d, "louvain", 3, 0).owner,
    "dirichlet": lambda d: partition(d, "dirichlet", 3, 0).owner,
    "alternating": lambda d: torch.arange(34) % 4,
    "one against all": lambda d: (torch.arange(34) == 33).long(),
    "undivided": lambda d: torch.zeros(34).long(),
    "one node each": lambda d: torch.arange(34).flip(0),
}


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("owner", OWNERS.values(), ids=OWNERS.keys())
def test_two_hops_give_what_the_undivided_graph_gives(graph, layers, owner, encrypted):
    clients = split(graph, owner(graph))
    near, _ = swapped(graph, 2, clients, encrypted)
    everything = pyg(layers, graph.x, graph.edge_index)
    order = torch.cat([c.nodes for c in clients])
    assert torch.allclose(ours(layers, side_by_side(near)), everything[order], atol=1e-5)
    for client, part in zip(clients, near, strict=True):
        assert torch.allclose(ours(layers, part), everything[client.nodes], atol=1e-5)
        few = torch.arange(len(client.nodes))[::3]
        assert torch.allclose(ours(layers, part.of(few)), everything[client.nodes[few]], atol=1e-5)


def test_one_hop_is_exact_in_the_first_aggregation_and_lacks_others_in_the_second(graph, layers):
    clients = split(graph, torch.arange(34) % 4)
    near, _ = swapped(graph, 1, clients)
    once = GCNConv(6, 6, bias=False)
    once.lin.weight.data = torch.eye(6)
    with torch.no_grad():
        rows = once(graph.x, graph.edge_index)
    everything = pyg(layers, graph.x, graph.edge_index)
    scale = (graph.edge_index[0].bincount(minlength=34) + 1).float().rsqrt()
    for client, part in zip(clients, near, strict=True):
        assert torch.allclose(part.rows.to_dense(), rows[client.nodes], atol=1e-5)
        inside = torch.isin(
            client.nodes[:, None] * 34 + client.nodes, graph.edge_index[0] * 34 + graph.edge_index[1]
        )
        weights = (inside.float() + torch.eye(len(inside))) * scale[client.nodes, None] * scale[client.nodes]
        assert torch.allclose(part.second.to_dense(), weights, atol=1e-6)
        assert not torch.allclose(ours(layers, part), everything[client.nodes], atol=1e-3)


def test_without_hops_nothing_is_sent_and_each_client_has_its_induced_subgraph(graph, layers):
    clients = split(graph, torch.arange(34) % 4)
    near, transcript = swapped(graph, 0, clients)
    for client, part in zip(clients, near, strict=True):
        inside, _ = subgraph(client.nodes, graph.edge_index, relabel_nodes=True, num_nodes=34)
        assert torch.allclose(ours(layers, part), pyg(layers, client.x, inside), atol=1e-5)
    assert transcript.messages == []
    assert transcript.exposure(["server", "client:0"]) == []


@pytest.mark.parametrize(("hops", "encrypted"), [(1, False), (1, True), (2, False), (2, True)])
def test_every_message_is_counted_by_size(graph, hops, encrypted):
    clients = split(graph, torch.arange(34) % 4)
    _, transcript = swapped(graph, hops, clients, encrypted)
    touched, wanted = 0, 0
    for client in clients:
        neighbours = set(graph.edge_index[1, torch.isin(graph.edge_index[0], client.nodes)].tolist())
        touched += len(neighbours | set(client.nodes.tolist()))
        wanted += len(client.nodes) if hops == 1 else len(neighbours | set(client.nodes.tolist()))
    row = 4 * 6 + 4  # features and degree
    assert {r.kind: (r.count, r.nbytes, r.readable) for r in transcript.exposure(["server"])} == {
        "neighbour-ids": (4, 8 * touched, True),
        "neighbour-sums": (4, row * touched, not encrypted),
        "aggregated-rows": (4, (row + 8) * wanted, not encrypted),
    }
    assert {m.round for m in transcript.messages} == {-1}


def test_encrypted_sums_are_read_by_clients_only(graph):
    clients = split(graph, torch.arange(34) % 4)
    _, sealed = swapped(graph, 2, clients, encrypted=True)
    for kind in ("neighbour-sums", "aggregated-rows"):
        assert sealed.seen_by("server").of_kind(kind) == ()
        assert sealed.seen_by("public").of_kind(kind) == ()
        assert len(sealed.seen_by("client:1").of_kind(kind)) == 1
        assert len(sealed.seen_by("server", "client:1").of_kind(kind)) == 4
    # what routing needs stays readable
    assert len(sealed.seen_by("server").of_kind("neighbour-ids")) == 4
    _, plain = swapped(graph, 2, clients, encrypted=False)
    assert len(plain.seen_by("server").of_kind("neighbour-sums")) == 4


def test_a_client_sends_sums_of_its_own_neighbours_and_degrees_of_its_own_nodes(graph):
    clients = split(graph, torch.arange(34) % 4)
    _, transcript = swapped(graph, 2, clients)
    degree = graph.edge_index[0].bincount(minlength=34)
    adjacency = torch.eye(34)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    scaled = graph.x * (degree + 1).float().rsqrt()[:, None]
    for client in clients:
        ids, sums, _ = transcript.seen_by(client.name).messages
        nodes, own = ids.tensors["nodes"], torch.isin(torch.arange(34), client.nodes).float()
        expected = adjacency[nodes] @ (own[:, None] * scaled)
        assert torch.allclose(sums.tensors["sums"], expected, atol=1e-5)
        assert torch.equal(sums.tensors["degree"], (degree * own)[nodes])


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_clients_without_edges_take_part(layers, hops):
    edges = to_undirected(torch.tensor([[0, 1], [1, 2]]))
    masks = {name: torch.ones(6).bool() for name in ("train_mask", "val_mask", "test_mask")}
    data = Data(x=torch.randn(6, 6), y=torch.arange(6) % 2, edge_index=edges, **masks)
    clients = split(data, [0, 0, 0, 1, 1, 2])
    near, _ = swapped(data, hops, clients)
    everything = pyg(layers, data.x, edges)
    for client, part in zip(clients, near, strict=True):
        assert torch.allclose(ours(layers, part), everything[client.nodes], atol=1e-5)

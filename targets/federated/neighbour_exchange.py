"""One-step neighbour communication: what message passing across clients' borders needs (FedGCN; FedGC 3.1).

Each client sends, for every node it touches, the sum of its own neighbours' scaled features; the server adds
these up and gives each client the totals for its nodes (one hop), and for their neighbours too (two hops).
Raw rows never leave a client on purpose; a sum with a single contributor is one all the same.
"""

import torch
from torch import Tensor

from ..channel import Channel
from ..messages import AGGREGATED_ROWS_KIND, NEIGHBOUR_IDS_KIND, NEIGHBOUR_SUMS_KIND
from ..models.propagation import Neighbourhood, gcn_operator, sparse_features, sparse_operator
from ..party import Client

EXCHANGED_KINDS = (NEIGHBOUR_IDS_KIND, NEIGHBOUR_SUMS_KIND, AGGREGATED_ROWS_KIND)
"""What an exchange with hops sends."""


def exchange(
    clients: list[Client], hops: int, nodes: int, channel: Channel, encrypted: bool, round_: int = -1
) -> list[Neighbourhood]:
    """What each client's two-layer model reads, for all its own nodes in their order.

    With 0 hops nothing is sent: each client uses its own edges alone. Nothing is sent either where no client has an
    edge to another, since there is nothing to be told. With 1 hop the first aggregation is
    exact and the second lacks other clients' nodes. With 2 hops both are exact: side by side the clients
    compute what the undivided graph would give.

    Args:
        clients: the parties.
        hops: 0, 1 or 2.
        nodes: N, number of nodes of all clients.
        channel: what the messages go through.
        encrypted: homomorphic encryption, modelled: the server adds and relays what it cannot read.
        round_: the round that is recorded.
    """
    if hops == 0 or not any(client.cut.shape[1] for client in clients):
        return [_alone(client) for client in clients]
    sealed = ("server",) if encrypted else ()
    received = []
    for client in clients:
        near, sums, degree = _partial_sums(client)
        # which rows a client asks for and contributes to is needed for routing, encrypted or not
        ids = channel.send(NEIGHBOUR_IDS_KIND, client.name, "server", round_, {"nodes": near})
        own = {"sums": sums, "degree": degree}
        received.append((ids, channel.send(NEIGHBOUR_SUMS_KIND, client.name, "server", round_, own, sealed)))
    total = torch.zeros(nodes, clients[0].x.shape[1], device=clients[0].x.device)
    degree = torch.zeros(nodes, device=total.device)
    for ids, body in received:
        total.index_add_(0, ids["nodes"], body["sums"])
        degree.index_add_(0, ids["nodes"], body["degree"])
    return [_with_totals(client, hops, total, degree, channel, sealed, round_) for client in clients]


def _alone(client: Client) -> Neighbourhood:
    operator = gcn_operator(client.edges, len(client.nodes))
    return Neighbourhood(sparse_features((operator @ client.x).to_dense()), operator)


def _partial_sums(client: Client) -> tuple[Tensor, Tensor, Tensor]:
    """Touched nodes (global ids), sum of x_u / sqrt(d_u + 1) over own neighbours u, own degrees (else 0)."""
    scale = (client.degrees() + 1).float().rsqrt()
    own = torch.arange(len(client.nodes), device=client.x.device)
    source = torch.cat([own, client.edges[0], client.cut[0]])
    goal = torch.cat([client.nodes, client.nodes[client.edges[1]], client.cut[1]])
    near, place = goal.unique(return_inverse=True)
    adding = sparse_operator(place, source, scale[source], (len(near), len(own)))
    degree = torch.zeros(len(near), device=client.x.device)
    degree[torch.searchsorted(near, client.nodes)] = client.degrees().float()
    return near, adding @ client.x, degree


def _with_totals(
    client: Client,
    hops: int,
    total: Tensor,
    degree: Tensor,
    channel: Channel,
    sealed: tuple[str, ...],
    round_: int,
) -> Neighbourhood:
    outside = client.cut[1].unique() if hops == 2 else client.nodes[:0]
    wanted = torch.cat([client.nodes, outside])
    got = channel.send(
        AGGREGATED_ROWS_KIND,
        "server",
        client.name,
        round_,
        {"nodes": wanted, "sums": total[wanted], "degree": degree[wanted]},
        sealed,
    )
    scale = (got["degree"] + 1).rsqrt()
    rows = got["sums"] * scale[:, None]
    own = torch.arange(len(client.nodes), device=rows.device)
    row, col = torch.cat([own, client.edges[0]]), torch.cat([own, client.edges[1]])
    if hops == 2:
        row = torch.cat([row, client.cut[0]])
        col = torch.cat([col, len(own) + torch.searchsorted(outside, client.cut[1])])
    second = sparse_operator(row, col, scale[row] * scale[col], (len(own), len(wanted)))
    return Neighbourhood(sparse_features(rows), second)

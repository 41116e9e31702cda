"""Which client owns which node of a federated graph."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, unknown_name
from ..randomness import integer

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

METHODS = ("dirichlet", "louvain", "metis")

SMALLEST_CLIENT = 10
SLACK = 20
TRIES = 1000

Owners = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """The owner of every node.

    Attributes:
        owner: client number of each node, int64 [N].
        clients: number of clients; each owns at least one node.
        method: one of ``METHODS``.
        cut_edges: edges between nodes of two owners, each undirected edge once with u < v, int64 [2, c].
    """

    owner: Tensor
    clients: int
    method: str
    cut_edges: Tensor

    @classmethod
    def undivided(cls, nodes: int) -> Partition:
        """One client that owns all nodes."""
        import torch

        return cls(torch.zeros(nodes, dtype=torch.long), 1, "one", torch.empty((2, 0), dtype=torch.long))


def partition(
    data: Data, method: str, clients: int, seed: np.random.SeedSequence | int, beta: float = 1.0
) -> Partition:
    """Divides the nodes of a graph among clients.

    - ``dirichlet``: each class is spread over the clients in proportions drawn from Dirichlet(beta); a client
      receives nothing more once it holds N/K nodes; redrawn until the smallest client has 10 nodes (fewer
      in tiny graphs), as in the FedGCN and FedGC releases. Cuts most edges.
    - ``louvain``: communities (Louvain, resolution 1), chopped and packed into clients of about N/K nodes, as
      in FedSage and OpenFGL. Cuts few edges.
    - ``metis``: K balanced parts with few cut edges (Karypis and Kumar 1998).

    Unlike OpenFGL no random edge is given to a client that ends up without any: such an edge would falsify
    the truth about links, and graph convolutions add self-loops anyway.

    Args:
        data: a graph with symmetric ``edge_index`` and ``y``.
        method: one of ``METHODS``.
        clients: K, from 1 to N/2.
        seed: the same seed gives the same partition.
        beta: concentration of ``dirichlet``, above 0; large values give all clients the same class mixture.

    Raises:
        InputError: an unknown method, an impossible number of clients or ``beta``, or no partition found.
    """
    import torch

    if method not in METHODS:
        raise unknown_name("partition method", method, METHODS)
    nodes = int(data.num_nodes or 0)
    if not 1 <= clients <= nodes / 2:
        raise InputError(f"clients is {clients}: expected 1 to {nodes // 2}, half of the {nodes} nodes")
    if not (math.isfinite(beta) and beta > 0):
        raise InputError(f"beta is {beta}: expected a finite number above 0")
    seed = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    owner = torch.from_numpy(_owners(data, method, clients, seed, beta))
    return Partition(owner, clients, method, _cut_edges(data.edge_index, owner))


def _owners(data: Data, method: str, clients: int, seed: np.random.SeedSequence, beta: float) -> Owners:
    if clients == 1:
        return np.zeros(int(data.num_nodes or 0), dtype=np.int64)
    if method == "dirichlet":
        return _dirichlet(data.y.numpy(), clients, np.random.default_rng(seed), beta)
    if method == "louvain":
        return _packed(_communities(data, seed), int(data.num_nodes or 0), clients)
    return _metis(data, clients, seed)


def _cut_edges(edge_index: Tensor, owner: Tensor) -> Tensor:
    from torch_geometric.utils import coalesce

    row, col = edge_index
    between = edge_index[:, (owner[row] != owner[col]) & (row < col)]
    once: Tensor = coalesce(between, num_nodes=len(owner))
    return once


def _dirichlet(y: NDArray[np.int64], clients: int, rng: np.random.Generator, beta: float) -> Owners:
    smallest = max(1, min(SMALLEST_CLIENT, len(y) // (4 * clients)))
    for _ in range(TRIES):
        owner = _dirichlet_draw(y, clients, rng, beta)
        if np.bincount(owner, minlength=clients).min() >= smallest:
            return owner
    raise InputError(
        f"no dirichlet partition with at least {smallest} nodes per client found in {TRIES} draws "
        f"(clients={clients}, beta={beta}): use fewer clients or a larger beta"
    )


def _dirichlet_draw(y: NDArray[np.int64], clients: int, rng: np.random.Generator, beta: float) -> Owners:
    owner = np.zeros(len(y), dtype=np.int64)
    held = np.zeros(clients, dtype=np.int64)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        able = np.flatnonzero(held < len(y) / clients)
        shares = rng.dirichlet(np.full(len(able), beta))
        bounds = (np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
        owner[members] = able[np.searchsorted(bounds, np.arange(len(members)), side="right")]
        held += np.bincount(owner[members], minlength=clients)
    return owner


def _communities(data: Data, seed: np.random.SeedSequence) -> list[list[int]]:
    """Louvain communities, each with its nodes ascending."""
    import igraph

    row, col = data.edge_index
    graph = igraph.Graph(n=int(data.num_nodes or 0), edges=data.edge_index[:, row < col].T.contiguous().numpy())
    igraph.set_random_number_generator(random.Random(integer(seed)))
    try:
        found = graph.community_multilevel(resolution=1.0)
    finally:
        igraph.set_random_number_generator(random)
    return [sorted(members) for members in found]


def _packed(communities: Iterable[list[int]], nodes: int, clients: int) -> Owners:
    """Packs communities into clients of about N/K nodes.

    No client stays empty: a piece that fits nowhere within N/K would still fit into an empty client.
    """
    full = nodes // clients
    slack = min(SLACK, full // 2)
    longest = full - slack
    pieces = [group[at : at + longest] for group in communities for at in range(0, len(group), longest)]
    owner = np.zeros(nodes, dtype=np.int64)
    held = [0] * clients
    for piece in sorted(pieces, key=len, reverse=True):
        client = _room(held, len(piece), full, slack)
        owner[piece] = client
        held[client] += len(piece)
    return owner


def _room(held: list[int], size: int, full: int, slack: int) -> int:
    """The first client that stays within ``full``, else within ``full + slack``, else the least filled."""
    for limit in (full, full + slack):
        for client, count in enumerate(held):
            if count + size <= limit:
                return client
    return held.index(min(held))


def _metis(data: Data, clients: int, seed: np.random.SeedSequence) -> Owners:
    import pymetis
    import torch

    nodes = int(data.num_nodes or 0)
    row, col = data.edge_index
    near = col[torch.argsort(row, stable=True)].numpy()
    start = np.append(0, np.cumsum(np.bincount(row.numpy(), minlength=nodes)))
    adjacency = pymetis.CSRAdjacency(adj_starts=start, adjacent=near)
    for draw in seed.generate_state(10):
        options = pymetis.Options(seed=int(draw >> 1))
        _, parts = pymetis.part_graph(clients, adjacency=adjacency, options=options)
        owner = np.asarray(parts, dtype=np.int64)
        if len(np.unique(owner)) == clients:
            return owner
    raise InputError(f"METIS leaves clients empty when it divides {nodes} nodes by {clients}: use fewer clients")

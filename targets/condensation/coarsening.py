"""Graph coarsening as a release: groups of linked nodes become one node each."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ...errors import InputError
from ...graphs.network import Network
from ...randomness import integer
from .central import CentralCondensation, OwnGraph
from .condensed import CondensedGraph


class Coarsening(CentralCondensation):
    """Groups of nodes with few edges between them, each a node with the mean of their features.

    The groups are METIS' (Karypis and Kumar 1998), whose own first stage is coarsening by matchings of heavy
    edges; the baseline of Huang et al. (KDD 2021) merges by spectral similarity instead. A group has the label of
    most of its labelled nodes; groups without any are left out, so the release is smaller than asked for. Two
    groups are linked by the number of edges between them over the root of the product of their numbers of ends, at
    most 1.
    """

    name = "coarsening"

    trains = False

    def releases(self, graph: OwnGraph, seed: np.random.SeedSequence) -> Iterator[tuple[int, CondensedGraph]]:
        owner = graph.owner
        group = torch.from_numpy(_groups(owner.edges.cpu().numpy(), len(owner.nodes), graph.size, seed)).to(
            owner.x.device
        )
        yield (
            1,
            coarsened(owner.x, owner.edges, group, F.one_hot(owner.y_train, owner.classes) * owner.train[:, None]),
        )
        graph.notes.append(f"{graph.size} groups were made; those without a labelled node are not released")


def coarsened(x: Tensor, edges: Tensor, group: Tensor, labels: Tensor) -> CondensedGraph:
    """The graph of groups.

    Args:
        x: features [n, d].
        edges: both directions [2, e].
        group: of each node, [n].
        labels: one-hot, zero where there is none, [n, C].
    """
    count = int(group.max()) + 1
    member = F.one_hot(group, count).float()
    votes = member.t() @ labels.float()
    kept = votes.sum(1) > 0
    between = torch.zeros(count, count, device=x.device)
    between.index_put_(
        (group[edges[0]], group[edges[1]]), torch.ones(edges.shape[1], device=x.device), accumulate=True
    )
    scale = between.sum(1).clamp(min=1).rsqrt()
    adjacency = (scale[:, None] * between * scale).clamp(max=1).fill_diagonal_(0)  # rounding adds a last bit
    mean = (member.t() @ x) / member.sum(0).clamp(min=1)[:, None]
    return CondensedGraph(mean[kept], votes[kept].argmax(1), adjacency[kept][:, kept])


def _groups(edges: np.ndarray, nodes: int, count: int, seed: np.random.SeedSequence) -> np.ndarray:
    """The group of each node by METIS, [n], numbered from 0 without gaps."""
    import pymetis

    if count > nodes:
        raise InputError(f"a graph of {nodes} nodes cannot be coarsened to {count}: lower the ratio")
    low, high = edges[:, edges[0] < edges[1]]
    near = Network.from_edges(nodes, low, high).adjacency
    options = pymetis.Options(seed=integer(seed) % 2**31)
    _, parts = pymetis.part_graph(count, xadj=near.indptr, adjncy=near.indices, options=options)
    found: np.ndarray = np.unique(np.asarray(parts, dtype=np.int64), return_inverse=True)[1]
    return found

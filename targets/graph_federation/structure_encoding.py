"""What tells of a node's place in its graph, in numbers that mean the same in all graphs (FedStar)."""

import numpy as np
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from ..models.propagation import sparse_operator

DEGREES = 16
WALKS = 16
WIDTH = DEGREES + WALKS
AT_ONCE = 128
"""Nodes of a part of whom walks are followed at a time: bounds the memory."""


def structure_encoding(edges: Tensor, nodes: int) -> Tensor:
    """32 numbers of each node, [n, 32]: its degree, and how often walks from it come back.

    The first 16 are one-hot: degrees 1 to 16, larger ones as 16; a node without edges has none. The others are the
    diagonals of (D^-1 A)^j for j = 1 to 16 (Tan et al., AAAI 2023; widths as in the release). In the release a node
    without edges counts as one of degree 1, and its walks are not numbers.

    Args:
        edges: both directions [2, e].
        nodes: n.
    """
    degree = torch.bincount(edges[0], minlength=nodes)
    found = torch.zeros(nodes, WIDTH)
    linked = (degree > 0).nonzero().flatten()
    found[linked, degree[linked].clamp(max=DEGREES) - 1] = 1.0
    # rows of D^-1 A: from a node to one of its neighbours; here transposed, since a walk's chances are columns
    chances = sparse_operator(edges[1], edges[0], 1 / degree[edges[0]].float(), (nodes, nodes))
    place = _places(edges, nodes)
    for first in range(0, int(place.max()) + 1 if nodes else 0, AT_ONCE):
        here = ((place >= first) & (place < first + AT_ONCE)).nonzero().flatten()
        own = (here, place[here] - first)
        at = torch.zeros(nodes, int(own[1].max()) + 1)
        at[own] = 1.0
        for step in range(WALKS):
            at = chances @ at
            found[here, DEGREES + step] = at[own]
    return found


def _places(edges: Tensor, nodes: int) -> Tensor:
    """Each node's place among those that it is joined to by some path, from 0, [n].

    No walk leads out of a part, so that walks from nodes of several parts are followed in one column: as many
    columns as the largest part has nodes, and not as all graphs have together.
    """
    ends = edges.numpy()
    joined = coo_matrix((np.ones(ends.shape[1], np.int8), (ends[0], ends[1])), shape=(nodes, nodes))
    _, part = connected_components(joined, directed=False)
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], part[order])
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes) - starts
    return torch.from_numpy(place)

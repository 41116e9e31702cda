"""What tells of a node's place in its graph, in numbers that mean the same in all graphs (FedStar)."""

import torch
from torch import Tensor

from ..models.propagation import sparse_operator

DEGREES = 16
WALKS = 16
WIDTH = DEGREES + WALKS
AT_ONCE = 128
"""Nodes of whom walks are followed at a time: bounds the memory."""


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
    for start in torch.arange(nodes).split(AT_ONCE):
        at = torch.zeros(nodes, len(start))
        own = (start, torch.arange(len(start)))
        at[own] = 1.0
        for step in range(WALKS):
            at = chances @ at
            found[start, DEGREES + step] = at[own]
    return found

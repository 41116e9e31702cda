"""Graphs in which no node has more neighbours than a public bound."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PUBLIC_ORDER = 20211115
"""Seed of the order in which a node's neighbours count; it is nobody's secret and no graph's."""


@dataclass(frozen=True)
class Bounded:
    """What is left of a graph.

    Attributes:
        edges: both directions [2, e], each node at most ``most`` times in each row.
        dropped: edges, each counted once, that were dropped.
        above: nodes that had more neighbours than the bound.
    """

    edges: Tensor
    dropped: int
    above: int

    def lists(self, nodes: int, most: int) -> Tensor:
        """Neighbours of each node, [n, most], and -1 where there are no more."""
        row, col = self.edges
        order = torch.argsort(row, stable=True)
        row, col = row[order], col[order]
        found = torch.full((nodes, most), -1, dtype=torch.long, device=row.device)
        found[row, _ranks(row, nodes)] = col
        return found


def bounded(edges: Tensor, nodes: int, most: int) -> Bounded:
    """Keeps an edge if it is among the first ``most`` of both its ends, in a fixed order of all node ids.

    Which edges are kept follows from the edges alone. A graph that keeps the bound loses none; if one does not,
    a node that goes may let its neighbours keep other edges, and a promise to nodes *with their edges* no longer
    covers that. (No edge is chosen by features or labels: what noise hides of these alone, it hides anyway.)

    Args:
        edges: both directions [2, e], no loops.
        nodes: n.
        most: the public bound.
    """
    rank = torch.from_numpy(np.random.default_rng(PUBLIC_ORDER).permutation(nodes)).to(edges.device)
    row, col = edges
    order = torch.argsort(row * nodes + rank[col])
    place = torch.empty_like(row)
    place[order] = _ranks(row[order], nodes)
    early = place < most
    back = torch.argsort(row * nodes + col)[torch.argsort(torch.argsort(col * nodes + row))]
    kept = early & early[back]
    return Bounded(
        edges[:, kept],
        int((~kept).sum()) // 2,
        int((torch.bincount(row, minlength=nodes) > most).sum()),
    )


def what_was_dropped(graph: Bounded, most: int) -> str:
    """A sentence for who owns the graph."""
    return (
        f"{graph.above} nodes have more than {most} neighbours, and {graph.dropped} edges were left out of training"
        " (exact numbers, for the owner alone); of nodes with their edges the promise holds between graphs that"
        " keep the bound"
    )


def _ranks(row: Tensor, nodes: int) -> Tensor:
    """Place of each entry among those of the same row, where rows are sorted."""
    count = torch.bincount(row, minlength=nodes)
    return torch.arange(len(row), device=row.device) - (torch.cumsum(count, 0) - count)[row]

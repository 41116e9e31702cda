"""Collections of graphs: many small graphs as one, their disjoint union.

A collection is a graph like any other whose nodes say which graph they are of (``graph_of``). Labels and masks are
those of graphs, and each node bears its graph's: what reads them by node reads them right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .checks import check_graph
from .masks import MASKS

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

GRAPH_OF = "graph_of"
LEAST = 8
"""Graphs of a collection, at least: members and others of either class must be left."""


def is_collection(data: Data) -> bool:
    """Whether a graph is a collection of graphs."""
    return GRAPH_OF in data


def graphs_in(data: Data) -> int:
    """G, how many graphs a collection holds."""
    return int(data.graph_of[-1]) + 1


def sizes_of(data: Data) -> Tensor:
    """How many nodes each graph has, [G] int64."""
    import torch

    return torch.bincount(data.graph_of)


def first_nodes(data: Data) -> Tensor:
    """The first node of each graph, [G] int64: a graph's nodes follow each other."""
    sizes = sizes_of(data)
    return sizes.cumsum(0) - sizes


def by_graph(data: Data, field: str) -> Tensor:
    """A field of nodes that is the same within a graph (``y``, a mask), once for each graph, [G]."""
    told: Tensor = data[field][first_nodes(data)]
    return told


def reordered(data: Data, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Features, edges and ``graph_of`` of a collection whose graphs come in another order.

    Args:
        data: a checked collection.
        order: the old number of each graph, [G].
    """
    import torch

    sizes, place = sizes_of(data), torch.empty_like(order)
    place[order] = torch.arange(len(order))
    nodes = place[data.graph_of].argsort(stable=True)
    new = torch.empty_like(nodes)
    new[nodes] = torch.arange(len(nodes))
    return data.x[nodes], new[data.edge_index], torch.arange(len(order)).repeat_interleave(sizes[order])


def split_graphs(graphs: int, seed: int, train_share: float = 0.5, test_share: float = 0.4) -> dict[str, Tensor]:
    """A seeded split of graphs [G]: shares to train on and to test, the others for validation."""
    import torch

    place = torch.from_numpy(np.random.default_rng(seed).permutation(graphs))
    train, test = place < round(train_share * graphs), place >= graphs - round(test_share * graphs)
    return dict(zip(MASKS, (train, ~train & ~test, test), strict=True))


def collection_of(
    x: Tensor,
    edges: Tensor,
    graph_of: Tensor,
    labels: Tensor,
    source: str,
    split: dict[str, Tensor] | None = None,
) -> Data:
    """A checked collection with a split.

    Args:
        x: features, [N, d].
        edges: [2, E], in one direction or both.
        graph_of: number of each node's graph, ascending, [N].
        labels: class of each graph, [G].
        source: what it is called in errors.
        split: masks of graphs [G] by name; by default that of `split_graphs` with seed 0.

    Returns:
        What `check_graph` returns, and ``graph_of``.

    Raises:
        InputError: the parts do not make a collection.
    """
    import torch
    from torch_geometric.data import Data

    graphs = len(labels)
    if graphs < LEAST:
        raise InputError(f"{source}: {graphs} graphs are too few: a collection holds at least {LEAST}")
    counts = torch.bincount(graph_of, minlength=graphs)
    if len(counts) != graphs or not bool((graph_of.diff() >= 0).all()):
        raise InputError(f"{source}: nodes must come graph by graph, and name graphs from 0 to {graphs - 1}")
    if not bool(counts.all()):
        raise InputError(f"{source}: the graph {int((counts == 0).nonzero()[0])} has no node: leave it out")
    masks = {name: mask[graph_of] for name, mask in (split or split_graphs(graphs, 0)).items()}
    checked = check_graph(Data(x=x, y=labels[graph_of], edge_index=edges, **masks), source)
    between = graph_of[checked.edge_index[0]] != graph_of[checked.edge_index[1]]
    if bool(between.any()):
        one, other = checked.edge_index[:, between][:, 0].tolist()
        raise InputError(f"{source}: an edge joins nodes {one} and {other}, which are of two graphs")
    checked[GRAPH_OF] = graph_of
    return checked

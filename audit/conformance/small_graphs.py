"""Small graphs, the same at every call, on which classes run once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional as F

from ...graphs.checks import check_graph
from ...graphs.collection import collection_of
from ...graphs.directions import BOTH, FORWARD
from ...graphs.network import Network
from ...targets.party import Client

if TYPE_CHECKING:
    from torch_geometric.data import Data

NODES = 40
"""Of a network."""


def sixty_nodes() -> Data:
    """A graph of 60 nodes in three classes with 6, 4 and 2 labelled nodes, five features each."""
    from torch_geometric.data import Data
    from torch_geometric.utils import stochastic_blockmodel_graph

    with torch.random.fork_rng():
        torch.manual_seed(0)
        y = torch.arange(60) // 20
        chances = [[0.2 if i == j else 0.03 for i in range(3)] for j in range(3)]
        edges = stochastic_blockmodel_graph([20] * 3, chances)
        place = torch.arange(60) % 20  # of each class first the labelled, then 5 for validation and 8 for testing
        labelled = torch.tensor([6, 4, 2])[y]
        train, val = place < labelled, (place >= labelled) & (place < labelled + 5)
        test = (place >= labelled + 5) & (place < labelled + 13)
        x = torch.randn(60, 5) + 2 * F.one_hot(y, 5)
        masks = {"train_mask": train, "val_mask": val, "test_mask": test}
        return check_graph(Data(x=x, y=y, edge_index=edges, **masks), "sixty")


def forty_graphs() -> Data:
    """A collection of 40 rings of 4 to 8 nodes in two classes, three features each."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 9, 40)
    start = np.repeat(sizes.cumsum() - sizes, sizes)
    node = np.arange(len(start))
    edges = np.stack([node, start + (node - start + 1) % np.repeat(sizes, sizes)])
    graph_of, y = np.repeat(np.arange(40), sizes), np.arange(40) % 2
    x = torch.from_numpy(rng.normal(size=(len(node), 3)) + y[graph_of][:, None]).float()
    ends, of, labels = map(torch.from_numpy, (edges, graph_of, y))
    return collection_of(x, ends, of, labels, "forty")


def typed_network(nodes: int, seed: int, kinds: int = 3, share: float = 0.3, weighted: bool = False) -> Network:
    """A random network: each pair has an edge of each type with probability ``share``."""
    rng = np.random.default_rng(seed)
    drawn = [np.nonzero(np.triu(rng.random((nodes, nodes)) < share, 1)) for _ in range(kinds)]
    types = np.repeat(np.arange(kinds), [len(one) for one, _ in drawn])
    one, other = np.hstack(drawn)
    return Network.from_edges(nodes, one, other, rng.random(len(types)) if weighted else None, types)


def sparse_network(seed: int) -> Network:
    """A network of `NODES` nodes with edges of two types, each of which leads one way or both."""
    network = typed_network(NODES, seed, kinds=2, share=0.06)
    ways = np.random.default_rng(seed).integers(FORWARD, BOTH + 1, network.size)
    return replace(network, directions=ways)


def pair_of_nodes() -> Client:
    """A client of two nodes with labels that are trained on, and no edge."""
    none, two = torch.zeros(2, dtype=torch.bool), torch.zeros(2, dtype=torch.long)
    no_edges = torch.empty((2, 0), dtype=torch.long)
    return Client(0, torch.arange(2), torch.zeros(2, 1), two, two, ~none, none, none, ~none, no_edges, no_edges, 2)

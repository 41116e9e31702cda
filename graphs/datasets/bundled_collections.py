"""Collections of graphs that need no download: one with a known structure, one for positive controls."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F
from torch_geometric.data import Data

from ..collection import collection_of, split_graphs

ATOMS, RING = 5, 6
SHAPED = 0.5


def molecules(seed: int = 0) -> Data:
    """Synthetic molecules: 400 small graphs in two classes, told by whether they grow in chains or in bushes.

    Each is a ring of six onto which 6 to 20 more nodes have grown one by one: with probability `SHAPED` in the
    manner of its class, onto the last node or onto the ring, else onto any node. Nodes are of one of five kinds at
    random, in shares of their own for each graph. One label in ten is the wrong one: a model that gets these right
    has learned them by heart.

    Args:
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    graphs = 400
    bushy = rng.permutation(np.arange(graphs) % 2)
    parts = [_ring_with_tree(bool(kind), int(rng.integers(6, 21)), rng) for kind in bushy]
    sizes = [size for size, _ in parts]
    atoms = np.concatenate([rng.choice(ATOMS, size, p=rng.dirichlet(np.ones(ATOMS))) for size in sizes])
    wrong = rng.permutation(graphs) < graphs // 10
    x = F.one_hot(torch.from_numpy(atoms), ATOMS).float()
    split = split_graphs(graphs, seed)
    return _union(parts, x, np.where(wrong, 1 - bushy, bushy), "molecules", split)


def planted_graphs(seed: int = 0) -> Data:
    """Nothing to learn and everything to remember: 300 graphs of four nodes, random labels, their own words.

    Each graph has 6 of 800 words, dealt out to its nodes, which form a ring. For positive controls: whatever a
    model knows of these graphs it was told. A third are train graphs and a third test graphs.

    Args:
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    graphs, nodes, words, classes = 300, 4, 800, 4
    x = np.zeros((graphs * nodes, words), dtype=np.float32)
    for graph in range(graphs):
        x[graph * nodes + rng.integers(0, nodes, 6), rng.choice(words, 6, replace=False)] = 1
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    labels = rng.permutation(np.arange(graphs) % classes)
    split = split_graphs(graphs, seed, 1 / 3, 1 / 3)
    return _union([(nodes, ring)] * graphs, torch.from_numpy(x), labels, "planted-graphs", split)


def _ring_with_tree(bushy: bool, others: int, rng: np.random.Generator) -> tuple[int, NDArray[np.int64]]:
    """Size and edges [2, e] of a ring onto which others have grown."""
    circle = np.arange(RING)
    grown = np.arange(RING, RING + others)
    shaped = rng.random(others) < SHAPED
    onto = np.where(shaped, rng.integers(0, RING, others) if bushy else grown - 1, rng.integers(0, grown))
    edges = np.hstack([np.stack([circle, (circle + 1) % RING]), np.stack([grown, onto])])
    return RING + others, edges.astype(np.int64)


def _union(
    parts: list[tuple[int, NDArray[np.int64]]],
    x: torch.Tensor,
    labels: NDArray[np.int64],
    name: str,
    split: dict[str, torch.Tensor],
) -> Data:
    """Graphs, each with its size and edges, as one collection."""
    sizes = np.array([size for size, _ in parts])
    start = sizes.cumsum() - sizes
    edges = np.hstack([edges + first for (_, edges), first in zip(parts, start, strict=True)])
    graph_of = torch.from_numpy(np.repeat(np.arange(len(parts)), sizes))
    return collection_of(x, torch.from_numpy(edges), graph_of, torch.from_numpy(labels), name, split)

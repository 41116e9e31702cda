"""What graphs tell of themselves without any release: columns for blind baselines, a row for each graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...graphs.collection import by_graph, graphs_in, sizes_of
from ...graphs.network import Floats, Ints
from .public_columns import reduced_features

if TYPE_CHECKING:
    from torch_geometric.data import Data

REFINEMENTS = 3
COLOURS = 1024
"""Most frequent colours that a histogram counts in each refinement; what is rarer is left out."""


def nodes_of(data: Data) -> Ints:
    """How many nodes each graph has, [G]."""
    found: Ints = sizes_of(data).numpy()
    return found


def edges_of(data: Data) -> Ints:
    """How many edges each graph has, [G]."""
    found: Ints = np.bincount(data.graph_of[data.edge_index[0]].numpy(), minlength=graphs_in(data)) // 2
    return found


def density_of(data: Data) -> Floats:
    """The share of pairs of a graph's nodes that are linked, [G]; 0 for a single node."""
    nodes = nodes_of(data).astype(float)
    density: Floats = edges_of(data) / np.maximum(nodes * (nodes - 1) / 2, 1)
    return density


def graph_columns(data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
    """What each baseline sees of every graph, [G, columns], by name: ``all`` is all of these together."""
    labels, of = by_graph(data, "y").numpy(), data.graph_of.numpy()
    nodes, edges = nodes_of(data), edges_of(data)
    total = csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(len(nodes), len(of)))
    columns = {
        "nodes": _uneven(nodes),
        "edges": _uneven(edges),
        "density": _uneven(density_of(data)),
        "label": np.eye(int(labels.max()) + 1)[labels],
        "features": reduced_features(((total @ data.x.numpy()) / nodes[:, None]).astype(np.float32), seed),
        "colours": reduced_features(colour_shares(data), seed),
    }
    return columns | {"all": np.hstack(list(columns.values()))}


def _uneven(values: NDArray[np.number]) -> Floats:
    """A number, its logarithm and its distance from the middle: members may be large, small, or both."""
    row = np.log1p(values.astype(float))
    return np.column_stack([values, row, (row - np.median(row)) ** 2])


def colour_shares(data: Data) -> NDArray[np.float32]:
    """Histograms of Weisfeiler-Lehman colours (Shervashidze et al., JMLR 2011), as shares of a graph's nodes.

    Nodes begin with those of their features that are marks, 0 or 1 (kinds of atoms, say), and each refinement adds
    the colours around them. Row g holds for each refinement how often each colour occurs in graph g, [G, colours].
    """
    row, col = data.edge_index.numpy()
    of, nodes = data.graph_of.numpy(), nodes_of(data)
    x = data.x.numpy()
    marks = ((x == 0) | (x == 1)).all(0)
    colour = np.unique(x[:, marks], axis=0, return_inverse=True)[1].reshape(-1)
    histograms = [_histogram(colour, of, nodes)]
    for _ in range(REFINEMENTS):
        colour = refined(colour, row, col)
        histograms.append(_histogram(colour, of, nodes))
    return np.hstack(histograms)


def refined(colour: Ints, row: Ints, col: Ints) -> Ints:
    """New colours [N]: the same where old colours and the multisets of neighbours' colours are the same.

    A multiset is told by the sum of two random 62-bit words of its colours, and the number of its members: two
    different ones look alike with a probability of about 2^-120.
    """
    words = np.random.default_rng(0).integers(0, 2**62, (int(colour.max(initial=0)) + 1, 2), dtype=np.uint64)
    sums = np.zeros((len(colour), 2), dtype=np.uint64)
    np.add.at(sums, row, words[colour[col]])
    degree = np.bincount(row, minlength=len(colour)).astype(np.uint64)
    told = np.column_stack([colour.astype(np.uint64), degree, sums])
    found: Ints = np.unique(told, axis=0, return_inverse=True)[1].reshape(-1)
    return found


def _histogram(colour: Ints, of: Ints, nodes: Ints) -> NDArray[np.float32]:
    count = np.bincount(colour)
    kept = np.sort(np.argsort(-count, kind="stable")[:COLOURS])
    kept = kept[count[kept] > 1] if (count > 1).any() else kept
    place = np.full(len(count), -1)
    place[kept] = np.arange(len(kept))
    inside = place[colour] >= 0
    told = np.zeros((len(nodes), len(kept)), dtype=np.float32)
    np.add.at(told, (of[inside], place[colour[inside]]), 1)
    shares: NDArray[np.float32] = (told / nodes[:, None]).astype(np.float32)
    return shares

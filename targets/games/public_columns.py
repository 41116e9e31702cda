"""What the public graph tells of nodes, and of pairs of nodes, without any release: columns for blind baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Floats
from ...graphs.pyg import is_plain
from ...randomness import branch

if TYPE_CHECKING:
    from torch_geometric.data import Data

WIDEST = 32  # features are reduced to as many dimensions
SPARSE = 0.1  # share of non-zero features below which a sparse matrix is the faster
AT_ONCE = 1 << 16
PRIVATE = "degrees (private)"
"""The baseline that knows what no adversary knows."""


def node_columns(data: Data, seed: np.random.SeedSequence) -> dict[str, Floats]:
    """What each baseline sees of every node, [N, columns]: degree, label, features, homophily, and all of these."""
    classes, y = np.unique(data.y.numpy(), return_inverse=True)
    one_hot = np.eye(len(classes))[y]
    degree, homophily = _surroundings(data, one_hot, y)
    columns = {
        "degree": degree,
        "label": one_hot,
        "features": reduced_features(data.x.numpy(), seed),
        "homophily": homophily,
    }
    return columns | {"all": np.hstack(list(columns.values()))}


def _surroundings(data: Data, one_hot: Floats, y: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """What `_degree` and `_homophily` tell; no count of neighbours by class is kept."""
    from scipy.sparse import csr_array

    sources, targets = data.edge_index.numpy()
    adjacency = csr_array((np.ones(len(sources)), (sources, targets)), shape=(len(one_hot),) * 2)
    neighbours: Floats = adjacency @ one_hot
    del adjacency
    return _degree(neighbours.sum(1)), _homophily(neighbours, y)


def _degree(degree: Floats) -> Floats:
    """Log and rank, and the rank's distance from the middle: members may be hubs, leaves, or both or neither."""
    from scipy.stats import rankdata

    rank = rankdata(degree) / len(degree) - 0.5
    return np.column_stack([np.log1p(degree), rank, rank**2])


def reduced_features(x: NDArray[np.float32], seed: np.random.SeedSequence) -> Floats:
    """The feature rows; wide ones by their leading singular vectors, uncentred to keep the length of a row."""
    from scipy.sparse import csr_array
    from sklearn.utils.extmath import randomized_svd

    if x.shape[1] > WIDEST:
        state = int(branch(seed, "svd").generate_state(1)[0])
        rows = csr_array(x) if np.count_nonzero(x) < SPARSE * x.size else x
        left, sizes, _ = randomized_svd(rows, WIDEST, random_state=state)
        x = left * sizes
    return x.astype(np.float64)


def _homophily(neighbours: Floats, y: NDArray[np.intp]) -> Floats:
    """Whether there are neighbours, the share of them with the node's own label, and their labels' entropy.

    ``neighbours`` counts those of each class, [N, C], and is written over.
    """
    from scipy.special import entr

    total = neighbours.sum(1, keepdims=True)
    share = np.divide(neighbours, np.maximum(total, 1), out=neighbours)
    own = np.take_along_axis(share, y[:, None], 1)
    mixed = entr(share, out=share).sum(1)
    return np.column_stack([total > 0, own, mixed])


def pair_columns(data: Data, low: NDArray[np.int64], high: NDArray[np.int64]) -> dict[str, Floats]:
    """What each blind baseline sees of every pair [s]: ``label``, ``features``, both (``all``), private degrees.

    Of a graph without features and classes of its own there are the degrees alone.

    An adversary does not know the degrees, which are of the very graph in question: what they tell is shown, and
    explains no attack away.
    """
    degree = np.log1p(np.bincount(data.edge_index[0].cpu().numpy(), minlength=data.num_nodes))
    one, other = degree[low], degree[high]
    degrees = {PRIVATE: np.column_stack([one + other, one * other, np.abs(one - other)])}
    if is_plain(data):
        return degrees
    classes, y = np.unique(data.y.cpu().numpy(), return_inverse=True)
    same = (y[low] == y[high])[:, None]
    columns = {
        "label": np.hstack([same, same * np.eye(len(classes))[y[low]]]),
        "features": cosines(data.x.cpu().numpy(), low, high)[:, None],
    }
    return columns | {"all": np.hstack(list(columns.values()))} | degrees


def cosines(x: NDArray[np.float32], low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
    """Cosine of the two rows of each pair, [s]; 0 where a row is zero."""
    from scipy.sparse import csr_array

    length = np.linalg.norm(x, axis=1)
    rows = csr_array(x.astype(np.float64))
    dots = np.zeros(len(low))
    for at in range(0, len(low), AT_ONCE):
        some = slice(at, at + AT_ONCE)
        dots[some] = rows[low[some]].multiply(rows[high[some]]).sum(1)
    cosine: Floats = dots / np.maximum(length[low] * length[high], np.finfo(float).tiny)
    return cosine

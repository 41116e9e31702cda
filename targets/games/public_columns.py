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


def node_columns(data: Data, nodes: NDArray[np.int64], seed: np.random.SeedSequence) -> dict[str, Floats]:
    """What each baseline sees of some nodes, [s, columns]: degree, label, features, homophily, and all of these.

    The first four are parts of the last, so that nothing is held twice.
    """
    classes, y = np.unique(data.y.numpy(), return_inverse=True)
    features = _reduced(data.x.numpy(), seed)
    widths = 3, len(classes), features.shape[1], 3
    every = np.zeros((len(nodes), sum(widths)))
    parts = np.split(every, np.cumsum(widths[:-1]), axis=1)
    columns = dict(zip(("degree", "label", "features", "homophily"), parts, strict=True))
    columns["degree"][:] = _degree(np.bincount(data.edge_index[0].numpy(), minlength=len(y)))[nodes]
    columns["label"][np.arange(len(nodes)), y[nodes]] = 1
    columns["features"][:] = features[nodes]
    _put_homophily(columns["homophily"], data, nodes, y)
    return columns | {"all": every}


def _degree(degree: NDArray[np.int64]) -> Floats:
    """Log and rank, and the rank's distance from the middle: members may be hubs, leaves, or both or neither."""
    from scipy.stats import rankdata

    rank = rankdata(degree) / len(degree) - 0.5
    return np.column_stack([np.log1p(degree), rank, rank**2])


def reduced_features(x: NDArray[np.float32], seed: np.random.SeedSequence) -> Floats:
    """The feature rows; wide ones by their leading singular vectors, uncentred to keep the length of a row."""
    return _reduced(x, seed).astype(np.float64)


def _reduced(x: NDArray[np.float32], seed: np.random.SeedSequence) -> NDArray[np.float32]:
    from scipy.sparse import csr_array
    from sklearn.utils.extmath import randomized_svd

    if x.shape[1] <= WIDEST:
        return x
    state = int(branch(seed, "svd").generate_state(1)[0])
    rows = csr_array(x) if np.count_nonzero(x) < SPARSE * x.size else x
    left: NDArray[np.float32]
    left, sizes, _ = randomized_svd(rows, WIDEST, random_state=state)
    left *= sizes
    return left


def _put_homophily(columns: Floats, data: Data, nodes: NDArray[np.int64], y: NDArray[np.intp]) -> None:
    """Whether there are neighbours, the share of them with the node's own label, and their labels' entropy, [s, 3].

    Neighbours are counted by class for some nodes at a time.
    """
    from scipy.sparse import csr_array
    from scipy.special import entr

    everybody = np.arange(len(y), dtype=np.int32)
    labels = csr_array((np.ones(len(y)), (everybody, y.astype(np.int32))))
    ends = data.edge_index.numpy().astype(np.int32)
    adjacency = csr_array((np.ones(ends.shape[1], np.float32), (ends[0], ends[1])), shape=(len(y),) * 2)
    del ends
    for at in range(0, len(nodes), AT_ONCE):
        some = nodes[at : at + AT_ONCE]
        share = (adjacency[some] @ labels).toarray()
        total = share.sum(1, keepdims=True)
        share /= np.maximum(total, 1)
        own = np.take_along_axis(share, y[some, None], 1)
        columns[at : at + AT_ONCE] = np.column_stack([total > 0, own, entr(share, out=share).sum(1)])


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

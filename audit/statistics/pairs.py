"""What the public columns of two nodes tell of a link between them."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch_geometric.data import Data

from .metrics import Floats

AT_ONCE = 1 << 16
PRIVATE = "degrees (private)"
"""The baseline that knows what no adversary knows."""


def pair_columns(data: Data, low: NDArray[np.int64], high: NDArray[np.int64]) -> dict[str, Floats]:
    """What each blind baseline sees of every pair [s]: ``label``, ``features``, both (``all``), private degrees.

    An adversary does not know the degrees, which are of the very graph in question: what they tell is shown, and
    explains no attack away.
    """
    degree = np.log1p(np.bincount(data.edge_index[0].cpu().numpy(), minlength=data.num_nodes))
    one, other = degree[low], degree[high]
    classes, y = np.unique(data.y.cpu().numpy(), return_inverse=True)
    same = (y[low] == y[high])[:, None]
    columns = {
        "label": np.hstack([same, same * np.eye(len(classes))[y[low]]]),
        "features": cosines(data.x.cpu().numpy(), low, high)[:, None],
    }
    degrees = np.column_stack([one + other, one * other, np.abs(one - other)])
    return columns | {"all": np.hstack(list(columns.values())), PRIVATE: degrees}


def cosines(x: NDArray[np.float32], low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
    """Cosine of the two rows of each pair, [s]; 0 where a row is zero."""
    length = np.linalg.norm(x, axis=1)
    rows = csr_array(x.astype(np.float64))
    dots = np.zeros(len(low))
    for at in range(0, len(low), AT_ONCE):
        some = slice(at, at + AT_ONCE)
        dots[some] = rows[low[some]].multiply(rows[high[some]]).sum(1)
    cosine: Floats = dots / np.maximum(length[low] * length[high], np.finfo(float).tiny)
    return cosine

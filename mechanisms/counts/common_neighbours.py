"""How many neighbours two nodes have in common, for all pairs that have any."""

import numpy as np
from scipy.sparse import csr_array, triu

from ...graphs.network import Ints, Network


def shared(network: Network) -> csr_array:
    """Numbers of common neighbours, above the diagonal, in whole numbers [n, n]."""
    near = network.adjacency.astype(np.int64)
    found = csr_array(triu(near @ near, 1))
    found.eliminate_zeros()
    return found


def most_shared(common: csr_array) -> int:
    """The largest number of common neighbours of any pair; 0 where none has any."""
    return int(common.data.max(initial=0))


def shared_by_linked(network: Network, common: csr_array) -> Ints:
    """The number of common neighbours of both ends of each edge, [m]."""
    low, high = network.edges
    found: Ints = at(common, low, high)
    return found


def at(matrix: csr_array, rows: Ints, columns: Ints) -> Ints:
    """Entries of a sparse matrix of whole numbers, [s]."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    found: Ints = np.asarray(matrix[rows, columns]).ravel().astype(np.int64)
    return found

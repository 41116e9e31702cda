"""Cuts and the Laplacian of a network, estimated from pairs that passed by one of two chances each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from ...errors import InputError
from ...graphs.network import Floats, Network


@dataclass(frozen=True)
class CutEstimate:
    """How many edges lead out of a set of nodes.

    Attributes:
        edges: the estimate; without bias, so that it may be below 0.
        deviation: of its error.
    """

    edges: float
    deviation: float


@dataclass(frozen=True)
class Corrected:
    """What the told pairs say of the network behind them.

    Attributes:
        told: the pairs that passed.
        linked: chance that a linked pair passed, above ``other``.
        other: chance that another pair passed.
    """

    told: Network
    linked: float
    other: float

    def cut(self, inside: NDArray[np.bool_]) -> CutEstimate:
        """The number of edges between some nodes and all others.

        With P pairs of which x are edges, told - b P has the mean (a - b) x and the variance
        x a (1 - a) + (P - x) b (1 - b), since pairs pass on their own. The estimate of x takes its place there.

        Args:
            inside: a mask of the nodes, [n].

        Raises:
            InputError: it is no mask of these nodes.
        """
        inside = np.asarray(inside)
        if inside.dtype != np.bool_ or inside.shape != (self.told.nodes,):
            raise InputError(f"a cut needs a mask of {self.told.nodes} nodes, True for those on one side")
        low, high = self.told.edges
        pairs = int(inside.sum()) * int((~inside).sum())
        gap = self.linked - self.other
        edges = float((inside[low] != inside[high]).sum() - self.other * pairs) / gap
        likely = min(max(edges, 0.0), pairs)
        spread = likely * self.linked * (1 - self.linked) + (pairs - likely) * self.other * (1 - self.other)
        return CutEstimate(edges, float(np.sqrt(spread)) / gap)

    def laplacian(self) -> LinearOperator:
        """The Laplacian estimated entry by entry without bias, symmetric, [n, n]; it may have negative eigenvalues.

        It is (L of the told pairs - b L of all pairs) / (a - b). A product takes as long as there are told pairs.
        """
        n, gap, matrix = self.told.nodes, self.linked - self.other, self.told.adjacency
        degrees = np.asarray(matrix.sum(1), dtype=np.float64).ravel()

        def product(vector: Floats) -> Floats:
            x = np.asarray(vector, dtype=np.float64).ravel()
            found: Floats = (degrees * x - matrix @ x - self.other * (n * x - x.sum())) / gap
            return found

        return LinearOperator((n, n), matvec=product, rmatvec=product, dtype=np.float64)

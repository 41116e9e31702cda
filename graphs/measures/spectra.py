"""The largest adjacency eigenvalue and the algebraic connectivity of a network's largest component."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, eye_array

from ..network import Ints, Network

SMALL = 500
"""Nodes up to which all eigenvalues are computed."""
WIDEST, MOST_FILL = 400, 50_000_000
"""Entries that a factor of the Laplacian may have by estimate, on average a node and in all; 24 bytes each."""
SHIFT = 1e-9
"""Of the Laplacian, which is singular, before it is factorised."""
PRECISE = 1e-3
"""Residual, as a share of the eigenvalue, at which an iteration ends; the eigenvalue is off by about its square."""
CLOSE = 1e-5
"""Error of the largest eigenvalue at most, as a share of it."""
STEPS, ROUNDS = 400, 10


@dataclass(frozen=True)
class Eigenvalue:
    """An eigenvalue, how it was computed, and how exactly.

    Attributes:
        value: the eigenvalue.
        residual: length of A v - value v for the unit vector v that was found; an eigenvalue is that near.
        method: of computing it.
    """

    value: float
    residual: float
    method: str


def largest_component(network: Network) -> csr_array:
    """Adjacency of the largest component (of several, that of the first node), [n', n']."""
    from scipy.sparse.csgraph import connected_components

    matrix = network.adjacency
    _, label = connected_components(matrix, directed=False)
    inside = np.flatnonzero(label == np.bincount(label).argmax())
    return csr_array(matrix[inside][:, inside])


def adjacency_radius(component: csr_array, rng: np.random.Generator) -> Eigenvalue:
    """lambda_1, the largest eigenvalue of the adjacency: dense up to 500 nodes, then Lanczos (ARPACK).

    Args:
        component: symmetric adjacency of a connected graph.
        rng: of the starting vector.
    """
    if component.shape[0] <= SMALL:
        return _dense(component, -1)
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    start = component.sum(axis=1) * rng.random(component.shape[0])
    try:
        value, vector = eigsh(component, k=1, which="LA", v0=start, tol=CLOSE, maxiter=ROUNDS * STEPS)
    except ArpackNoConvergence:  # eigenvalues that lie as close to each other as those of a long path
        return _iterated(component, start[:, None], largest=True)
    return Eigenvalue(float(value[0]), _residual(component, float(value[0]), vector[:, 0]), "Lanczos")


def algebraic_connectivity(component: csr_array, rng: np.random.Generator) -> Eigenvalue:
    """mu_2, the second smallest eigenvalue of the Laplacian D - A (the smallest is 0).

    Dense up to 500 nodes. Where a factor of the Laplacian stays small (trees, rings, grids, small cores), Lanczos
    on its inverse. Otherwise LOBPCG on what is orthogonal to the constant vector, preconditioned by the Laplacian
    without the edges between nodes of the 2-core (which keep their degree): without fill, and exact on the trees
    that hang on the core, where small eigenvalues live. About 2 s for 75,877 nodes and 405,739 edges.

    Args:
        component: symmetric adjacency of a connected graph.
        rng: of the starting vector.
    """
    nodes = component.shape[0]
    laplacian = csr_array(diags_array(component.sum(axis=1)) - component)
    if nodes <= SMALL:
        return _dense(laplacian, 1)
    core = _core(component)
    start = rng.standard_normal(nodes)
    if _fill(component, core) <= min(WIDEST * nodes, MOST_FILL):
        return _inverted(laplacian, start)
    order, trees = _trees_first(component, core)
    moved = csr_array(laplacian[order][:, order])
    return _iterated(moved, start[:, None], preconditioner=_factor(_without_core(moved, trees), "NATURAL"))


def _dense(matrix: csr_array, which: int) -> Eigenvalue:
    values = np.linalg.eigvalsh(matrix.toarray())
    return Eigenvalue(float(values[which]) if len(values) > 1 else 0.0, 0.0, "dense")


def _residual(matrix: csr_array, value: float, vector: Any) -> float:
    return float(np.linalg.norm(matrix @ vector - value * vector) / np.linalg.norm(vector))


def _core(component: csr_array) -> Ints:
    """Nodes of the 2-core, or the node of the highest degree of a tree."""
    import igraph

    row, column = component.nonzero()
    upper = row < column
    graph = igraph.Graph(n=component.shape[0], edges=np.stack([row[upper], column[upper]], axis=1))
    inside = np.flatnonzero(np.array(graph.coreness()) >= 2)
    return inside if len(inside) else np.array([int(component.sum(axis=1).argmax())])


def _fill(component: csr_array, core: Ints) -> int:
    """Bound on the entries of a factor of the Laplacian: the envelope of the 2-core in Cuthill and McKee's order.

    Trees cost nothing more; SuperLU's own order is better still.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    inner = csr_array(component[core][:, core])
    order = reverse_cuthill_mckee(inner, symmetric_mode=True)
    row, column = csr_array(inner[order][:, order]).nonzero()
    lowest = np.arange(len(core))
    np.minimum.at(lowest, row, column)
    return int((np.arange(len(core)) - lowest).sum())


def _inverted(laplacian: csr_array, start: Any) -> Eigenvalue:
    from scipy.sparse.linalg import LinearOperator, eigsh

    shifted = csc_array(laplacian + SHIFT * eye_array(laplacian.shape[0]))
    solve = LinearOperator(laplacian.shape, matvec=_factor(shifted, "MMD_AT_PLUS_A").solve, dtype=np.float64)
    values, vectors = eigsh(laplacian, k=2, sigma=-SHIFT, which="LM", OPinv=solve, v0=start)
    second = int(values.argmax())
    value = float(values[second])
    return Eigenvalue(value, _residual(laplacian, value, vectors[:, second]), "Lanczos on the inverse")


def _factor(matrix: csc_array, order: Literal["NATURAL", "MMD_AT_PLUS_A"]) -> Any:
    """Factors of a symmetric positive definite matrix."""
    from scipy.sparse.linalg import splu

    return splu(matrix, permc_spec=order, diag_pivot_thresh=0, options={"SymmetricMode": True})


def _trees_first(component: csr_array, core: Ints) -> tuple[Ints, int]:
    """An order of nodes in which each one outside the 2-core comes before its parent; how many these are."""
    from scipy.sparse.csgraph import breadth_first_order

    nodes = component.shape[0]
    start = np.append(component.indptr, component.indptr[-1] + len(core))
    column = np.concatenate([component.indices, core])
    rooted = csr_array((np.ones(len(column)), column, start), shape=(nodes + 1, nodes + 1))  # a root above the core
    order = breadth_first_order(rooted, nodes, return_predecessors=False)[1:]
    outside = np.ones(nodes, dtype=bool)
    outside[core] = False
    return np.concatenate([order[outside[order]][::-1], core]), nodes - len(core)


def _without_core(laplacian: csr_array, trees: int) -> csc_array:
    """The Laplacian without edges between nodes from ``trees`` on; positive definite, as they keep their degree."""
    parts = laplacian.tocoo()
    kept = (parts.row == parts.col) | (np.minimum(parts.row, parts.col) < trees)
    return csc_array((parts.data[kept], (parts.row[kept], parts.col[kept])), shape=laplacian.shape)


def _iterated(matrix: csr_array, start: Any, preconditioner: Any = None, largest: bool = False) -> Eigenvalue:
    """LOBPCG, in rounds, since its tolerance is absolute and the eigenvalue is not known before."""
    from scipy.sparse.linalg import LinearOperator, lobpcg

    nodes = matrix.shape[0]
    options: dict[str, Any] = {}
    if preconditioner is not None:
        solve = preconditioner.solve
        options["M"] = LinearOperator(matrix.shape, matvec=solve, matmat=solve, dtype=np.float64)
        options["Y"] = np.full((nodes, 1), nodes**-0.5)
    vector, tolerance, residual, value = start, PRECISE, np.inf, 0.0
    for _ in range(ROUNDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the tolerance was not reached, which the residual tells
            values, vector = lobpcg(matrix, vector, tol=tolerance, maxiter=STEPS, largest=largest, **options)
        value = float(values[0])
        residual = _residual(matrix, value, vector[:, 0])
        if residual <= PRECISE * abs(value):
            break
        tolerance = PRECISE / 2 * abs(value)
    reached = residual <= PRECISE * abs(value)
    return Eigenvalue(value, residual, "LOBPCG" if reached else f"LOBPCG, off by up to {residual:.1g}")

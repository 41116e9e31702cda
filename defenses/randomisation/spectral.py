"""The two eigenvalues of a network that randomisation is to keep, and what a change of edges does to them.

lambda_1 is the largest eigenvalue of the adjacency matrix (how fast things spread), mu_2 the second smallest of the
Laplacian D - A (how well its parts hang together). Ying and Wu 2008 (SDM, "Randomizing social networks: a spectrum
preserving approach") choose changes by their first-order effect on both.
"""

import warnings

import numpy as np
from scipy.sparse import csr_array

from ...graphs.network import Floats, Ints

DENSE = 250
"""Nodes up to which matrices are taken as dense; above, only few eigenvalues are computed."""
BLOCK = 5
"""Smallest eigenvectors followed at a time: the second smallest changes places with the next ones."""
ITERATIONS = 400
PRECISION = 1e-4
"""Of residuals, relative to the eigenvalue, which is finer: its error goes with the square of the residual."""


def leading_pair(
    adjacency: csr_array, start: Floats | None = None, precision: float = PRECISION
) -> tuple[float, Floats]:
    """lambda_1 and its unit eigenvector with no negative entry, [n].

    Args:
        adjacency: symmetric, of a graph with an edge, [n, n].
        start: the eigenvector of a graph like it.
        precision: of the residual, relative to the eigenvalue.
    """
    from scipy.linalg import eigh
    from scipy.sparse.linalg import eigsh

    nodes = adjacency.shape[0]
    if nodes <= DENSE:
        values, vectors = eigh(adjacency.toarray(), subset_by_index=[nodes - 1, nodes - 1])
    else:
        begin = np.ones(nodes) if start is None else start
        values, vectors = eigsh(adjacency, 1, which="LA", v0=begin, tol=precision)
    return float(values[0]), np.abs(vectors[:, 0])


def low_pairs(
    adjacency: csr_array, start: Floats | None = None, precision: float = PRECISION
) -> tuple[Floats, Floats]:
    """mu_2 and the next eigenvalues of a connected graph's Laplacian, ascending, and unit eigenvectors.

    By LOBPCG (Knyazev 2001), orthogonal to the constant vector and with the degrees as preconditioner: as with the
    matrix of a random walk, few steps are enough where walks mix fast, as on social networks. Where it does not
    converge, as on long chains, the matrix is sparse enough to be factorised.

    Args:
        adjacency: symmetric, of a connected graph with at least two nodes, [n, n].
        start: eigenvectors of a graph like it, [n, k].
        precision: of the residual, relative to mu_2.

    Returns:
        [k] and [n, k], with k no more than `BLOCK`.
    """
    from scipy.linalg import eigh
    from scipy.sparse import diags_array

    nodes, matrix = adjacency.shape[0], csr_array(diags_array(adjacency.sum(0)) - adjacency)
    if nodes <= DENSE:
        values, vectors = eigh(matrix.toarray(), subset_by_index=[1, min(BLOCK, nodes - 1)])
        return values, vectors
    values, vectors = _by_steps(matrix, start, precision)
    residual = np.linalg.norm(matrix @ vectors[:, 0] - values[0] * vectors[:, 0])
    return (values, vectors) if residual <= 10 * precision * values[0] else _by_factors(matrix)


def _by_steps(matrix: csr_array, start: Floats | None, precision: float) -> tuple[Floats, Floats]:
    """By LOBPCG; whether it converged is for the caller to look at."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import lobpcg

    nodes = matrix.shape[0]
    constant, scale = np.ones((nodes, 1)), diags_array(1 / matrix.diagonal()).tocsr()
    if start is None:
        start = np.random.default_rng(nodes).normal(size=(nodes, BLOCK))  # decides where the search starts, no more
    vectors = np.linalg.qr(start - start.mean(0))[0]
    value = min(np.diag(vectors.T @ (matrix @ vectors)))
    for _ in range(2):  # from far away mu_2 is not known, on which the goal depends
        goal = precision * value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            values, vectors = lobpcg(
                matrix, vectors, M=scale, Y=constant, tol=goal, maxiter=ITERATIONS, largest=False
            )
        value = values.min()
        if goal <= 1.5 * precision * value:
            break
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _by_factors(matrix: csr_array) -> tuple[Floats, Floats]:
    """By inverse iteration with the factors of the matrix, shifted a little so that it has an inverse."""
    from scipy.sparse.linalg import eigsh

    values, vectors = eigsh(matrix.tocsc(), BLOCK + 1, sigma=-1e-9 * matrix.diagonal().max())
    order = np.argsort(values)[1:]  # the first is 0, of the constant vector
    return values[order], vectors[:, order]


def switch_effects(vectors: Floats, t: Ints, w: Ints, u: Ints, v: Ints) -> tuple[Floats, Floats]:
    """First-order changes of lambda_1 and mu_2 when (t, w), (u, v) become (t, v), (u, w).

    That of lambda_1 is a lower bound of the true change and that of mu_2 an upper one: both are Rayleigh quotients
    of the old eigenvectors. So lambda_1 grows for certain where it says so and mu_2 shrinks; other signs may fail.

    Args:
        vectors: unit eigenvectors of lambda_1 and mu_2, [n, 2].
        t, w, u, v: nodes, [s] each.

    Returns:
        [s] each.
    """
    product = (vectors[t] - vectors[u]) * (vectors[v] - vectors[w])
    return 2 * product[..., 0], -2 * product[..., 1]


def edit_effects(vectors: Floats, added: Ints, deleted: Ints) -> tuple[Floats, Floats]:
    """First-order changes of lambda_1 and mu_2 when edges are added and others deleted; bounds as for switches.

    Args:
        vectors: unit eigenvectors of lambda_1 and mu_2, [n, 2].
        added: ends of the edge that each edit adds, [2, s].
        deleted: ends of the one that it deletes, [2, s].

    Returns:
        [s] each.
    """
    (i, j), (p, q) = added, deleted
    spread = 2 * (vectors[i, 0] * vectors[j, 0] - vectors[p, 0] * vectors[q, 0])
    return spread, (vectors[i, 1] - vectors[j, 1]) ** 2 - (vectors[p, 1] - vectors[q, 1]) ** 2

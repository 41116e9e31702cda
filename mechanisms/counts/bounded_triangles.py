"""Triangles, private in nodes, by a linear programme that bounds what a node adds (Kasiviswanathan et al. 2013)."""

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...errors import InputError
from ...graphs.network import Floats, Ints, Network
from ..exact_noise import discrete_laplace
from ..guarantee import Released
from ..node_private import node_guarantee
from ..public_inputs import drawable_epsilon, laplace_scale, linked, whole

STEPS = 2**10
"""Steps of the grid in 1."""


def bounded_triangles(
    network: Network, epsilon: Fraction | float, bound: int, rng: np.random.Generator | None = None
) -> Released:
    """The number of triangles, epsilon-private in nodes: neighbours differ in one node with all its edges.

    The value of a linear programme (`triangle_extension`) is rounded to a grid of 2^-10 and gets discrete Laplace
    noise in its steps. The sensitivity allows two steps for rounding and for a solution that is wrong by up to half
    a step; how wrong it can be is read off the solution, by duality.

    Args:
        network: any.
        epsilon: above 0.
        bound: public degree bound D, 2 or more. With larger degrees the value is too small.
        rng: for audits only; None draws fresh entropy.

    Returns:
        A multiple of 2^-10, which can be negative.

    Raises:
        InputError: epsilon not above 0, a bound below 2, a network of counts, or a programme that is not solved.
    """
    budget, bound = drawable_epsilon(epsilon), whole("the degree bound", bound, 2)
    steps = round(triangle_extension(network, bound) * STEPS)
    sensitivity = triangle_extension_sensitivity(bound) * STEPS + 2
    noisy = steps + int(discrete_laplace(laplace_scale(sensitivity, budget), 1, rng)[0])
    notes = (
        f"triangles of nodes in more than {triangle_extension_sensitivity(bound)} count in part",
        "it can be negative",
    )
    return Released(noisy / STEPS, node_guarantee(budget, bound), Fraction(sensitivity, STEPS), notes)


def triangle_extension(network: Network, bound: int) -> float:
    """The most that triangles can count, each 0 to 1, if those of any node count at most D (D - 1) / 2 together.

    It is the number of triangles where no degree exceeds D. It may be too large by less than half a step (`STEPS`).

    Only triangles with a node that has too many are weighed; all others count in full, as nothing stops them.

    Raises:
        InputError: a bound below 2, or the programme is not solved so exactly.
    """
    bound = whole("the degree bound", bound, 2)
    corners, most = _triangles(linked(network)), triangle_extension_sensitivity(bound)
    times = np.bincount(corners.ravel(), minlength=network.nodes)
    crowded = times > most
    weighed = corners[crowded[corners].any(axis=1)]
    free = len(corners) - len(weighed)
    if not len(weighed):
        return float(free)
    place, column = np.nonzero(crowded[weighed])
    nodes = np.unique(weighed[place, column], return_inverse=True)[1]
    cells = csr_array((np.ones(len(nodes)), (nodes, place)), shape=(int(nodes.max()) + 1, len(weighed)))
    return free + _solved(cells, most)


def triangle_extension_sensitivity(bound: int) -> int:
    """Change of `triangle_extension` by one node with its edges: what its triangles count, at most D (D - 1) / 2.

    Without the node the others may count as they do, and with it they still may, and its own nothing.
    """
    return bound * (bound - 1) // 2


def _triangles(network: Network) -> Ints:
    """The corners of each triangle, [t, 3]."""
    found: Ints = np.array(network.igraph().list_triangles(), dtype=np.int64).reshape(-1, 3)
    return found


def _solved(cells: csr_array, most: int) -> float:
    """The largest sum of x from 0 to 1, [t], with ``cells`` x at most ``most``, to half a step of the grid.

    Raises:
        InputError: the solver stops without a solution, or with one whose bounds lie further apart.
    """
    from scipy.optimize import linprog

    rows, columns = cells.shape
    limits: Any = {
        "A_ub": cells,
        "b_ub": np.full(rows, most),
        "bounds": (0, 1),
    }  # scipy's types know no sparse ones
    found = linprog(-np.ones(columns), method="highs", **limits)
    gap = np.inf
    if found.status == 0 and found.x is not None:
        low, high = _below(cells, most, found.x), _above(cells, most, -found.ineqlin.marginals)
        gap = high - low
    if not gap < 1 / (2 * STEPS):
        raise InputError(
            f"the linear programme of {columns:,} triangles is not solved "
            f"({' '.join(found.message.split())[:80]}): no number can be released; try a larger degree bound"
        )
    return high


def _below(cells: csr_array, most: int, x: Floats) -> float:
    """A sum that is possible: x, with what is beyond a limit taken off."""
    kept = np.clip(x, 0, 1)
    over = np.maximum(cells @ kept / most, 1)
    worst = np.maximum.reduceat(over[cells.T.tocsr().indices], cells.T.tocsr().indptr[:-1])
    return float((kept / worst).sum())


def _above(cells: csr_array, most: int, prices: Floats) -> float:
    """A sum that none exceeds: by any prices of nodes from 0, a triangle is worth what these leave of 1."""
    paid = np.maximum(prices, 0)
    return float(most * paid.sum() + np.maximum(1 - cells.T @ paid, 0).sum())

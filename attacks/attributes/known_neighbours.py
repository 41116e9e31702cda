"""What people's links tell of an attribute, where it is known of some of them: nobody's own value comes back."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from ...graphs.network import Floats

STEPS = 10
"""Of smoothing."""
KEPT = 0.9
"""Share of what is smoothed that goes on to neighbours at each step."""
PRIOR = 1.0
"""Known people whose values are those of everybody, added to what neighbours tell."""


def neighbour_columns(
    adjacency: csr_array, known: NDArray[np.intp], told: NDArray[np.bool_], fold: NDArray[np.intp]
) -> dict[str, Floats]:
    """Shares of known people with the value near each person, one column [n, 1] each.

    By name: ``neighbours`` (among neighbours), ``two steps`` (among those at the ends of walks of two steps) and
    ``smoothed`` (label propagation with restart, Zhou et al., NIPS 2003, of having the value over that of being
    known). Walks of two and more steps lead back to where they began. So that a known person's value does not get
    into its own columns, these are made without the values of its fold; all others' are made with all values.

    Args:
        adjacency: symmetric, [n, n].
        known: people whose attribute is known, [k].
        told: whether they have the value, [k].
        fold: of each of them, [k].
    """
    found = _columns(adjacency, known, told)
    for number in np.unique(fold):
        inside = fold == number
        without = _columns(adjacency, known[~inside], told[~inside])
        for name, column in without.items():
            found[name][known[inside]] = column[known[inside]]
    return found


def _columns(adjacency: csr_array, known: NDArray[np.intp], told: NDArray[np.bool_]) -> dict[str, Floats]:
    size = adjacency.shape[0]
    first = np.zeros((size, 2))  # who is known, and who has the value among them
    first[known, 0], first[known, 1] = 1, told
    common = float(told.mean())
    degree = np.maximum(adjacency.sum(1), 1)
    step = csr_array(diags_array(1 / degree) @ adjacency)
    near = adjacency @ first
    smoothed = first
    for _ in range(STEPS):
        smoothed = KEPT * (step @ smoothed) + (1 - KEPT) * first
    tiny = float(np.finfo(np.float32).tiny)
    return {
        "neighbours": _share(near, common, PRIOR),
        "two steps": _share(adjacency @ (step @ first), common, PRIOR),
        "smoothed": _share(smoothed, common, tiny),
    }


def _share(sums: Floats, common: float, prior: float) -> Floats:
    """Of how many who are known, [n, 2], the share with the value, drawn to that of everybody, [n, 1]."""
    found: Floats = (sums[:, 1:] + prior * common) / (sums[:, :1] + prior)
    return found


def mean_of_neighbours(adjacency: csr_array, rows: Floats) -> Floats:
    """The mean row of each person's neighbours [n, c], and the logarithm of their number; 0 without any."""
    degree = adjacency.sum(1)
    mean: Floats = (adjacency @ rows) / np.maximum(degree, 1)[:, None]
    return np.column_stack([mean, np.log1p(degree)])

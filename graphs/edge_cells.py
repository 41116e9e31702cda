"""Weights that do not tell which edges are new.

A new edge needs a weight. One that it copies from another edge betrays both where weights are fine: two edges share
a value that no third one has. One drawn between two others betrays itself where values lie closer than elsewhere.
So edges share cells here, and every cell has one weight, as many edges and as many new ones as any other: whoever
knows an edge's weight alone knows nothing of whether it is new. What weights tell together with the structure, say
of a weak tie between hubs, is not hidden.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ALIKE = 10
"""Edges that share each weight, at least."""


def shared_cells(weights: Floats, new: int, rng: np.random.Generator, alike: int = ALIKE) -> tuple[Ints, Ints]:
    """Cells of edges of like weight: that of each old edge [s], and that of each new one [new].

    Old edges are cut by the rank of their weight, equal ones in random order; new ones are dealt at random. There
    are at most as many cells as new edges, so that none is without; sizes, and numbers of new edges, differ by one
    where they do not divide, and which cells are larger is random. Fixed-size microaggregation of one variable
    (Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 2002), with room for the new edges.

    Args:
        weights: of old edges, at least one [s].
        new: number of new edges, at least one.
        rng: of all that is random.
        alike: edges of a cell, at least, where there are as many.
    """
    total = len(weights) + new
    most = max(min(new, total // alike, len(weights) // 2), 1)  # half: no cell lacks an old edge
    count = new // -(-new // most)
    dealt = rng.permutation(even_sizes(new, count))
    old = rng.permutation(even_sizes(total, count)) - dealt
    cell = np.empty(len(weights), dtype=np.int64)
    cell[np.lexsort((rng.random(len(weights)), weights))] = np.repeat(np.arange(count), old)
    return cell, rng.permutation(np.repeat(np.arange(count), dealt))


def medians(weights: Floats, cell: Ints) -> Floats:
    """The lower median of the weights in each cell, which is one of them: whole numbers stay whole, [c]."""
    order = np.lexsort((weights, cell))
    sizes = np.bincount(cell)
    middle: Floats = weights[order][np.cumsum(sizes) - sizes + (sizes - 1) // 2]
    return middle


def like_in_cell(cell: Ints, new: Ints, rng: np.random.Generator) -> Ints:
    """For each new edge the position of a random old one of its cell, [new]."""
    sizes = np.bincount(cell)
    first = np.cumsum(sizes) - sizes
    positions: Ints = np.argsort(cell, kind="stable")[first[new] + rng.integers(sizes[new])]
    return positions


def even_sizes(items: int, cells: int) -> Ints:
    """Sizes of cells that differ by one at most, [cells]."""
    return np.bincount(np.arange(items) * cells // items, minlength=cells)

"""Numbers of edges between classes of nodes that fit the degrees of these nodes, from noisy ones."""

import numpy as np

from ...graphs.network import Floats, Ints

BALANCING = 300
"""Times that rows and columns are scaled to their sums."""
CLOSE = 1e-6


def fitting(noisy: Ints, ends: Ints, scale: float, rng: np.random.Generator) -> Ints:
    """Whole numbers of edges between classes, so that every class has as many edge ends as its nodes' degrees say.

    What deviates from random mixing by no more than noise does (the largest of so many noises, about) is taken for
    random mixing; then rows and columns are scaled to their sums, and rounded at random.

    Args:
        noisy: numbers of edges between classes, which may be negative, [c, c] upper triangular.
        ends: edge ends of each class, with an even sum, [c].
        scale: of the noise in each number.
        rng: of the rounding.

    Returns:
        Numbers of at least 0, [c, c] upper triangular. Without noise, and where the numbers fit, they stay.
    """
    total = int(ends.sum())
    if total == 0:
        return np.zeros_like(noisy)
    mixing = np.outer(ends, ends) / total
    told = (noisy + noisy.T).astype(np.float64)  # ends from class to class: twice the edges on the diagonal
    level = scale * np.log(max(noisy.size, 2))
    if level >= 0.5:
        unclear = np.abs(told - mixing) <= level * (1 + np.eye(len(ends)))
        told = np.where(unclear, mixing, told)
    return rounded(balanced(np.maximum(told, 0) + CLOSE**2 * mixing, ends), ends, rng)


def balanced(table: Floats, sums: Ints) -> Floats:
    """A symmetric table scaled until its rows have these sums or a little less (Sinkhorn), [c, c]."""
    for _ in range(BALANCING):
        factor = _factors(table, sums)
        if np.abs(factor - 1).max(initial=0) < CLOSE**2:
            break
        table = table * np.sqrt(np.outer(factor, factor))
    factor = np.minimum(_factors(table, sums), 1)
    found: Floats = table * np.minimum(factor[:, None], factor)
    return found


def _factors(table: Floats, sums: Ints) -> Floats:
    """What each row lacks or has too much, as a factor; 1 where nothing is there and nothing is wanted."""
    there = table.sum(axis=1)
    found: Floats = np.where(sums > 0, sums / np.where(there > 0, there, 1), np.where(there > 0, 0, 1))
    return found


def rounded(table: Floats, sums: Ints, rng: np.random.Generator) -> Ints:
    """Numbers of edges whose rows, as edge ends, have exactly the sums.

    Each number is rounded down, or up with a chance of what rounding down takes off, if its classes have ends left;
    ends that are left then are paired up at random.

    Args:
        table: edge ends from class to class, symmetric, rows at most ``sums``, [c, c].
        sums: edge ends of each class, with an even sum, [c].
        rng: of the rounding.
    """
    edges = np.triu(table) / (1 + np.eye(len(sums)))
    whole = np.floor(edges + CLOSE).astype(np.int64)
    left = sums - (whole + whole.T).sum(axis=1)
    up = np.argwhere(rng.random(edges.shape) < edges - whole - CLOSE)
    for a, b in rng.permutation(up).tolist():
        if left[a] > 0 and left[b] > (a == b):
            whole[a, b] += 1
            left[a] -= 1
            left[b] -= 1
    pairs = np.sort(rng.permutation(np.repeat(np.arange(len(sums)), left)).reshape(-1, 2), axis=1)
    np.add.at(whole, (pairs[:, 0], pairs[:, 1]), 1)
    return whole

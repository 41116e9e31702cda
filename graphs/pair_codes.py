"""Unordered pairs of nodes as whole numbers."""

import numpy as np
from numpy.typing import NDArray


def codes(low: np.ndarray, high: np.ndarray, nodes: int) -> NDArray[np.int64]:
    """One whole number for each unordered pair of nodes, [s] int64; ``nodes`` is N."""
    first, second = np.minimum(low, high), np.maximum(low, high)
    coded: NDArray[np.int64] = first.astype(np.int64) * nodes + second
    return coded


def ends(coded: NDArray[np.int64], nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two nodes of each pair, the smaller first: the inverse of `codes`."""
    return coded // nodes, coded % nodes


def pairs_at(places: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Codes of the pairs at some places of the list (0, 1), (0, 2), ..., (1, 2), ..."""
    low = np.arange(nodes, dtype=np.int64)
    starts = low * (nodes - 1) - low * (low - 1) // 2  # first place of each smaller node
    first = np.searchsorted(starts[: max(nodes - 1, 1)], places, side="right") - 1
    return codes(first, first + 1 + places - starts[first], nodes)


def pairs_beside(places: NDArray[np.int64], taken: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Codes of the pairs at some places of that list without some pairs, whose codes ascend."""
    low, high = ends(taken, nodes)
    gone = low * (nodes - 1) - low * (low - 1) // 2 + high - low - 1
    return pairs_at(places + np.searchsorted(gone - np.arange(len(gone)), places, side="right"), nodes)


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value once, ascending.

    ``numpy.unique`` hashes whole numbers, which for codes of pairs is twenty times as slow as sorting them.
    """
    ordered = np.sort(values)
    found: NDArray[np.int64] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def first_of_each(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which places [s] hold a value for the first time."""
    order = np.argsort(values, kind="stable")
    ordered, first = values[order], np.zeros(len(values), dtype=bool)
    first[order[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]] = True
    return first


def listed(values: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the values are among others that ascend, [s] bool."""
    if not len(ascending):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[place] == values
    return found

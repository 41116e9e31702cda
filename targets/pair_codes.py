"""Unordered pairs of nodes as whole numbers."""

import numpy as np


def codes(low: np.ndarray, high: np.ndarray, nodes: int) -> np.ndarray:
    """One whole number for each unordered pair of nodes, [s] int64; ``nodes`` is N."""
    first, second = np.minimum(low, high), np.maximum(low, high)
    coded: np.ndarray = first.astype(np.int64) * nodes + second
    return coded


def ends(coded: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The two nodes of each pair, the smaller first: the inverse of `codes`."""
    return coded // nodes, coded % nodes

"""Candidate sets that many persons share."""

from collections.abc import Sequence

import numpy as np

from ...graphs.network import Ints
from .identity import Candidates


def shared(sets: Sequence[Ints], own: Ints) -> Candidates:
    """Candidates of persons of whom many have the same set, which is kept once.

    Args:
        sets: published nodes, ascending within each.
        own: for each person the place of its set among these, [p].
    """
    sizes = np.array([len(s) for s in sets], dtype=np.int64)
    start = np.cumsum(sizes) - sizes
    return Candidates(start[own], sizes[own], np.concatenate(sets).astype(np.int64))

"""Which published node looks most like a person, where none looks the same: degree profiles.

A profile is a node's degree and the distribution of its neighbours' degrees. Two copies of a network of which one
has lost or won a few edges have few equal profiles and many that are close (Ding, Ma, Wu and Xu 2021, "Efficient
random graph matching via degree profiles").
"""

import numpy as np

from ...graphs.network import Floats, Ints, Network
from .identity_attack import Candidates

QUANTILES = 8
"""Points at which the neighbours' degrees are compared."""


def degree_profiles(network: Network) -> Floats:
    """Of each node the logarithm of 1 + its degree and quantiles of that of its neighbours, [n, 1 + QUANTILES].

    The mean absolute difference of two nodes' quantiles is the first Wasserstein distance between their neighbours'
    degrees, up to their number. Nodes without neighbours have zeros.
    """
    graph, size = network.adjacency, np.log1p(network.degrees)
    found = np.zeros((network.nodes, 1 + QUANTILES))
    found[:, 0] = size
    row = np.repeat(np.arange(network.nodes), np.diff(graph.indptr))
    near = size[graph.indices]
    ordered = near[np.lexsort((near, row))]
    count = np.diff(graph.indptr)
    some = count > 0
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    places = graph.indptr[:-1][some, None] + (at * count[some, None]).astype(np.int64)
    found[some, 1:] = ordered[places] / QUANTILES
    return found


def nearest(known: Floats, seen: Floats) -> Candidates:
    """For each person [p, q] the published nodes [n', q] with the nearest profile (city-block distance).

    Nodes with one profile are candidates together. Memory O(p + n').
    """
    from scipy.spatial import cKDTree

    rows, row = np.unique(seen, axis=0, return_inverse=True)
    place = np.asarray(cKDTree(rows).query(known, p=1)[1], dtype=np.int64)
    return Candidates.of_keys(place, row.ravel().astype(np.int64))


def nearest_of_key(known: Floats, seen: Floats, known_keys: Ints, seen_keys: Ints) -> Candidates:
    """For each person the nearest of those published nodes that share its key; nobody where none does.

    Args:
        known: profiles of persons [p, q].
        seen: profiles of published nodes [n', q].
        known_keys: of persons [p].
        seen_keys: of published nodes [n'].
    """
    place = np.unique(np.concatenate([known_keys, seen_keys]), return_inverse=True)[1]
    every = np.concatenate([known, seen])
    apart = 1 + 2 * float(np.ptp(every, axis=0).sum()) if len(every) else 1.0  # further than any two profiles
    both = np.column_stack([every, apart * place])
    mine, theirs = both[: len(known)], both[len(known) :]
    found = nearest(mine, theirs)
    there = np.isin(known_keys, seen_keys)
    return Candidates(found.start, np.where(there, found.sizes, 0), found.listed)


def backed_by(found: Candidates, other: Candidates) -> Candidates:
    """The sets of ``found``, and for persons of whom it has no candidate those of ``other``."""
    empty = found.sizes == 0
    return Candidates(
        np.where(empty, other.start + len(found.listed), found.start),
        np.where(empty, other.sizes, found.sizes),
        np.concatenate([found.listed, other.listed]),
    )


def of_degrees(degrees: Ints) -> Floats:
    """The profile of whoever knows degrees alone, [n, 1]."""
    return np.log1p(degrees.astype(np.float64))[:, None]

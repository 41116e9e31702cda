"""Nodes of two graphs that are the same by their place alone: hubs, and others by their distances from these."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from ...graphs.network import Floats, Ints, Network
from .degree_profiles import degree_profiles

SPARE = 0.25
"""Hubs of the other graph beyond those of the one: not all are hubs in both."""
ROUNDS = 20
PROFILE = 0.3
"""What a difference of profiles weighs beside shared neighbours among the hubs, or beside distances."""
REFERENCES = 50
"""Hubs from which distances are measured."""
CLOSER = 0.8
"""Share of the distance of the second candidate below which the first counts as found."""
DEPTH = 8
"""Distances beyond this are not told apart."""


def structural_seeds(one: Network, other: Network, hubs: int = 400, nodes: int = 2_000) -> Ints:
    """Pairs of nodes of two graphs that are likely the same, with no seed to begin with, [2, s].

    From degrees, neighbourhoods and distances from landmarks, as the seedless attacks that Ji et al. 2015
    (SecGraph) compare. First ``hubs`` nodes of highest degree are matched by the degrees of their neighbours
    (`degree_profiles`), and then, round after round, by the neighbours among the hubs that they share under
    the match so far. Then all ``nodes`` of highest degree are compared by their distances from the first hubs
    and by their profiles; taken are pairs of which each is by far the other's nearest.

    Args:
        one: of n nodes.
        other: of n' nodes.
        hubs: how many to begin with.
        nodes: how many to compare in the end.
    """
    rows = [_largest(network, nodes) for network in (one, other)]
    profiles = [_centred(network, row) for network, row in zip((one, other), rows, strict=True)]
    first = matched_hubs(one, other, profiles[0], profiles[1], hubs)
    references = first[:, :REFERENCES]
    mine, theirs = (
        np.column_stack([landmark_distances(g, r)[row] / max(len(r), 1), PROFILE * p[row]])
        for g, r, p, row in zip((one, other), references, profiles, rows, strict=True)
    )
    a, b = _mutually_nearest(cdist(mine, theirs, "cityblock"))
    return np.stack([rows[0][a], rows[1][b]]) if len(a) else first


def matched_hubs(one: Network, other: Network, profile: Floats, other_profile: Floats, hubs: int) -> Ints:
    """Nodes of highest degree of the one graph and the other's that fit them best altogether, [2, h]."""
    rows = _largest(one, min(hubs, other.nodes)), _largest(other, round(hubs * (1 + SPARE)))
    apart = cdist(profile[rows[0]], other_profile[rows[1]], "cityblock")
    apart /= max(np.median(apart), 1e-9) if apart.size else 1.0
    inside = [g.adjacency[r][:, r].toarray() for g, r in zip((one, other), rows, strict=True)]
    scale = np.sqrt(np.maximum(np.outer(inside[0].sum(1), inside[1].sum(1)), 1))
    found = linear_sum_assignment(apart)[1]
    for _ in range(ROUNDS):
        shared = inside[0] @ inside[1][:, found].T / scale
        again = linear_sum_assignment(PROFILE * apart - shared)[1]
        if (again == found).all():
            break
        found = again
    return np.stack([rows[0], rows[1][found]])


def _centred(network: Network, row: Ints) -> Floats:
    """Degree profiles [n, q] less the mean of some nodes: one graph may have fewer edges everywhere."""
    profile = degree_profiles(network)
    return profile - profile[row].mean(0) if len(row) else profile


def landmark_distances(network: Network, landmarks: Ints, depth: int = DEPTH) -> Floats:
    """Edges between each node and each landmark, ``depth`` + 1 where there are more or no path, [n, l]."""
    reached = np.zeros((network.nodes, len(landmarks)), dtype=bool)
    reached[landmarks, np.arange(len(landmarks))] = True
    found = np.where(reached, 0.0, depth + 1.0)
    fresh = reached.copy()
    for step in range(1, depth + 1):
        fresh = (network.adjacency @ fresh.astype(np.float32) > 0) & ~reached
        if not fresh.any():
            break
        found[fresh], reached = step, reached | fresh
    return found


def _largest(network: Network, count: int) -> Ints:
    """The nodes of highest degree, of equal ones those with lower ids, which are random."""
    return np.argsort(-network.plain().degrees, kind="stable")[:count].astype(np.int64)


def _mutually_nearest(apart: Floats) -> tuple[Ints, Ints]:
    """Rows and columns of which each is the other's nearest, and for the row by far."""
    if min(apart.shape) < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    first = apart.argmin(1)
    two = np.partition(apart, 1, axis=1)
    rows = np.flatnonzero((apart.argmin(0)[first] == np.arange(len(apart))) & (two[:, 0] < CLOSER * two[:, 1]))
    return rows, first[rows]

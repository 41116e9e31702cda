"""Features of a connected graph that randomisation is to keep."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from ...graphs.network import Floats, Ints, Network, Verified
from .largest_component import largest_component, within
from .spectral import PRECISION, leading_pair, low_pairs
from .switching_chain import kept_share

Feature = Literal["lambda_1", "mu_2", "transitivity", "distance"]
SPECTRUM: tuple[Feature, ...] = ("lambda_1", "mu_2")
SOURCES = 512
"""Nodes from which distances are measured where there are more, equally spaced in their ids."""
WORD = 64
"""Searches that run side by side, one to a bit of a machine word."""


@dataclass(frozen=True, eq=False)
class Features:
    """What was measured of a connected graph: a value for each feature, and eigenvectors where there are any.

    Attributes:
        values: by name.
        leading: of lambda_1, [n].
        low: of mu_2 and the next eigenvalues of the Laplacian, [n, k].
        triangles: how many there are, where transitivity was measured.
    """

    values: dict[Feature, float]
    leading: Floats | None = None
    low: Floats | None = None
    triangles: int | None = None

    def near(self, target: "Features", tolerance: float) -> bool:
        """Whether every value is within a relative tolerance of another's."""
        return all(abs(v - target.values[k]) <= tolerance * abs(target.values[k]) for k, v in self.values.items())

    def tracked(self) -> dict[str, float]:
        """The values that a chain follows change by change."""
        found = {name: value for name, value in self.values.items() if name in SPECTRUM}
        return found | ({} if self.triangles is None else {"triangles": float(self.triangles)})


def features(
    adjacency: csr_array,
    names: Collection[Feature],
    like: Features | None = None,
    triangles: int | None = None,
    precision: float = PRECISION,
) -> Features:
    """Measures features of a connected graph.

    Args:
        adjacency: symmetric, of a connected graph with at least two nodes, [n, n].
        names: ``lambda_1`` and ``mu_2`` (see `spectral`); ``transitivity``, the share of paths of two edges whose
            ends are linked; ``distance``, the harmonic mean of the lengths of shortest paths.
        like: of a graph like it, from whose eigenvectors to start.
        triangles: how many there are, where that is known.
        precision: of the eigenvectors' residuals, relative.
    """
    values: dict[Feature, float] = {}
    leading = low = None
    if "lambda_1" in names:
        values["lambda_1"], leading = leading_pair(adjacency, like.leading if like else None, precision)
    if "mu_2" in names:
        smallest, low = low_pairs(adjacency, like.low if like else None, precision)
        values["mu_2"] = float(smallest[0])
    if "transitivity" in names:
        triangles = count_triangles(adjacency) if triangles is None else triangles
        degrees = np.diff(adjacency.indptr).astype(np.int64)
        values["transitivity"] = 3 * triangles / max(int((degrees * (degrees - 1) // 2).sum()), 1)
    if "distance" in names:
        values["distance"] = harmonic_distance(adjacency)
    return Features(values, leading, low, triangles if "transitivity" in names else None)


def count_triangles(adjacency: csr_array) -> int:
    """Number of triangles; each edge points to the end with more edges, so that hubs cost little."""
    row, col = adjacency.nonzero()
    rank = np.empty(adjacency.shape[0], dtype=np.int64)
    rank[np.argsort(np.diff(adjacency.indptr), kind="stable")] = np.arange(len(rank))
    up = rank[row] < rank[col]
    onwards = csr_array((np.ones(int(up.sum()), dtype=np.int64), (row[up], col[up])), shape=adjacency.shape)
    return int((onwards @ onwards).multiply(onwards).sum())


def harmonic_distance(adjacency: csr_array) -> float:
    """Harmonic mean of the lengths of shortest paths from up to `SOURCES` nodes to all others.

    Breadth-first searches from 64 nodes at a time: a node's word has a bit for each search that reached it.

    Args:
        adjacency: symmetric, of a connected graph with at least two nodes, [n, n].
    """
    nodes = adjacency.shape[0]
    sources = np.unique(np.linspace(0, nodes - 1, min(nodes, SOURCES)).round().astype(np.int64))
    closeness = sum(_closeness(adjacency, sources[k : k + WORD]) for k in range(0, len(sources), WORD))
    return len(sources) * (nodes - 1) / closeness


def _closeness(adjacency: csr_array, sources: Ints) -> float:
    """Sum of one over the distance from up to 64 nodes to all others."""
    reached = np.zeros(adjacency.shape[0], dtype=np.uint64)
    reached[sources] = np.uint64(1) << np.arange(len(sources), dtype=np.uint64)
    front, distance, total = reached, 0, 0.0
    while front.any():
        distance += 1
        front = np.bitwise_or.reduceat(front[adjacency.indices], adjacency.indptr[:-1]) & ~reached
        reached = reached | front
        total += int.from_bytes(front.tobytes(), "little").bit_count() / distance
    return total


def verify_features(before: Network, after: Network, names: Collection[Feature], tolerance: float) -> Verified:
    """Whether features of the largest component are within a relative tolerance of what they were.

    Looked at are the nodes of the largest component of ``before``, which must be connected in ``after`` too.
    """
    told = " and ".join([", ".join(names[:-1]), names[-1]] if len(names := list(names)) > 1 else names)
    guarantee = f"{told} of the largest component stay within {tolerance:.0%}"
    nodes = largest_component(before.plain())
    if before.nodes > after.nodes:
        return Verified(guarantee, False, f"{before.nodes} nodes became {after.nodes}")
    was, now = within(before, nodes), within(after, nodes)
    if len(nodes) < 2:
        return Verified(guarantee, True, "there is no edge")
    if len(largest_component(now)) < len(nodes):
        return Verified(guarantee, False, f"its {len(nodes)} nodes are no longer connected")
    old, new = features(was.adjacency, names), features(now.adjacency, names)
    changes = ", ".join(f"{name} {old.values[name]:.4g} -> {new.values[name]:.4g}" for name in names)
    detail = f"{changes}; {kept_share(was, now):.1%} of its edges are still there"
    return Verified(guarantee, new.near(old, tolerance), detail)


def verify_spectrum(before: Network, after: Network, tolerance: float) -> Verified:
    """Whether lambda_1 and mu_2 of the largest component are within a relative tolerance of what they were."""
    return verify_features(before, after, SPECTRUM, tolerance)


def both(one: Verified, other: Verified) -> Verified:
    """Two guarantees as one."""
    joint = f"{one.guarantee}, and {other.guarantee}"
    return Verified(joint, one.holds and other.holds, f"{one.detail}; {other.detail}")

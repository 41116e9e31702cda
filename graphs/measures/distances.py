"""How far apart nodes are: breadth-first searches from sampled sources."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..network import Ints, Network

SOURCES = 200
FEW_STEPS = 4_000_000
"""Looks at a node or an edge up to which Python is done before the compiler of loops would be imported."""
QUANTILE = 0.9
"""Share of the connected pairs that lies within the effective diameter (Leskovec, Kleinberg and Faloutsos 2005)."""


@dataclass(frozen=True, eq=False)
class Distances:
    """Numbers of nodes by their distance from sampled sources.

    Attributes:
        nodes: n.
        reached: of each source, how many nodes are 1, 2, .. edges away, [s, d].
    """

    nodes: int
    reached: Ints

    @property
    def harmonic(self) -> tuple[float, float]:
        """Harmonic mean distance of all pairs of nodes (infinite distances count), and its standard error.

        Infinite where no source reaches anybody. What Ying and Wu (2008) call h.
        """
        if not self.reached.size:
            return float("inf"), 0.0
        nearness = self.reached @ (1 / np.arange(1, self.reached.shape[1] + 1)) / (self.nodes - 1)
        mean = float(nearness.mean())
        return 1 / mean, self._error(nearness) / mean**2

    @property
    def effective_diameter(self) -> tuple[float, float]:
        """Distance within which 90 % of connected pairs lie, linear between whole numbers, and its standard error.

        0 where no source reaches anybody. The error is that of a quantile of a sample of sources, each of which
        brings all its pairs: the error of the share below, divided by the share at this distance.
        """
        if not self.reached.size:
            return 0.0, 0.0
        within = np.concatenate([np.zeros((len(self.reached), 1)), np.cumsum(self.reached, axis=1)], axis=1)
        every = within[:, -1].sum()
        high = int(np.searchsorted(within.sum(axis=0), QUANTILE * every))
        below, at = within[:, high - 1], within[:, high] - within[:, high - 1]
        part = (QUANTILE * every - below.sum()) / at.sum()
        off = below + part * at - QUANTILE * within[:, -1]
        return high - 1 + float(part), self._error(off) * len(off) / float(at.sum())

    def _error(self, values: Any) -> float:
        """Standard error of the mean over sources, which were drawn without replacement; 0 where all were drawn."""
        drawn = len(values)
        left = 1 - drawn / self.nodes
        return float(np.std(values, ddof=1) * np.sqrt(left / drawn)) if drawn > 1 and left > 0 else 0.0


def distances(network: Network, rng: np.random.Generator, sources: int = SOURCES) -> Distances:
    """Searches from ``sources`` nodes drawn without replacement, or from all where there are no more.

    Takes O(n + m) a source: 3 s for 200 sources in a network of 100,000 nodes and 1,000,000 edges.
    """
    matrix = network.adjacency
    count = min(sources, network.nodes)
    drawn = np.arange(count) if count == network.nodes else rng.choice(network.nodes, count, replace=False)
    start, column = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    if count * (network.nodes + len(column)) <= FEW_STEPS:
        return Distances(network.nodes, _reached(start.tolist(), column.tolist(), drawn.tolist()))
    return Distances(network.nodes, _compiled()(start, column, drawn.astype(np.int64)))


@cache
def _compiled() -> Callable[..., Ints]:
    from numba import njit

    compiled: Callable[..., Ints] = njit(cache=True, nogil=True)(_reached)
    return compiled


def _reached(start: Any, column: Any, sources: Any) -> Any:
    """Numbers of nodes by distance from each source, [s, d] int64; d is the greatest distance found."""
    nodes = len(start) - 1
    found, deepest = np.zeros((len(sources), 32), np.int64), 0
    seen, queue = np.full(nodes, -1, np.int32), np.empty(nodes, np.int32)
    for s in range(len(sources)):
        seen[sources[s]], queue[0] = s, sources[s]
        done, end, depth = 0, 1, 0
        while True:
            last = end
            while done < last:
                node = queue[done]
                done += 1
                for k in range(start[node], start[node + 1]):
                    other = column[k]
                    if seen[other] != s:
                        seen[other], queue[end] = s, other
                        end += 1
            if end == last:
                break
            if depth == found.shape[1]:
                wider = np.zeros((len(sources), 2 * depth), np.int64)
                wider[:, :depth] = found
                found = wider
            found[s, depth] = end - last
            depth += 1
        deepest = max(deepest, depth)
    return found[:, :deepest].copy()

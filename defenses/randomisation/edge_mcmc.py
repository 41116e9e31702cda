"""Graphs that change edge by edge: by switches, or by an edge deleted and another one added."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...graphs.network import Floats, Network

Ends = NDArray[np.int32]


class Chain(Protocol):
    """A graph that changes step by step."""

    @property
    def ends(self) -> Ends:
        """The ends of its edges in turn, [2 m]."""

    def advance(self, vectors: Floats, rows: Floats, proposals: int, accepted: int) -> tuple[int, int]:
        """Runs to a limit; returns proposals and changes made. For ``rows`` see `constrained_kernels`."""

    def saved(self) -> Any:
        """What `restore` takes."""

    def restore(self, saved: Any) -> None:
        """Undoes all changes since ``saved``. Random numbers are not drawn again."""


class _Changing:
    """A graph that a compiled loop changes, and how far the random numbers of the loop are."""

    def __init__(self, core: Network, turned: bool, rng: np.random.Generator) -> None:
        from .dynamic_graph import living_graph

        self._graph, self._turned = living_graph(flat(core), core.nodes), turned
        self._seed, self._drawn = np.uint64(rng.integers(2**63)), 0

    @property
    def ends(self) -> Ends:
        ends: Ends = self._graph.ends
        return ends


class Switches(_Changing):
    """Switches of a connected graph's edges."""

    def __init__(self, core: Network, turned: bool, triangles: bool, rng: np.random.Generator) -> None:
        super().__init__(core, turned, rng)
        self._triangles = triangles

    def advance(self, vectors: Floats, rows: Floats, proposals: int, accepted: int) -> tuple[int, int]:
        from .constrained_kernels import run_constrained_switches

        limits = np.array([proposals, accepted])
        turned, counted = self._turned, self._triangles
        done = run_constrained_switches(
            self._graph, vectors, rows, limits, turned, counted, self._drawn, self._seed
        )
        self._drawn += done[0]
        return int(done[0]), int(done[1])

    def saved(self) -> Ends:
        return self.ends.copy()

    def restore(self, saved: Ends) -> None:
        from .dynamic_graph import living_graph

        self._graph = living_graph(saved, len(self._graph.first))


class Edits(_Changing):
    """Deletions of a connected graph's edges, each with an edge added that was not there at first."""

    def __init__(self, core: Network, turned: bool, rng: np.random.Generator) -> None:
        from ...graphs.edge_set import edge_set

        super().__init__(core, turned, rng)
        self._original = edge_set(flat(core), core.nodes)
        self._left, self._deleted = np.arange(core.size), 0  # numbers of edges; those at the end are deleted

    def advance(self, vectors: Floats, rows: Floats, proposals: int, accepted: int) -> tuple[int, int]:
        from .constrained_kernels import run_constrained_edits

        limits = np.array([proposals, accepted, len(self._left) - self._deleted])
        done = run_constrained_edits(
            self._graph, self._original, self._left, vectors, rows, limits, self._turned, self._drawn, self._seed
        )
        self._drawn += done[0]
        self._deleted += done[1]
        return int(done[0]), int(done[1])

    def saved(self) -> tuple[Ends, NDArray[np.int64], int]:
        return self.ends.copy(), self._left.copy(), self._deleted

    def restore(self, saved: tuple[Ends, NDArray[np.int64], int]) -> None:
        from .dynamic_graph import living_graph

        ends, self._left, self._deleted = saved
        self._graph = living_graph(ends, len(self._graph.first))


def flat(network: Network) -> Ends:
    """The ends of edges in turn, [2 m]."""
    return np.ascontiguousarray(network.plain().edges.T, dtype=np.int32).ravel()

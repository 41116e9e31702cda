"""Numbers of subgraphs, of arcs and of edges as mechanisms whose claims are checked."""

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...graphs.arcs import network_of_arcs
from ...graphs.network import Network
from ..guarantee import Adjacency, Released, Unit
from ..mechanism import MechanismSettings
from ..statistics import Statistic, Triangles
from .arc_degrees import arc_degree_sequences
from .bounded_triangles import bounded_triangles
from .cliques import cliques
from .edge_density import edge_density
from .k_triangles import k_triangles
from .restricted_triangles import restricted_triangles


class CliqueSettings(MechanismSettings):
    """Settings of `Cliques`."""

    k: int = Field(4, ge=3, le=12, description="nodes of a clique")


class Cliques(Triangles):
    """The number of k-cliques, by the rungs of a ladder (Zhang et al. 2015)."""

    name = "cliques"
    Settings = CliqueSettings
    settings: CliqueSettings

    def inputs(self) -> tuple[Network, Network]:
        """k nodes that are all linked but two, and these too."""
        pairs = list(combinations(range(self.settings.k), 2))
        return _network(self.settings.k, pairs[1:]), _network(self.settings.k, pairs)

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return cliques(data, self.settings.epsilon, self.settings.k, rng)


class KTriangleSettings(MechanismSettings):
    """Settings of `KTriangles`."""

    k: int = Field(2, ge=2, le=12, description="triangles that share an edge")


class KTriangles(Triangles):
    """The number of k triangles that share an edge, by the rungs of a ladder (Zhang et al. 2015)."""

    name = "k-triangles"
    Settings = KTriangleSettings
    settings: KTriangleSettings

    def inputs(self) -> tuple[Network, Network]:
        """Two nodes with k common neighbours, apart and linked."""
        k = self.settings.k
        rays = [(end, w) for w in range(2, k + 2) for end in (0, 1)]
        return _network(k + 2, rays), _network(k + 2, [(0, 1), *rays])

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return k_triangles(data, self.settings.epsilon, self.settings.k, rng)


class BoundedSettings(MechanismSettings):
    """Settings of `BoundedTriangles`."""

    bound: int = Field(3, ge=2, le=50, description="public degree bound")


class BoundedTriangles(Triangles):
    """The number of triangles, private in nodes, by a linear programme (Kasiviswanathan et al. 2013)."""

    name = "bounded-triangles"
    differ_in = "node"
    Settings = BoundedSettings
    settings: BoundedSettings

    def inputs(self) -> tuple[Network, Network]:
        """D nodes that are all linked, and one more that is linked to all of them."""
        bound = self.settings.bound
        return (
            _network(bound, list(combinations(range(bound), 2))),
            _network(bound + 1, list(combinations(range(bound + 1), 2))),
        )

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return bounded_triangles(data, self.settings.epsilon, self.settings.bound, rng)


class RestrictedTriangles(Triangles):
    """The number of triangles, private in edges, after a projection to a degree bound (Blocki et al. 2013)."""

    name = "restricted-triangles"
    Settings = BoundedSettings
    settings: BoundedSettings

    def inputs(self) -> tuple[Network, Network]:
        """Two groups of D + 1 nodes that are all linked, apart and with a link that pushes an edge out of each."""
        bound = self.settings.bound
        groups = [(end, *range(first, first + bound)) for end, first in ((0, 2), (1, bound + 2))]
        inside = [pair for group in groups for pair in combinations(group, 2)]
        return _network(2 * bound + 2, inside), _network(2 * bound + 2, [(0, 1), *inside])

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return restricted_triangles(data, self.settings.epsilon, self.settings.bound, rng)


class DirectedDegrees(Statistic):
    """Sorted out-degrees and in-degrees with noise, made to rise again; one arc is hidden."""

    name = "directed-degrees"

    def inputs(self) -> tuple[Network, Network]:
        """Two nodes without an arc, and with one."""
        return network_of_arcs(2, np.empty((2, 0), dtype=np.int64)), network_of_arcs(2, np.array([[0], [1]]))

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return arc_degree_sequences(data, self.settings.epsilon, rng)

    def score(self, released: Released) -> float:
        values: Any = released.values
        return float(values.sum())


class EdgeDensity(Statistic):
    """The share of pairs that are linked, by a bound that is private itself; a node with its edges is hidden."""

    name = "edge-density"
    differ_in: ClassVar[Unit] = "node"
    differ_by: ClassVar[Adjacency] = "zero-out"

    def inputs(self) -> tuple[Network, Network]:
        """Eight nodes, one of them linked to no other, and to all."""
        return _network(8, []), _network(8, [(0, other) for other in range(1, 8)])

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return edge_density(data, self.settings.epsilon, rng)

    def score(self, released: Released) -> float:
        value: Any = released.values
        return float(value)


def _network(nodes: int, pairs: list[tuple[int, int]]) -> Network:
    return Network.from_edges(nodes, [a for a, _ in pairs], [b for _, b in pairs])

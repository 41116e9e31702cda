"""The private statistics as mechanisms whose claims are checked, each on the pair of graphs that it hides least."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ..graphs.network import Network
from .degrees import degree_histogram, degree_sequence
from .eigenvectors import top_eigenvectors
from .guarantee import Guarantee, Released, Unit
from .mechanism import Mechanism, MechanismSettings
from .node_private import edge_count, private_degree_histogram
from .spectrum import top_eigenvalues
from .subgraph_counts import stars, triangles

NOTHING: tuple[list[int], list[int]] = ([], [])


class Statistic(Mechanism):
    """Base of statistics of a network."""

    differ_in: ClassVar[Unit] = "edge"

    @property
    def guarantee(self) -> Guarantee:
        """What a release says of itself; the promise does not depend on the input."""
        return self.release(self.inputs()[0], np.random.default_rng(0)).guarantee

    def inputs(self) -> tuple[Network, Network]:
        """Two nodes, apart and linked."""
        return Network.from_edges(2, *NOTHING), Network.from_edges(2, [0], [1])

    @abstractmethod
    def release(self, data: Network, rng: np.random.Generator) -> Released: ...


class DegreeSequence(Statistic):
    """Sorted degrees with noise, made to rise again (Hay et al. 2009)."""

    name = "degree-sequence"

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return degree_sequence(data, self.settings.epsilon, rng)

    def score(self, released: Released) -> float:
        return float(np.sum(released.values))


class DegreeHistogram(Statistic):
    """Numbers of nodes of each degree, with noise in every cell, private in edges."""

    name = "degree-histogram"

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return degree_histogram(data, self.settings.epsilon, rng=rng)

    def score(self, released: Released) -> float:
        values: Any = released.values
        return float(np.clip(values[1], 0, 2) - np.clip(values[0], 0, 2))  # beyond these two it says nothing more


class Triangles(Statistic):
    """The number of triangles, by the rungs of a ladder (Zhang et al. 2015)."""

    name = "triangles"

    def inputs(self) -> tuple[Network, Network]:
        return Network.from_edges(3, [0, 1], [1, 2]), Network.from_edges(3, [0, 1, 0], [1, 2, 2])

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return triangles(data, self.settings.epsilon, rng)

    def score(self, released: Released) -> float:
        return float(np.asarray(released.values))


class StarSettings(MechanismSettings):
    """Settings of `Stars`."""

    k: int = Field(2, ge=1, description="neighbours of the node in the middle")


class Stars(Triangles):
    """The number of k-stars, by the rungs of a ladder (Zhang et al. 2015)."""

    name = "stars"
    Settings = StarSettings
    settings: StarSettings

    def inputs(self) -> tuple[Network, Network]:
        k = self.settings.k
        return _star(k + 1, k - 1), _star(k + 1, k)

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return stars(data, self.settings.epsilon, self.settings.k, rng)


class BoundSettings(MechanismSettings):
    """Settings of statistics that are private in nodes."""

    bound: int = Field(3, ge=1, description="public degree bound")


class EdgeCount(Triangles):
    """The number of edges, private in nodes, by a flow through nodes of bounded degree (Kasiviswanathan et al.)."""

    name = "edge-count"
    differ_in = "node"
    Settings = BoundSettings
    settings: BoundSettings

    def inputs(self) -> tuple[Network, Network]:
        """Nodes that nothing links, and one node more that is linked to all of them."""
        bound = self.settings.bound
        return Network.from_edges(bound, *NOTHING), _star(bound + 1, bound)

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return edge_count(data, self.settings.epsilon, self.settings.bound, rng)


class NodeDegreeHistogram(EdgeCount):
    """Numbers of nodes of each degree, private in nodes (Day et al. 2016)."""

    name = "node-degree-histogram"

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return private_degree_histogram(data, self.settings.epsilon, self.settings.bound, rng)

    def score(self, released: Released) -> float:
        values: Any = released.values
        return float(values[1:].sum() - values[0])


class SpectrumSettings(MechanismSettings):
    """Settings of `Spectrum`."""

    k: int = Field(2, ge=1, le=2, description="eigenvalues, of two nodes")


class Spectrum(Statistic):
    """The largest eigenvalues of the adjacency matrix."""

    name = "spectrum"
    Settings = SpectrumSettings
    settings: SpectrumSettings

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return top_eigenvalues(data, self.settings.epsilon, self.settings.k, rng)

    def score(self, released: Released) -> float:
        values: Any = released.values
        return float(np.clip(values[0], 0, 1) - (np.clip(values[-1], -1, 0) if len(values) > 1 else 0))


class Eigenvectors(Statistic):
    """The leading eigenvector of the adjacency matrix, by the exponential mechanism."""

    name = "eigenvectors"

    def release(self, data: Network, rng: np.random.Generator) -> Released:
        return top_eigenvectors(data, self.settings.epsilon, 1, rng)

    def score(self, released: Released) -> float:
        first: Any = released.values
        return float(first[0, 0] * first[1, 0])


def _star(nodes: int, leaves: int) -> Network:
    return Network.from_edges(nodes, [0] * leaves, list(range(1, leaves + 1)))

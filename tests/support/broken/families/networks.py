"""Wrong statistics of networks."""

import numpy as np

from gaudit.graphs.network import Network

from .claimed import Claimed


class OfEdges(Claimed):
    """A path of six nodes, of which the first two are linked or not."""

    differ_in = "edge"

    def inputs(self):
        return Network.from_edges(6, [1, 2, 3, 4], [2, 3, 4, 5]), Network.from_edges(6, range(5), range(1, 6))

    def noise(self, rng, size=None):
        return rng.laplace(scale=1 / self.epsilon, size=size)


class LocalTriangles(OfEdges):
    """Triangles with noise for the most that an edge closes in this network."""

    name = "local-triangles"

    def release(self, data, rng):
        square = (data.adjacency @ data.adjacency).toarray()
        np.fill_diagonal(square, 0)
        triangles = (square * data.adjacency.toarray()).sum() / 6
        return float(triangles + max(1.0, (square * data.adjacency.toarray()).max()) * self.noise(rng))


class HubsToldExactly(OfEdges):
    """Degrees with noise; a node of more than four is a public figure."""

    name = "hubs-told-exactly"

    def release(self, data, rng):
        noisy = data.degrees + 2 * self.noise(rng, data.nodes)
        return np.where(data.degrees > 4, data.degrees, noisy)

    def score(self, released):
        return float(released[0] + released[1])


class DegreesAtHalf(OfEdges):
    """Degrees by node with noise of one scale, where an edge changes two of them."""

    name = "degrees-at-half"

    def release(self, data, rng):
        return data.degrees + self.noise(rng, data.nodes)

    def score(self, released):
        return float(released[0])


class LonersKept(OfEdges):
    """Edges are randomised among nodes that have any."""

    name = "loners-kept"

    def release(self, data, rng):
        truth = 1 / (1 + np.exp(-self.epsilon))
        linked = np.flatnonzero(data.degrees)
        full = data.adjacency.toarray() > 0
        pairs = [(u, v) for i, u in enumerate(linked) for v in linked[i + 1 :]]
        kept = [pair for pair in pairs if full[pair] == (rng.random() < truth)]
        return Network.from_edges(data.nodes, [u for u, _ in kept], [v for _, v in kept])

    def score(self, released):
        return float(released.size)


class EdgesOnlyDropped(OfEdges):
    """Edges are dropped at random, and none is made up."""

    name = "edges-only-dropped"

    def release(self, data, rng):
        kept = rng.random(data.size) < 1 / (1 + np.exp(-self.epsilon))
        return Network.from_edges(data.nodes, data.edges[0][kept], data.edges[1][kept])

    def score(self, released):
        return float(released.size)


class CutByTheData(OfEdges):
    """Counted up to the largest degree, which scales the noise down for a sparse network."""

    name = "average-degree-exact"

    def release(self, data, rng):
        return float(data.size + self.noise(rng)), float(data.degrees.mean())

    def score(self, released):
        return released[0]


class ForANode(Claimed):
    """A path, without its last node or with it."""

    name = "edge-noise-for-a-node"

    def inputs(self):
        return Network.from_edges(5, range(4), range(1, 5)), Network.from_edges(6, range(5), range(1, 6))

    def release(self, data, rng):
        return float(data.size + rng.laplace(scale=1 / self.epsilon))


class NodesCounted(ForANode):
    """Edges with noise for a public bound of five, and the exact number of nodes with any."""

    name = "nodes-with-edges-exact"

    def release(self, data, rng):
        return float(data.size + rng.laplace(scale=5 / self.epsilon)), int((data.degrees > 0).sum())

    def score(self, released):
        return released[0]

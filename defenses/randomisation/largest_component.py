"""The largest connected component of a network and the rest of it, apart and together again."""

import numpy as np

from ...graphs.network import Ints, Network
from ...graphs.pair_codes import codes


def largest_component(network: Network) -> Ints:
    """Ids of its nodes, ascending; of several as large the one with the smallest id. Empty without nodes."""
    from scipy.sparse.csgraph import connected_components

    if not network.nodes:
        return np.empty(0, dtype=np.int64)
    label = connected_components(network.adjacency, directed=False)[1]
    return np.flatnonzero(label == np.argmax(np.bincount(label)))


def apart(network: Network) -> tuple[tuple[Ints, Network], tuple[Ints, Network]]:
    """The nodes of the largest component and the network among them; then the same of all other nodes."""
    nodes = largest_component(network)
    others = np.setdiff1d(np.arange(network.nodes), nodes, assume_unique=True)
    return (nodes, within(network, nodes)), (others, within(network, others))


def within(network: Network, nodes: Ints) -> Network:
    """The plain network among some nodes (ids, ascending), which are called 0, 1, ... in it."""
    new = np.full(network.nodes, -1)
    new[nodes] = np.arange(len(nodes))
    ends = new[network.plain().edges]
    return Network(len(nodes), np.ascontiguousarray(ends[:, (ends >= 0).all(0)]))


def together(network: Network, parts: tuple[tuple[Ints, Network], ...], rng: np.random.Generator) -> Network:
    """A network with the edges of changed parts: nodes, ascending, and what the network among them became.

    For weights and types see `Network.with_edges`, which draws from ``rng``.
    """
    pairs = [codes(nodes[part.edges[0]], nodes[part.edges[1]], network.nodes) for nodes, part in parts]
    return network.with_edges(np.concatenate(pairs), rng)

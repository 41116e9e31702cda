"""All small networks and what is one edge or one node away from them."""

from itertools import combinations

import networkx as nx
import numpy as np

from gaudit.graphs.network import Network


def network_of(nodes, edges):
    edges = list(edges)
    return Network.from_edges(nodes, [a for a, _ in edges], [b for _, b in edges])


def labelled(nodes):
    """Every network on these nodes; flipping pair k leads from place i to place i ^ 2^k of the list."""
    pairs = list(combinations(range(nodes), 2))
    return [network_of(nodes, (p for k, p in enumerate(pairs) if bits >> k & 1)) for bits in range(2 ** len(pairs))]


def one_edge_away(count):
    """For every pair of ``labelled``'s nodes, the places of the networks that lie across it; count of the list."""
    return [np.arange(count) ^ 1 << k for k in range((count - 1).bit_length())]


def atlas(nodes):
    """One network of each shape with so many nodes (at most 7)."""
    return [network_of(nodes, graph.edges) for graph in nx.graph_atlas_g() if len(graph) == nodes]


def flipped(network):
    """All networks that differ from this one in one edge."""
    edges = set(map(tuple, network.edges.T.tolist()))
    for pair in combinations(range(network.nodes), 2):
        yield network_of(network.nodes, sorted(edges ^ {pair}))


def without(network, node):
    """The network without one node; those after it move up by one number."""
    kept = network.edges[:, (network.edges != node).all(axis=0)]
    return Network(network.nodes - 1, kept - (kept > node))


def random_network(rng, nodes, hubs=0):
    """Any density, and some nodes linked to most others."""
    density = rng.random()
    linked = [p for p in combinations(range(nodes), 2) if rng.random() < (0.8 if p[0] < hubs else density)]
    return network_of(nodes, linked)

"""Directed edges of a network: an arc leads from its tail to its head."""

from dataclasses import replace

import numpy as np

from .directions import BACKWARD, BOTH, FORWARD, merged
from .network import Ints, Network
from .pair_codes import codes, distinct, ends, listed


def arcs_of(network: Network) -> Ints:
    """Tails and heads, each arc once whatever its types, by tail and then head, [2, a].

    An undirected edge is two arcs.
    """
    low, high = network.edges
    ways = np.full(network.size, BOTH) if network.directions is None else network.directions
    ahead, back = (ways & FORWARD) > 0, (ways & BACKWARD) > 0
    coded = np.concatenate([low[ahead] * network.nodes + high[ahead], high[back] * network.nodes + low[back]])
    return np.stack(np.divmod(distinct(coded), max(network.nodes, 1)))


def network_of_arcs(nodes: int, arcs: Ints) -> Network:
    """The directed network of tails and heads [2, a], in any order; one that is there twice counts once.

    Raises:
        ValueError: a loop, or an end that is no node.
    """
    tail, head = arcs
    pairs, place = np.unique(codes(tail, head, nodes), return_inverse=True)
    ways = merged(np.where(tail < head, FORWARD, BACKWARD), place, len(pairs))
    return Network.from_edges(nodes, *ends(pairs, nodes), directions=ways)


def degree_pairs(network: Network) -> Ints:
    """How many arcs lead out of each node and into it, [n, 2]; arcs of several types count once."""
    counts = [np.bincount(end, minlength=network.nodes) for end in arcs_of(network)]
    pairs: Ints = np.stack(counts, 1).astype(np.int64)
    return pairs


def with_arcs(network: Network, arcs: Ints, rng: np.random.Generator) -> Network:
    """The network with more arcs [2, a], none of which it has.

    New pairs get weights and types as `Network.with_edges` draws them; an arc between nodes that are linked the
    other way becomes a second direction of their edge, of the first where there are several.

    Raises:
        ValueError: the network is undirected.
    """
    if network.directions is None:
        raise ValueError("an undirected network has all its arcs")
    tail, head = arcs
    coded, way = codes(tail, head, network.nodes), np.where(tail < head, FORWARD, BACKWARD)
    made = network.with_edges(np.concatenate([network.codes, coded]), rng)
    assert made.directions is not None
    ways = np.where(listed(made.codes, network.codes), made.directions, 0)
    np.bitwise_or.at(ways, np.searchsorted(made.codes, coded), way)
    return replace(made, directions=ways)

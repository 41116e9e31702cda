"""The graph that a node's neighbours form among each other, and when two of them are the same."""

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from .network import Ints, Network
from .pair_codes import codes

SPLITTING = "fl"
"""BLISS's splitting heuristic: the canonical form depends on it, so there is one."""


def digests(network: Network) -> Ints:
    """A 64-bit BLAKE2b digest of each node's canonical form, [n]: the same in every network and every run."""
    return np.array([digest(form) for form in canonical_forms(network)], dtype=np.int64)


def digest(form: bytes) -> int:
    """64 bits of BLAKE2b, as a whole number with a sign."""
    return int.from_bytes(blake2b(form, digest_size=8).digest(), "little", signed=True)


def canonical_forms(network: Network) -> Iterator[bytes]:
    """For each node in turn its degree d and the edges u v between neighbours, as d, u_1 d + v_1, u_2 d + v_2, ...

    Neighbours are numbered by BLISS, those without an edge last. Two forms are the same if and only if the
    neighbourhoods are isomorphic. One form is held at a time; BLISS may take long on large, regular neighbourhoods.
    """
    for degree, edges in neighbourhoods(network):
        yield canonical_form(degree, edges)


def canonical_form(degree: int, edges: Ints) -> bytes:
    """The form of one neighbourhood of so many nodes with these edges, [e, 2]; see `canonical_forms`."""
    return np.append(degree, _canonical_edges(edges, degree)).astype("<i8").tobytes()


def neighbourhoods(network: Network) -> Iterator[tuple[int, Ints]]:
    """For each node in turn its degree and the edges between its neighbours, these numbered from 0, [e, 2].

    Edges are looked for from their end of smaller degree, which has at most sqrt(2 m) neighbours of larger degree:
    O(m^1.5) in all, hubs or not.
    """
    rank = np.empty(network.nodes, dtype=np.int64)
    rank[np.lexsort((np.arange(network.nodes), network.degrees))] = np.arange(network.nodes)
    ranked = network.plain().renamed(rank)
    above = np.searchsorted(ranked.edges[0], np.arange(network.nodes + 1))
    linked, place = ranked.adjacency, np.full(network.nodes, -1)
    for node in rank:
        near = linked.indices[linked.indptr[node] : linked.indptr[node + 1]]
        place[near] = np.arange(len(near))
        many = above[near + 1] - above[near]
        first = np.repeat(above[near] - np.cumsum(many) + many, many)
        other = place[ranked.edges[1][first + np.arange(len(first))]]
        yield len(near), np.column_stack([np.repeat(np.arange(len(near)), many), other])[other >= 0]
        place[near] = -1


def _canonical_edges(edges: Ints, degree: int) -> Ints:
    """The codes of the edges under BLISS's numbering, ascending, [e]."""
    import igraph

    if not len(edges):
        return np.empty(0, dtype=np.int64)
    used, ends = np.unique(edges, return_inverse=True)
    graph = igraph.Graph(n=len(used), edges=ends.reshape(-1, 2))
    # igraph 1.0 turned the permutation round (from new to old); permute_vertices understands its own version's
    canonical = graph.permute_vertices(graph.canonical_permutation(sh=SPLITTING))
    one, other = np.array(canonical.get_edgelist(), dtype=np.int64).T
    return np.sort(codes(one, other, degree))

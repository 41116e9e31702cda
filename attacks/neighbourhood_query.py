"""Who is who from the friends of a person and who of them are friends: neighbourhoods (Zhou and Pei 2008)."""

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from ..targets.network import Ints, Network, Original
from ..targets.pair_codes import codes
from .identity import Candidates, Facts
from .shared_candidates import shared
from .structural_query import StructuralQuery

SPLITTING = "fl"
"""BLISS's splitting heuristic: the canonical form depends on it, so there is one."""


class NeighbourhoodQuery(StructuralQuery):
    """Knows the graph that each person's neighbours form, and takes nodes with an isomorphic one for candidates.

    The neighbourhood of a person is the subgraph that its neighbours induce; who is who in it is unknown. Exact:
    neighbourhoods are compared by their canonical form (BLISS), not by what a cheap invariant says of them.
    Keys are 64-bit digests of canonical forms: that two of N different ones agree has probability N^2 / 2^65.
    """

    name = "neighbourhood-query"

    @property
    def knows(self) -> str:
        return "the subgraph that the neighbours of each form"

    def learn(self, original: Original, rng: np.random.Generator) -> Facts:
        """The digest of each person's neighbourhood, [p]."""
        return {"neighbourhoods": digests(original.network)[: original.people]}

    def candidates(self, published: Network, facts: Facts, seeds: Ints, rng: np.random.Generator) -> Candidates:
        known = facts["neighbourhoods"]
        if published.counts is not None:
            return shared([np.arange(published.nodes)], np.zeros(len(known), dtype=np.int64))
        return Candidates.of_keys(known, digests(published))


def digests(network: Network) -> Ints:
    """A 64-bit BLAKE2b digest of each node's canonical form, [n]: the same in every network and every run."""
    found = [blake2b(form, digest_size=8).digest() for form in canonical_forms(network)]
    return np.frombuffer(b"".join(found), dtype="<i8").astype(np.int64)


def canonical_forms(network: Network) -> Iterator[bytes]:
    """For each node in turn its degree d and the edges u v between neighbours, as d, u_1 d + v_1, u_2 d + v_2, ...

    Neighbours are numbered by BLISS, those without an edge last. Two forms are the same if and only if the
    neighbourhoods are isomorphic. One form is held at a time; BLISS may take long on large, regular neighbourhoods.
    """
    for degree, edges in neighbourhoods(network):
        yield np.append(degree, _canonical_edges(edges, degree)).astype("<i8").tobytes()


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

"""Colour refinement: what a node's surroundings look like up to some depth (Hay et al. 2008, vertex refinement).

H_0 is the same for every node, and H_i(x) is the multiset of H_{i-1}(z) over the neighbours z of x: H_1 is the
degree, H_2 tells the degrees of the neighbours. A colour is a number that two nodes share if and only if they share
H_i. Colours here are sums of 64-bit hashes modulo 2^64: nothing is sorted and nothing numbered anew, so colours of
two networks that were refined apart can be compared.

Were the hash random, two nodes that differ in H_i would get one colour with probability 2^(v-64), where 2^v is the
highest power of two that divides all differences between their numbers of neighbours of a colour: 2^-64 but for
special pairs, and never more than 2^-64 times the degree. Over all pairs of N nodes that is about N^2 / 2^65 a
round, 3e-10 for 100,000 nodes. A collision makes candidate sets larger, never smaller.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array

from ...graphs.network import Ints, Network

Hashes = NDArray[np.uint64]
BLOCK = 2**19
"""Neighbours that are summed at a time: their hashes stay in a processor's cache."""
STEP, FIRST, SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
OWN = np.uint64(0xD1B54A32D192ED03)
"""What tells a node's own colour from a neighbour's."""


def structure(network: Network) -> csr_array:
    """Who is linked to whom: the plain adjacency with one byte for each entry, [n, n].

    Less than half the memory of ``network.adjacency``, and the network does not keep it.
    """
    low, high = network.plain().edges.astype(np.int32 if network.nodes < 2**31 else np.int64)
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    return csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(network.nodes, network.nodes))


def jointly(one: csr_array, other: csr_array) -> csr_array:
    """Two networks as one without a link between them, to refine them together: the second one's nodes follow."""
    return csr_array(block_diag((one, other), format="csr"))


def refinements(graph: csr_array, labels: Ints | None = None, ties: Hashes | None = None) -> Iterator[Hashes]:
    """H_0, H_1, H_2, ... without end, each [n].

    Args:
        graph: adjacency [n, n], symmetric; the values of its entries are not looked at.
        labels: what is known of each node beforehand [n]. It is H_0 then, and H_i holds the node's own H_{i-1}
            too: without it, H_2 would no longer tell a node's own label. Without labels nothing is lost, for the
            size of the multiset is the degree, and so H_i determines H_{i-1} by induction.
        ties: what is known of each entry's edge, in the order of ``graph.indices``: H_i is the multiset of pairs
            of an edge and H_{i-1} of the neighbour then.
    """
    colours: Hashes = np.zeros(graph.shape[0], dtype=np.uint64)
    if labels is not None:
        colours = labels.astype(np.int64).view(np.uint64)
    while True:
        yield colours
        finer = _sums(graph, mixed(colours), ties)
        colours = finer if labels is None else finer + mixed(colours ^ OWN)


def colours_at(graph: csr_array, depth: int, labels: Ints | None = None, ties: Hashes | None = None) -> Hashes:
    """H_depth of each node, [n]; arguments as in `refinements`. Time and memory are O(depth m) and O(n + BLOCK)."""
    rounds = refinements(graph, labels, ties)
    for _ in range(depth):
        next(rounds)
    return next(rounds)


def stable_colours(
    graph: csr_array, labels: Ints | None = None, rounds: int | None = None, ties: Hashes | None = None
) -> tuple[Hashes, int]:
    """Refines until no class of equal nodes splits any more: the coarsest equitable partition.

    No automorphism moves a node out of its class, so a class is no smaller than the node's orbit.

    Args:
        graph: adjacency [n, n].
        labels: as in `refinements`.
        rounds: at most so many. Real networks need about ten; a path of n nodes needs n / 2.
        ties: as in `refinements`.

    Returns:
        H_T of each node [n], and T, the first depth that H_{T+1} does not refine.
    """
    finer_and_finer = refinements(graph, labels, ties)
    found = next(finer_and_finer)
    before = classes(found)
    for depth, finer in enumerate(finer_and_finer):
        now = classes(finer)
        if now <= before or depth == rounds:
            return found, depth
        before, found = now, finer
    raise AssertionError("refinements end never")


def exact_refinements(graph: csr_array, labels: Ints | None = None) -> Iterator[Ints]:
    """The same partitions by sorting and comparing whole multisets: ten times slower, and certain.

    Classes are numbered from 0 in each round [n]; to compare two networks, refine them `jointly`.
    """
    start = np.zeros(graph.shape[0], dtype=np.int64) if labels is None else labels
    numbers = np.unique(start, return_inverse=True)[1].astype(np.int64)
    while True:
        yield numbers
        numbers = _exactly_finer(graph, numbers, labels is not None)


def classes(colours: NDArray[np.generic]) -> int:
    """Number of classes of equal colour."""
    ordered = np.sort(colours)  # np.unique hashes: ten times slower where most are different
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + (len(ordered) > 0)


def unique_share(colours: NDArray[np.generic]) -> float:
    """Share of the nodes that share their colour with nobody."""
    sizes = np.unique(colours, return_counts=True)[1]
    return float((sizes == 1).sum() / max(len(colours), 1))


def mixed(values: Hashes) -> Hashes:
    """A fixed bijection that looks random: the finaliser of SplitMix64 (Steele, Lea and Flood 2014, figure 16)."""
    mixed = values + STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _sums(graph: csr_array, values: Hashes, ties: Hashes | None = None) -> Hashes:
    """The sum over each node's neighbours modulo 2^64, 0 where there is none; with ties of edges and neighbours."""
    start, neighbours = graph.indptr, graph.indices
    cuts = np.searchsorted(start, np.arange(0, len(neighbours), BLOCK))
    sums: Hashes = np.zeros(len(values), dtype=np.uint64)
    for first, last in pairwise(np.unique([0, *cuts, len(values)])):
        begin, end = start[first], start[last]
        running = np.zeros(end - begin + 1, dtype=np.uint64)
        near = values[neighbours[begin:end]]
        if ties is not None:
            near = mixed(near + ties[begin:end])
        np.cumsum(near, out=running[1:])  # differences stay right where it wraps around
        sums[first:last] = np.diff(running[start[first : last + 1] - begin])
    return sums


def _exactly_finer(graph: csr_array, numbers: Ints, own: bool) -> Ints:
    degrees = np.diff(graph.indptr).astype(np.int64)
    seen = numbers[graph.indices]
    seen = seen[np.lexsort((seen, np.repeat(np.arange(len(numbers)), degrees)))]
    finer, used = np.empty_like(numbers), 0
    for degree in np.unique(degrees):
        nodes = np.flatnonzero(degrees == degree)
        rows = seen[graph.indptr[nodes][:, None] + np.arange(degree)]
        table = np.column_stack([numbers[nodes] if own else np.zeros_like(nodes), rows])
        finer[nodes] = used + np.unique(table, axis=0, return_inverse=True)[1].ravel()
        used = int(finer[nodes].max()) + 1
    return finer

"""What weights, types and directions of edges tell of the nodes at their ends: sums, or the multisets themselves.

A person of whom one knows how much it paid in all, or to how many others, is found again by that alone where
weights are published. Two degrees of knowledge are told apart:

- sums: of each node the sum of its edges' weights, and its number of edges of each type, in and out where edges
  are directed;
- multisets: the weight, type and direction of each of its edges.

Whatever is known comes as a 64-bit key for each node or edge, as colours do (`colour_refinement`), so that keys of
two networks can be compared. Sums are added up in ascending order of the weights: the order of edges in a file does
not change a key.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...graphs.arcs import degree_pairs
from ...graphs.directions import BACKWARD, FORWARD, turned
from ...graphs.network import MARKS, Floats, Ints, Network
from .colour_refinement import Hashes, colours_at, mixed, stable_colours, structure

Values = Literal["none", "sums", "multisets"]
Told = tuple[str, ...]
"""What is told of edges, in the order of `MARKS`."""
ANY_WEIGHT, ANY_TYPE, ANY_WAY = (np.uint64(c) for c in (0x8EBC6AF09C88C6E3, 0x589965CC75374CC3, 0x1D8E4E27C47D124F))
TYPES = 8
"""Columns of a profile that numbers of edges by type share: type t is in column t modulo this."""


def told_of(network: Network) -> Told:
    """What a network tells of its edges."""
    return tuple(name for name in MARKS if getattr(network, name) is not None)


def tellings(network: Network) -> list[Told]:
    """What a release may tell of the edges, of all that is there: all selections, large ones last."""
    there = told_of(network)
    return [some for count in range(1, len(there) + 1) for some in combinations(there, count)]


def fact(what: str, told: Told) -> str:
    """What a fact about edges is called among the facts that an adversary knows."""
    return f"{what} by {' and '.join(told)}"


def usable(published: Network, facts: Mapping[str, NDArray[Any]], what: str) -> Told:
    """The most that the adversary knows of edges and the release tells too."""
    known = [told for told in tellings(published) if fact(what, told) in facts]
    return known[-1] if known else ()


def value_keys(network: Network, values: Values) -> Ints:
    """A number for each node that it shares with those of whose own edges as much is known, [n]."""
    keys = _gathered(network, _marks(network, values))
    if values == "sums" and network.weights is not None:
        keys = keys + mixed(_bits(weight_sums(network)) ^ ANY_WEIGHT)
    return keys.view(np.int64)


def valued_colours(network: Network, depth: int | Literal["stable"], values: Values) -> tuple[Ints, int]:
    """H_i where each degree comes with the values at the node's edges, [n], and how many rounds i that took.

    Of sums H_1 is the degree with the node's sums, and H_i the multiset of H_{i-1} of the neighbours, with its own.
    Of multisets H_i is the multiset of each edge's weight and type with H_{i-1} of the neighbour. H_0 is what
    values alone tell.
    """
    if depth == 0:
        return value_keys(network, values), 0
    if values == "sums":
        graph = structure(network)
        first = np.diff(graph.indptr).astype(np.uint64)
        labels = (mixed(first) + value_keys(network, values).view(np.uint64)).view(np.int64)
        if depth == "stable":
            colours, rounds = stable_colours(graph, labels)
            return colours.view(np.int64), rounds + 1
        return colours_at(graph, max(depth - 1, 0), labels).view(np.int64), depth
    graph, ties = _tied(network)
    if depth == "stable":
        colours, rounds = stable_colours(graph, ties=ties)
        return colours.view(np.int64), rounds
    return colours_at(graph, depth, ties=ties).view(np.int64), depth


def value_profile(network: Network) -> Floats:
    """What nodes are compared by whose keys differ: logarithms of sums and numbers of edges by type, [n, q]."""
    columns = []
    if network.weights is not None:
        total = weight_sums(network)
        columns.append(np.sign(total) * np.log1p(np.abs(total)))
    if network.types is not None:
        for kind in range(TYPES):
            own = network.edges[:, network.types % TYPES == kind]
            columns.append(np.log1p(np.bincount(own.ravel(), minlength=network.nodes)))
    if network.directions is not None:
        columns += [*np.log1p(degree_pairs(network)).T]
    return np.column_stack(columns) if columns else np.empty((network.nodes, 0))


def joined(one: tuple[Ints, Ints], other: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Two pairs of keys as one: of persons [p] and of published nodes [n']."""
    mine, theirs = (
        (mixed(a.view(np.uint64)) + b.view(np.uint64)).view(np.int64) for a, b in zip(one, other, strict=True)
    )
    return mine, theirs


def weight_sums(network: Network) -> Floats:
    """The sum of the weights at each node, whatever the order of edges, [n]."""
    weights = np.zeros(network.size) if network.weights is None else network.weights
    ends, both = network.edges.ravel(), np.tile(weights, 2)
    order = np.lexsort((both, ends))
    sums: Floats = np.bincount(ends[order], both[order].astype(np.float64), minlength=network.nodes).astype(
        np.float64
    )
    return sums


def _marks(network: Network, values: Values) -> Hashes:
    """A hash of what is known of each edge by itself at its smaller and at its larger end, [2, m]."""
    marks: Hashes = np.zeros(network.size, dtype=np.uint64)
    if network.types is not None:
        marks = mixed(network.types.astype(np.uint64) ^ ANY_TYPE)
    if network.weights is not None and values == "multisets":
        marks = mixed(marks ^ _bits(network.weights))
    if network.directions is None:
        return np.stack([marks, marks])
    low = network.directions.astype(np.uint64)
    high = turned(network.directions, np.ones(network.size, dtype=bool)).astype(np.uint64)
    if values == "multisets":
        return np.stack([mixed(marks ^ mixed(way ^ ANY_WAY)) for way in (low, high)])
    out, back = (mixed(marks ^ mixed(np.full(1, way, dtype=np.uint64) ^ ANY_WAY)) for way in (FORWARD, BACKWARD))
    return np.stack([(way & 1) * out + (way >> 1) * back for way in (low, high)])


def _gathered(network: Network, marks: Hashes) -> Hashes:
    """The sum of the marks [2, m] at each node modulo 2^64, [n]."""
    ends = network.edges.ravel()
    order = np.argsort(ends, kind="stable")
    running = np.zeros(len(ends) + 1, dtype=np.uint64)
    np.cumsum(marks.ravel()[order], out=running[1:])
    begin = np.searchsorted(ends[order], np.arange(network.nodes + 1))
    return np.diff(running[begin])


def _tied(network: Network) -> tuple[csr_array, Hashes]:
    """Who is linked to whom, by as many entries as there are edges, and the mark of each entry."""
    row, col = np.concatenate([network.edges, network.edges[::-1]], axis=1)
    order = np.argsort(row, kind="stable")
    begin = np.searchsorted(row[order], np.arange(network.nodes + 1))
    size = (network.nodes, network.nodes)
    graph = csr_array((np.ones(len(order), dtype=np.int8), col[order], begin), shape=size)
    return graph, mixed(_marks(network, "multisets").ravel()[order])


def _bits(values: Floats) -> Hashes:
    """Equal numbers have equal bits: 0 and -0 too."""
    return (values + 0.0).view(np.uint64)

"""A graph as it is published: nodes and undirected edges, and what is known of the edges."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .directions import FORWARD, merged, turned
from .edge_cells import like_in_cell, medians, shared_cells
from .events import Events
from .pair_codes import codes, distinct, ends, listed
from .tables.node_table import NodeTable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MARKS = ("weights", "types", "directions")
"""What a network may tell of edges besides their ends."""
ATTRIBUTES = "attributes"
"""How settings call what a network may tell of people."""


@dataclass(frozen=True, eq=False)
class Network:
    """A graph without loops or two edges of one type between the same nodes; undirected unless it says so.

    Attributes:
        nodes: n; ids are 0 to n - 1.
        edges: each edge once, the smaller end first, ascending by ends and type, [2, m].
        weights: of each edge [m], or None.
        types: of each edge [m], whole numbers from 0, or None; a plain network has none.
        groups: the class of each node where the release tells it, [n], or None.
        counts: numbers of edges between classes where the release tells these instead of edges: rows of a
            class, a class that is no smaller, a type, and the number, [c, 4]; or None.
        directions: which way each edge leads [m], codes of `directions`, or None; an undirected network has none.
        events: the times of each edge, or None. No release has them: `snapshots.windowed` makes types of them.
        people: what is told of the attributes of nodes, or None.
    """

    nodes: int
    edges: Ints
    weights: Floats | None = None
    types: Ints | None = None
    groups: Ints | None = None
    counts: Ints | None = None
    directions: Ints | None = None
    events: Events | None = None
    people: NodeTable | None = None

    @classmethod
    def from_edges(
        cls,
        nodes: int,
        source: Any,
        target: Any,
        weights: Floats | None = None,
        types: Ints | None = None,
        groups: Ints | None = None,
        directions: Ints | None = None,
        events: Events | None = None,
    ) -> Self:
        """A network from the ends of its edges, in any order, and what goes with each of these.

        ``directions`` lead from ``source`` to ``target``.

        Raises:
            ValueError: a loop, two edges of one type between the same nodes, an end that is no node, or a direction
                that is none.
        """
        source, target = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
        low, high = np.minimum(source, target), np.maximum(source, target)
        if len(low) and (low.min() < 0 or high.max() >= nodes):
            raise ValueError(f"an edge to a node outside 0..{nodes - 1}")
        kind = np.zeros(len(low), dtype=np.int64) if types is None else np.asarray(types, dtype=np.int64)
        order = np.lexsort((kind, high, low))
        low, high, kind = low[order], high[order], kind[order]
        if (low == high).any():
            raise ValueError("a loop")
        if ((low[1:] == low[:-1]) & (high[1:] == high[:-1]) & (kind[1:] == kind[:-1])).any():
            raise ValueError("two edges of one type between the same nodes")
        told = None if weights is None else np.asarray(weights, dtype=np.float64)[order]
        ways = None if directions is None else turned(np.asarray(directions), source > target)[order]
        times = None if events is None else events.of_ordered(order)
        marks = told, None if types is None else kind, groups
        return cls(nodes, np.stack([low, high]), *marks, directions=ways, events=times)

    @property
    def size(self) -> int:
        """Number of edges, m."""
        return int(self.edges.shape[1])

    @cached_property
    def codes(self) -> Ints:
        """A whole number for each edge's pair of ends, ascending, [m]; see `pair_codes.codes`."""
        return codes(self.edges[0], self.edges[1], self.nodes)

    @cached_property
    def digest(self) -> str:
        """Tells it from every other network, in 64 hexadecimal digits."""
        told = hashlib.sha256(str(self.nodes).encode())
        for name in ("edges", "weights", "types", "groups", "counts"):
            part = getattr(self, name)
            told.update(name.encode() if part is None else f" {name} {part.shape} ".encode() + part.tobytes())
        if self.directions is not None:
            told.update(b" directions " + self.directions.tobytes())
        if self.events is not None:
            told.update(b" events " + self.events.edge.tobytes() + self.events.time.tobytes())
        if self.people is not None:
            told.update(b" people " + self.people.content)
        return told.hexdigest()

    @cached_property
    def degrees(self) -> Ints:
        """Number of edges at each node, [n]."""
        found: Ints = np.bincount(self.edges.ravel(), minlength=self.nodes).astype(np.int64)
        return found

    @cached_property
    def adjacency(self) -> "csr_array":
        """Symmetric, 1 where there is an edge of any type, [n, n]; indices within a row ascend."""
        from scipy.sparse import csr_array

        low, high = self.plain().edges
        row, col = np.concatenate([low, high]), np.concatenate([high, low])
        matrix = csr_array((np.ones(len(row)), (row, col)), shape=(self.nodes, self.nodes))
        matrix.sort_indices()
        return matrix

    def plain(self) -> "Network":
        """The same without weights, types, directions, times and attributes: one edge wherever there is any."""
        return self.telling(())

    def telling(self, keep: Collection[str]) -> "Network":
        """The same without times, and with what else it tells (`MARKS`, `ATTRIBUTES`) only where ``keep`` names it.

        Where types go, several edges of a pair become one: weights that stay are their sums, and it leads each way
        that one of them led.
        """
        weights = self.weights if "weights" in keep else None
        directions = self.directions if "directions" in keep else None
        people = self.people if ATTRIBUTES in keep else None
        if self.types is None or "types" in keep:
            same = weights is self.weights and directions is self.directions and self.events is None
            same = same and people is self.people
            if same:
                return self
            return replace(self, weights=weights, directions=directions, people=people, events=None)
        pairs = distinct(self.codes)
        place = np.searchsorted(pairs, self.codes)
        sums: Floats | None = None
        if weights is not None:
            sums = np.zeros(len(pairs))
            np.add.at(sums, place, weights)
        ways = None if directions is None else merged(directions, place, len(pairs))
        both = np.stack(ends(pairs, self.nodes))
        return Network(self.nodes, both, sums, groups=self.groups, directions=ways, people=people)

    def only(self, keep: NDArray[np.bool_]) -> "Network":
        """The same with some of its edges, a mask [m]; the others go, with what they tell."""
        told = {mark: values[keep] for mark in MARKS if (values := getattr(self, mark)) is not None}
        events = None if self.events is None else self.events.of_kept(keep)
        return replace(self, edges=self.edges[:, keep], events=events, **told)

    def among(self, keep: NDArray[np.bool_]) -> "Network":
        """The same with some of its nodes, a mask [n], numbered anew in their order; edges to others go."""
        nodes = int(keep.sum())
        new = np.empty(self.nodes, dtype=np.int64)
        new[keep], new[~keep] = np.arange(nodes), np.arange(nodes, self.nodes)
        low, high = self.edges
        left = self.only(keep[low] & keep[high]).renamed(new)
        return replace(left, nodes=nodes, groups=None if left.groups is None else left.groups[:nodes])

    def igraph(self) -> Any:
        """An ``igraph.Graph`` of the plain network."""
        import igraph

        graph = igraph.Graph(self.nodes)  # edges that the constructor is given take three times the memory
        graph.add_edges(np.ascontiguousarray(self.plain().edges.T))
        return graph

    def renamed(self, new: Ints) -> "Network":
        """The same with node i called ``new[i]``, a permutation [n]."""
        groups = None
        if self.groups is not None:
            groups = np.empty_like(self.groups)
            groups[new] = self.groups
        moved = Network.from_edges(
            self.nodes,
            new[self.edges[0]],
            new[self.edges[1]],
            *(self.weights, self.types, groups),
            directions=self.directions,
            events=self.events,
        )
        return replace(moved, counts=self.counts, people=None if self.people is None else self.people.renamed(new))

    def with_edges(
        self, pairs: Ints, rng: np.random.Generator, nodes: int | None = None, hidden: bool = True
    ) -> "Network":
        """The network with other edges: those that stay keep type and direction, new ones have a random edge's.

        Where edges have weights, all of them are rounded so that they do not tell which edges are new
        (`edge_cells.shared_cells`), as soon as one is new and one stays; types are then those of an edge of like
        weight.

        Args:
            pairs: codes of the ends that shall be linked, each once (`pair_codes.codes` with ``nodes``).
            rng: of what new edges weigh and are.
            nodes: n of the new network where nodes are added behind the old ones.
            hidden: whether weights must not tell which edges are new; else those that stay keep theirs, and new
                ones copy one of any edge.

        Returns:
            A network with exactly these pairs linked. A pair that was linked by several types stays so. Times go.

        Raises:
            InputError: nodes are added to people with attributes.
        """
        count = self.nodes if nodes is None else nodes
        if self.people is not None and count > self.nodes:
            raise InputError("this defense adds nodes, which have no attributes: publish without attributes")
        wanted, old = distinct(pairs), codes(self.edges[0], self.edges[1], count)
        if all(getattr(self, mark) is None for mark in MARKS):
            return Network(count, np.stack(ends(wanted, count)), people=self.people)
        stays, new = listed(old, wanted), wanted[~listed(wanted, old)]
        kept, weights = self.edges[:, stays], None if self.weights is None else self.weights[stays]
        if weights is not None and hidden and len(weights) and len(new):
            cell, joined = shared_cells(weights, len(new), rng)
            like = np.flatnonzero(stays)[like_in_cell(cell, joined, rng)]
            weights = medians(weights, cell)[np.concatenate([cell, joined])]
        else:
            like = rng.integers(self.size, size=len(new)) if self.size else np.empty(0, dtype=np.int64)
            weights = None if self.weights is None else np.concatenate([self.weights[stays], self.weights[like]])
        types = None if self.types is None else np.concatenate([self.types[stays], self.types[like]])
        ways = None
        if self.directions is not None:
            copied = self.directions[like] if self.size else np.full(len(new), FORWARD)
            ways = np.concatenate([self.directions[stays], turned(copied, rng.random(len(new)) < 0.5)])
        one, other = np.concatenate([kept, ends(new, count)], axis=1)
        made = Network.from_edges(count, one, other, weights, types, directions=ways)
        return replace(made, people=self.people)


@dataclass(frozen=True, eq=False)
class Original:
    """A network before it is published; an adversary learns single facts of it beforehand.

    Attributes:
        network: persons 0 to p - 1, and after them the adversary's own accounts.
        accounts: how many of these an active adversary has put into it; they follow the persons.
        published: what became of it, under the same ids; an adversary may know facts of that instead, if a defense
            changed the very relations that people see.
        auxiliary: another network of the same persons, under the same ids, that the adversary holds with their
            names; None where nobody brought one. Nodes behind the persons are others, who are in this one alone.
    """

    network: Network
    accounts: int = 0
    published: Network | None = None
    auxiliary: Network | None = None

    @property
    def people(self) -> int:
        """Number of persons, p."""
        return self.network.nodes - self.accounts


@dataclass(frozen=True)
class Verified:
    """Whether a guarantee holds, read off a published network.

    Attributes:
        guarantee: what was checked, as a sentence without a full stop.
        holds: whether it does.
        detail: what was counted.
        knowledge: against whose knowledge it holds, in whole sentences.
        note: what else a reader must know of how it was reached, in whole sentences, or nothing.
    """

    guarantee: str
    holds: bool
    detail: str
    knowledge: str = ""
    note: str = ""


def aside(network: Network) -> str:
    """What a guarantee of the plain graph does not count, to be added to it: nothing where there is nothing."""
    ways = "" if network.directions is None else ", directions"
    if network.types is None and network.weights is None:
        return ways and f"{ways} of edges aside"
    return f"{ways}, types and weights of edges aside (several edges of a pair count as one)"


def against(known: str, network: Network) -> str:
    """Whose knowledge a guarantee of the plain graph withstands, in sentences; ``known`` continues "who knows"."""
    told = " and ".join(name for name in MARKS if getattr(network, name) is not None)
    more = (
        f" The {told} of edges are published too: somebody who knows those of a person is not covered."
        if told
        else ""
    )
    if network.people is not None and network.people.attributes:
        more += " Attributes of people are published too: somebody who knows those of a person is not covered."
    return f"This holds against somebody who knows {known}.{more}"


def changes(before: Network, after: Network) -> str:
    """What a defense changed, in words."""
    added = after.nodes - before.nodes
    nodes = f"{before.nodes:,} nodes{f' and {added:,} added' if added else ''}"
    if after.counts is not None:
        return f"{nodes}: {len(after.counts):,} counts of edges between groups instead of {before.size:,} edges"
    low, high = before.plain().edges
    old = codes(low, high, after.nodes)
    new = after.plain().codes
    kept = int(listed(old, new).sum())
    return (
        f"{nodes}; {len(new):,} linked pairs, {kept:,} of them original"
        f" ({100 * kept / max(len(old), 1):.1f} % of {len(old):,} kept), {len(new) - kept:,} new"
    )
